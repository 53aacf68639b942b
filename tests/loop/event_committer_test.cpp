// What the committer writes itself, what it leaves to a thread, and what waits for that.
// Threads meet at semaphores, never at a time.
#include "tuner/run/commit/event_committer.h"

#include <cerrno>
#include <semaphore>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/base/error.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/simulation/virtual_clock.h"

using namespace tune;

namespace {

struct Desk {
  explicit Desk(Workers::Threads threads) : workers(threads, [this] { done.release(); }) {
    write_one();
  }
  ~Desk() { gate.release(100); }

  void write_one() {
    committer.commit(CallbackSaved{"counter", std::to_string(committer.experiment().last_event())});
    committer.write();
  }
  /// Starts a sync that is stuck in the disk until the gate is opened. The disk serves others.
  void start_stuck_sync(std::function<void()> when_durable) {
    files.on_call([this, loop = std::this_thread::get_id()] {
      if (std::this_thread::get_id() == loop) return;
      stuck.release();
      gate.acquire();
    });
    committer.when_durable(std::move(when_durable));
    committer.sync_if_due();
    stuck.acquire();
  }
  void await_completion() {
    done.acquire();
    REQUIRE(workers.run_completions() == 1);
  }

  std::counting_semaphore<> done{0};
  std::counting_semaphore<> stuck{0};
  std::counting_semaphore<> gate{0};
  VirtualClock clock;
  MemoryFileSystem files;
  Experiment experiment;
  Policies policies;
  ExperimentStore store =
      ExperimentStore::create(files, "/exp", Json::object(), LockOwner{{"host", 1, 1}, 0});
  Workers workers;
  EventCommitter committer{experiment, policies, store, workers, clock};
};

}  // namespace

TEST_CASE("While a sync is stuck, a thread writes and nothing counts before it has",
          "[committer][threads]") {
  Desk desk(Workers::Threads::own);
  EventCommitter& committer = desk.committer;
  int durable = 0;
  desk.start_stuck_sync([&] { ++durable; });
  desk.write_one();
  CHECK(committer.written() == 1);
  desk.write_one();  // waits for the one before
  CHECK(committer.written() == 1);
  CHECK_FALSE(committer.is_between_writes());
  desk.await_completion();
  CHECK(committer.written() == 2);
  CHECK(durable == 0);
  committer.write();
  desk.await_completion();
  CHECK(committer.written() == 3);
  CHECK(durable == 0);
  desk.gate.release();
  desk.await_completion();
  CHECK(durable == 1);
  desk.write_one();  // the loop's again
  CHECK(committer.written() == 4);
  Experiment read;
  ExperimentReader reader(read);
  std::vector<std::string> notices;
  ExperimentStore::read(desk.files, "/exp", reader, notices);
  CHECK(read.save() == desk.experiment.save());
  CHECK(read.last_event() == 4);
}

TEST_CASE("A thread's write that fails counts for nothing, and all is refused from then on",
          "[committer][threads]") {
  Desk desk(Workers::Threads::own);
  EventCommitter& committer = desk.committer;
  desk.start_stuck_sync([] {});
  desk.files.fail_operation(1, ENOSPC, 7);
  desk.write_one();
  desk.await_completion();
  CHECK(committer.written() == 1);
  CHECK(committer.has_failed());
  CHECK_THROWS_AS(committer.write(), Error);
  CHECK_THROWS_AS(desk.write_one(), Error);
  CHECK(committer.written() == 1);
  desk.gate.release();
  desk.await_completion();
  CHECK(committer.has_failed());
}

TEST_CASE("After a slow write the next is a thread's, after a quick one the loop's",
          "[committer][unit]") {
  Seconds takes_s = 2 * EventCommitter::slow_write_s;
  Desk desk(Workers::Threads::none);
  EventCommitter& committer = desk.committer;
  desk.files.on_call([&] { desk.clock.time += takes_s; });
  desk.write_one();
  CHECK(committer.written() == 2);
  desk.write_one();
  CHECK(committer.written() == 2);
  desk.await_completion();
  CHECK(committer.written() == 3);
  takes_s = 0;
  desk.write_one();
  CHECK(committer.written() == 3);
  desk.await_completion();
  desk.write_one();
  CHECK(committer.written() == 5);
}

TEST_CASE("What is written after a quiet time waits for a sync as long as anything",
          "[committer][unit]") {
  Desk desk(Workers::Threads::none);
  EventCommitter& committer = desk.committer;
  const Seconds window_s = committer.deadline() - desk.clock.time;
  REQUIRE(window_s > 0);
  desk.clock.time += window_s;
  desk.files.on_call([&desk] { desk.clock.time += 0.25; });
  committer.sync_if_due();
  (void)desk.workers.run_completions();
  desk.files.on_call(nullptr);
  REQUIRE(committer.is_settled());
  CHECK(desk.store.cost().sync_s >= 0.25);
  desk.clock.time += 100;
  desk.write_one();
  CHECK(committer.deadline() == Approx(desk.clock.time + window_s));
  // And no event that follows puts it off.
  desk.clock.time += window_s / 2;
  desk.write_one();
  CHECK(committer.deadline() == Approx(desk.clock.time + window_s / 2));
}

TEST_CASE("Nothing is synced in vain while a thread writes", "[committer][unit]") {
  Desk desk(Workers::Threads::none);
  EventCommitter& committer = desk.committer;
  committer.when_durable([] {});
  committer.sync_if_due();
  desk.await_completion();
  desk.files.on_call([&] { desk.clock.time += 2 * EventCommitter::slow_write_s; });
  desk.write_one();
  committer.sync_if_due();
  desk.clock.time += 1;
  committer.sync_if_due();
  desk.await_completion();
  REQUIRE(committer.is_settled());
  desk.write_one();
  committer.when_durable([] {});
  CHECK(committer.deadline() > 1e9);  // what waits for a sync waits for the write first
  const auto operations = desk.files.operations();
  committer.sync_if_due();
  CHECK(desk.files.operations() == operations);
  desk.await_completion();
  CHECK(committer.deadline() == 0);
}

TEST_CASE("Subscribers are told what the kernel has, each event once and in order",
          "[committer][unit]") {
  Desk desk(Workers::Threads::none);
  EventCommitter& committer = desk.committer;
  std::vector<std::vector<std::uint64_t>> told;
  for (int i = 0; i < 2; ++i) {
    committer.subscribe([&](std::span<const Event> events) {
      CHECK(events.back().number <= committer.written());
      told.emplace_back();
      for (const Event& event : events) told.back().push_back(event.number);
    });
  }
  committer.commit(StopRequested{"two"});
  committer.commit(StopRequested{"three"});
  CHECK(told.empty());
  committer.write();
  committer.write();
  CHECK(told == std::vector<std::vector<std::uint64_t>>{{2, 3}, {2, 3}});
  told.clear();
  // A write that takes its time: what is committed beside it is in the next.
  desk.files.on_call([&] { desk.clock.time += 2 * EventCommitter::slow_write_s; });
  desk.write_one();
  desk.write_one();
  committer.commit(StopRequested{"six"});
  CHECK(told == std::vector<std::vector<std::uint64_t>>{{4}, {4}});
  desk.await_completion();
  CHECK(told.back() == std::vector<std::uint64_t>{5});
  desk.write_one();
  desk.await_completion();
  CHECK(told.back() == std::vector<std::uint64_t>{6, 7});
  CHECK(told.size() == 6);
}

TEST_CASE("Subscribers are not told of what could not be written", "[committer][unit]") {
  Desk desk(Workers::Threads::none);
  int told = 0;
  desk.committer.subscribe([&](std::span<const Event>) { ++told; });
  desk.files.fail_operation(1, ENOSPC, 7);
  CHECK_THROWS_AS(desk.write_one(), Error);
  CHECK(told == 0);
}
