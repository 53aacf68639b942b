// Which jobs are asked for, and which are left: values in, values out.
#include "tuner/cluster/job_rules.h"

#include "tests/support/catch.h"

using namespace tune;
using Phase = AgentJob::Phase;

namespace {

const JobPolicy policy{.most = 4, .time_s = 3600, .idle_s = 300, .margin_s = 120};

AgentJob pending() { return {.name = "a", .id = "1", .phase = Phase::pending}; }

AgentJob with_agent(int running = 1) {
  AgentJob job{.name = "a", .id = "1", .phase = Phase::running};
  job.node = "n1:1";
  job.had_agent = true;
  job.running = running;
  return job;
}

JobDemand waiting(std::size_t trials, std::optional<double> per_node = std::nullopt) {
  return {.waiting = trials, .trials_per_node = per_node};
}

}  // namespace

TEST_CASE("A job is asked for while trials wait, and none without", "[cluster][jobs]") {
  CHECK(wants_job(policy, waiting(1), {}));
  CHECK_FALSE(wants_job(policy, waiting(0), {}));
  CHECK(wants_job(policy, waiting(1), {with_agent()}));
}

TEST_CASE("At most two jobs are in the queue, those included whose answer is lost",
          "[cluster][jobs]") {
  AgentJob asked = pending();
  asked.phase = Phase::asked;
  asked.id.clear();
  CHECK(wants_job(policy, waiting(9), {pending()}));
  CHECK_FALSE(wants_job(policy, waiting(9), {pending(), asked}));
  CHECK(wants_job(policy, waiting(9), {pending(), with_agent()}));
}

TEST_CASE("There are never more jobs than the user has said", "[cluster][jobs]") {
  CHECK(wants_job(policy, waiting(9), {with_agent(), with_agent(), with_agent()}));
  CHECK_FALSE(wants_job(policy, waiting(9), {with_agent(), with_agent(), with_agent(), pending()}));
}

TEST_CASE("No more jobs come than the waiting trials fill", "[cluster][jobs]") {
  CHECK_FALSE(wants_job(policy, waiting(8, 8), {pending()}));
  CHECK(wants_job(policy, waiting(9, 8), {pending()}));
  // What has begun without its agent yet is on its way as well.
  AgentJob begins = pending();
  begins.phase = Phase::running;
  CHECK_FALSE(wants_job(policy, waiting(8, 8), {begins}));
  CHECK_FALSE(wants_job(policy, waiting(1, 0), {}));
}

TEST_CASE("A trial that takes two nodes has a use for a second one, and not for a third",
          "[cluster][jobs]") {
  CHECK(wants_job(policy, waiting(1, 0.5), {pending()}));
  CHECK(wants_job(policy, waiting(1, 0.5), {with_agent(0)}));
  CHECK_FALSE(wants_job(policy, waiting(1, 0.5), {with_agent(0), pending()}));
}

TEST_CASE("Before its end a node gets no more trials: the margin and the longest save before",
          "[cluster][jobs]") {
  AgentJob job = with_agent();
  job.ends_at = 1000;
  JobDemand demand = waiting(1);
  demand.longest_save_s = 50;
  CHECK(order_for(job, policy, demand, 829) == JobOrder::none);
  CHECK(order_for(job, policy, demand, 830) == JobOrder::vacate_ending);
  job.is_vacated = true;
  CHECK(order_for(job, policy, demand, 900) == JobOrder::none);
  // Then what has not been saved ends without.
  CHECK(order_for(job, policy, demand, 980) == JobOrder::hurry);
  job.is_hurried = true;
  CHECK(order_for(job, policy, demand, 990) == JobOrder::none);
}

TEST_CASE("A node is left once the loop has heard that it ends, and nothing runs there",
          "[cluster][jobs]") {
  AgentJob job = with_agent(0);
  job.is_vacated = true;
  CHECK(order_for(job, policy, waiting(1), 0) == JobOrder::none);  // a trial may just be starting
  note_use(job, waiting(1), 1, true, 0);
  CHECK(order_for(job, policy, waiting(1), 0) == JobOrder::none);
  note_use(job, waiting(1), 0, true, 0);
  CHECK(order_for(job, policy, waiting(1), 0) == JobOrder::leave);
  job.is_left = true;
  CHECK(order_for(job, policy, waiting(1), 0) == JobOrder::none);
}

TEST_CASE("A node that Slurm warns of ends, whatever its time is", "[cluster][jobs]") {
  AgentJob job = with_agent();
  job.is_warned = true;
  CHECK(order_for(job, policy, waiting(0), 0) == JobOrder::vacate_ending);
}

TEST_CASE("Idle is a job that nothing runs in and no trial waits for, for so long",
          "[cluster][jobs]") {
  AgentJob job = with_agent(0);
  note_use(job, waiting(0), 0, false, 100);
  CHECK(order_for(job, policy, waiting(0), 399) == JobOrder::none);
  CHECK(order_for(job, policy, waiting(0), 400) == JobOrder::vacate_idle);
  note_use(job, waiting(1), 0, false, 400);
  CHECK(order_for(job, policy, waiting(1), 1000) == JobOrder::none);
  note_use(job, waiting(0), 0, false, 1000);
  CHECK(order_for(job, policy, waiting(0), 1299) == JobOrder::none);
  AgentJob queued = pending();
  note_use(queued, waiting(0), 0, false, 0);
  CHECK(order_for(queued, policy, waiting(0), 299) == JobOrder::none);
  CHECK(order_for(queued, policy, waiting(0), 300) == JobOrder::cancel);
}

TEST_CASE("What is awaited of Slurm is said with its reasons", "[cluster][jobs]") {
  CHECK(text_of_awaited({}) == "");
  CHECK(text_of_awaited({with_agent()}) == "");
  AgentJob first = pending(), second = pending();
  first.reason = "Priority";
  CHECK(text_of_awaited({first}) == "Slurm: 1 job pending (Priority)");
  second.reason = "None";
  CHECK(text_of_awaited({first, second}) == "Slurm: 2 jobs pending (Priority)");
  second.reason = "Resources";
  CHECK(text_of_awaited({first, second}) == "Slurm: 2 jobs pending (Priority, Resources)");
  first.phase = Phase::running;
  CHECK(text_of_awaited({first}) == "the agent of a job that has begun");
}
