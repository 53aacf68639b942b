#include "tuner/remote/replication_plan.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

using Checkpoints = RemoteConfig::Checkpoints;
using Settled = std::vector<TrialId>;

constexpr TrialId one{1};
constexpr TrialId two{2};

ReplicationPlan plan_with(Checkpoints which, std::optional<int> keep_local = {}) {
  return {{.path = "far", .checkpoints = which, .keep_local = keep_local}, "far/it"};
}

/// It is recorded, and that is on disk.
void save(ReplicationPlan& plan, CheckpointRef checkpoint, bool is_best = false) {
  plan.expect(checkpoint, is_best);
  plan.committed(checkpoint);
}

/// Puts up what comes next, in a directory that is called like it.
std::optional<CheckpointRef> put_up_next(ReplicationPlan& plan) {
  const auto next = plan.next_upload();
  if (next) plan.note_up(*next, to_string(next->trial) + "/" + std::to_string(next->index));
  return next;
}

}  // namespace

TEST_CASE("A checkpoint goes up once its record is on disk, and not before", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  plan.expect({one, 1}, false);
  CHECK_FALSE(plan.next_upload());
  CHECK_FALSE(plan.is_complete());
  plan.committed({one, 1});
  CHECK(plan.next_upload() == CheckpointRef{one, 1});
  plan.note_up({one, 1}, "d");
  CHECK(plan.place({one, 1})->directory == "d");
  CHECK(plan.is_complete());
  CHECK(plan.take_news().settled == Settled{one});
  CHECK(plan.take_news().settled.empty());
}

TEST_CASE("Trials take turns to go up, each with its newest checkpoint", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  for (const int index : {1, 2, 3}) save(plan, {one, index});
  for (const int index : {1, 2}) save(plan, {two, index});
  std::vector<CheckpointRef> order;
  while (const auto next = put_up_next(plan)) order.push_back(*next);
  CHECK(order == std::vector<CheckpointRef>{{one, 3}, {two, 2}, {one, 2}, {two, 1}, {one, 1}});
}

TEST_CASE("A trial's last checkpoint on the remote is needed until a newer one is there",
          "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  save(plan, {one, 1});
  put_up_next(plan);
  CHECK_FALSE(plan.needs({one, 1}));  // nothing newer comes: retention says what becomes of it
  plan.expect({one, 2}, false);
  CHECK(plan.needs({one, 1}));
  plan.committed({one, 2});
  CHECK(plan.needs({one, 1}));
  put_up_next(plan);
  CHECK_FALSE(plan.needs({one, 1}));
}

TEST_CASE("What is going up is needed until it is there, however fast its trial saves",
          "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  save(plan, {one, 1});
  CHECK_FALSE(plan.needs({one, 1}));
  REQUIRE(plan.next_upload() == CheckpointRef{one, 1});
  save(plan, {one, 2});
  CHECK(plan.needs({one, 1}));
  CHECK_FALSE(plan.needs({one, 2}));
  plan.note_nothing_under_way();
  CHECK_FALSE(plan.needs({one, 1}));
  CHECK(plan.take_news().settled == Settled{one});
}

TEST_CASE("With all checkpoints on the remote each waits here until it is up, and none goes there",
          "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::all);
  save(plan, {one, 1});
  CHECK(plan.needs({one, 1}));
  put_up_next(plan);
  plan.dropped(one, {1});
  CHECK(plan.removals().empty());
}

TEST_CASE("What retention drops is removed from the remote, also if it is up only after that",
          "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  save(plan, {one, 1});
  put_up_next(plan);
  save(plan, {one, 2});
  REQUIRE(plan.next_upload());
  plan.dropped(one, {1, 2});
  CHECK_FALSE(plan.is_wanted({one, 2}));
  CHECK_FALSE(plan.place({one, 1}));
  plan.note_up({one, 2}, "late");
  CHECK_FALSE(plan.place({one, 2}));
  CHECK(plan.removals() == std::vector<std::string>{"trial_00001/1", "late"});
  plan.note_removed(1);
  CHECK(plan.removals() == std::vector<std::string>{"late"});
  CHECK_FALSE(plan.is_complete());
  plan.note_removed(1);
  CHECK(plan.is_complete());
}

TEST_CASE("Of best checkpoints alone the former one goes once the better one is up", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::best);
  save(plan, {one, 1}, true);
  put_up_next(plan);
  save(plan, {one, 2}, false);
  CHECK_FALSE(plan.next_upload());
  save(plan, {one, 3}, true);
  save(plan, {one, 4}, true);  // before the third has gone up, which is never put up then
  CHECK(plan.removals().empty());
  CHECK(put_up_next(plan) == CheckpointRef{one, 4});
  CHECK_FALSE(plan.next_upload());
  CHECK(plan.removals() == std::vector<std::string>{"trial_00001/1"});
}

TEST_CASE("Without checkpoints on the remote none is queued", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::none);
  save(plan, {one, 1}, true);
  CHECK_FALSE(plan.next_upload());
  CHECK(plan.is_complete());
}

TEST_CASE("A session begins with what is known, remembered, and on the remote alone", "[remote]") {
  const Checkpoints which = GENERATE(Checkpoints::kept, Checkpoints::all);
  ReplicationPlan plan = plan_with(which, 1);
  plan.remember({{{one, 1}, "old"}, {{one, 2}, "there"}});
  plan.begin({{{one, 2}, false, ""}, {{one, 3}, true, ""}, {{two, 1}, false, "far away"}});
  CHECK(plan.place({one, 2})->directory == "there");
  CHECK(plan.place({two, 1})->directory == "far away");
  CHECK(plan.evicted() == std::map<CheckpointRef, std::string>{{{two, 1}, "far away"}});
  CHECK(plan.next_upload() == CheckpointRef{one, 3});
  // What nobody knows any more goes, unless all are to stay.
  const bool goes = which == Checkpoints::kept;
  CHECK(plan.removals() == (goes ? std::vector<std::string>{"old"} : std::vector<std::string>{}));
  CHECK(plan.take_news().settled == Settled{one, two});  // for those that are to be evicted
}

TEST_CASE("A checkpoint that cannot be put up is left out, said once and counted at the end",
          "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  for (const int index : {1, 2}) {
    save(plan, {one, index});
    REQUIRE(plan.next_upload() == CheckpointRef{one, index});
    plan.note_unfit({one, index}, "a name has a newline");
  }
  CHECK(plan.take_news().notices.size() == 1);
  CHECK(plan.is_complete());
  CHECK(plan.has_unfit());
  CHECK(plan.left() == "2 checkpoints");
  plan.dropped(one, {1, 2});
  CHECK_FALSE(plan.has_unfit());
  CHECK(plan.left() == "the last part of the state");
}

TEST_CASE("What was removed here before it went up is no more waited for", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  save(plan, {one, 1});
  REQUIRE(plan.next_upload());
  CHECK(plan.waiting() == "1 more checkpoint is");
  plan.note_lost({one, 1});
  CHECK(plan.waiting().empty());
  CHECK(plan.is_complete());
  CHECK_FALSE(plan.needs({one, 1}));
}

TEST_CASE("A store that does not answer is said once, and again when it is well", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  plan.note_success(90);
  CHECK(plan.take_news().notices.empty());
  plan.note_failure("refused", 100);
  plan.note_failure("refused", 130);
  CHECK_FALSE(plan.is_reachable());
  plan.note_success(145);
  CHECK(plan.take_news().notices ==
        std::vector<std::string>{"refused; training goes on, and what is to be on the remote waits",
                                 "the remote is well again after 45 s, and what waited goes up"});
  CHECK(plan.status()["failures"] == 2);
  CHECK(plan.status()["last_error"] == "refused");
  // A clock that was set back makes no time of less than nothing.
  plan.note_failure("refused", 200);
  plan.note_success(150);
  CHECK(plan.take_news().notices.back().starts_with("the remote is well again after 0 s"));
}

TEST_CASE("Who waits for a checkpoint that is only there is told why, once for each", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept, 1);
  plan.fetch({one, 1});
  CHECK(plan.next_fetch() == CheckpointRef{one, 1});
  CHECK(plan.take_news().notices.empty());
  plan.note_failure("refused", 100);
  plan.note_fetch_failure({one, 1}, "refused");
  plan.fetch({two, 1});  // asked for while it is known not to answer
  const auto notices = plan.take_news().notices;
  REQUIRE(notices.size() == 3);
  CHECK(notices[1].starts_with("checkpoint 1 of trial_00001 is only on the remote"));
  CHECK(notices[2].starts_with("checkpoint 1 of trial_00002 is only on the remote"));

  plan.note_fetched({one, 1}, "");
  plan.note_fetched({two, 1}, "it is gone");
  const auto fetched = plan.take_news().fetched;
  REQUIRE(fetched.size() == 2);
  CHECK(fetched[0].lost.empty());
  CHECK(fetched[1].lost == "it is gone");
  CHECK_FALSE(plan.next_fetch());
  plan.fetch({one, 1});  // once more, later: said again if it fails again
  plan.note_fetch_failure({one, 1}, "refused");
  CHECK(plan.take_news().notices.size() == 1);
}

TEST_CASE("At the end all that was recorded goes up, and nothing is fetched", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  plan.expect({one, 1}, false);
  plan.fetch({two, 1});
  plan.finish();
  CHECK_FALSE(plan.next_fetch());
  CHECK(plan.next_upload() == CheckpointRef{one, 1});
}

TEST_CASE("A driver that was taken over from is told so", "[remote]") {
  ReplicationPlan plan = plan_with(Checkpoints::kept);
  plan.note_taken_over("host oak has it");
  CHECK(plan.take_news().taken_over == "host oak has it");
  CHECK(plan.status()["last_error"] == "host oak has it");
}
