// What the ledger writes itself, what it leaves to a thread, and what waits for that.
// Threads meet at semaphores, never at a time.
#include "tuner/run/commit/ledger.h"

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
    ledger.commit(CallbackSaved{"counter", std::to_string(ledger.experiment().last_event())});
    ledger.write();
  }
  /// Starts a sync that is stuck in the disk until the gate is opened. The disk serves others.
  void start_stuck_sync(std::function<void()> when_durable) {
    files.on_call([this, loop = std::this_thread::get_id()] {
      if (std::this_thread::get_id() == loop) return;
      stuck.release();
      gate.acquire();
    });
    ledger.when_durable(std::move(when_durable));
    ledger.sync_if_due();
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
  Ledger ledger{experiment, policies, store, workers, clock};
};

}  // namespace

TEST_CASE("While a sync is stuck, a thread writes and nothing counts before it has",
          "[ledger][threads]") {
  Desk desk(Workers::Threads::own);
  Ledger& ledger = desk.ledger;
  int durable = 0;
  desk.start_stuck_sync([&] { ++durable; });
  desk.write_one();
  CHECK(ledger.written() == 1);
  desk.write_one();  // waits for the one before
  CHECK(ledger.written() == 1);
  CHECK_FALSE(ledger.is_between_writes());
  desk.await_completion();
  CHECK(ledger.written() == 2);
  CHECK(durable == 0);
  ledger.write();
  desk.await_completion();
  CHECK(ledger.written() == 3);
  CHECK(durable == 0);
  desk.gate.release();
  desk.await_completion();
  CHECK(durable == 1);
  desk.write_one();  // the loop's again
  CHECK(ledger.written() == 4);
  Experiment read;
  ExperimentReader reader(read);
  std::vector<std::string> notices;
  ExperimentStore::read(desk.files, "/exp", reader, notices);
  CHECK(read.save() == desk.experiment.save());
  CHECK(read.last_event() == 4);
}

TEST_CASE("A thread's write that fails counts for nothing, and all is refused from then on",
          "[ledger][threads]") {
  Desk desk(Workers::Threads::own);
  Ledger& ledger = desk.ledger;
  desk.start_stuck_sync([] {});
  desk.files.fail_operation(1, ENOSPC, 7);
  desk.write_one();
  desk.await_completion();
  CHECK(ledger.written() == 1);
  CHECK(ledger.has_failed());
  CHECK_THROWS_AS(ledger.write(), Error);
  CHECK_THROWS_AS(desk.write_one(), Error);
  CHECK(ledger.written() == 1);
  desk.gate.release();
  desk.await_completion();
  CHECK(ledger.has_failed());
}

TEST_CASE("After a slow write the next is a thread's, after a quick one the loop's",
          "[ledger][unit]") {
  Seconds takes_s = 2 * Ledger::slow_write_s;
  Desk desk(Workers::Threads::none);
  Ledger& ledger = desk.ledger;
  desk.files.on_call([&] { desk.clock.time += takes_s; });
  desk.write_one();
  CHECK(ledger.written() == 2);
  desk.write_one();
  CHECK(ledger.written() == 2);
  desk.await_completion();
  CHECK(ledger.written() == 3);
  takes_s = 0;
  desk.write_one();
  CHECK(ledger.written() == 3);
  desk.await_completion();
  desk.write_one();
  CHECK(ledger.written() == 5);
}

TEST_CASE("What is written after a quiet time waits for a sync as long as anything",
          "[ledger][unit]") {
  Desk desk(Workers::Threads::none);
  Ledger& ledger = desk.ledger;
  const Seconds window_s = ledger.deadline() - desk.clock.time;
  REQUIRE(window_s > 0);
  desk.clock.time += window_s;
  desk.files.on_call([&desk] { desk.clock.time += 0.25; });
  ledger.sync_if_due();
  (void)desk.workers.run_completions();
  desk.files.on_call(nullptr);
  REQUIRE(ledger.is_settled());
  CHECK(desk.store.cost().sync_s >= 0.25);
  desk.clock.time += 100;
  desk.write_one();
  CHECK(ledger.deadline() == Approx(desk.clock.time + window_s));
  // And no event that follows puts it off.
  desk.clock.time += window_s / 2;
  desk.write_one();
  CHECK(ledger.deadline() == Approx(desk.clock.time + window_s / 2));
}

TEST_CASE("Nothing is synced in vain while a thread writes", "[ledger][unit]") {
  Desk desk(Workers::Threads::none);
  Ledger& ledger = desk.ledger;
  ledger.when_durable([] {});
  ledger.sync_if_due();
  desk.await_completion();
  desk.files.on_call([&] { desk.clock.time += 2 * Ledger::slow_write_s; });
  desk.write_one();
  ledger.sync_if_due();
  desk.clock.time += 1;
  ledger.sync_if_due();
  desk.await_completion();
  REQUIRE(ledger.is_settled());
  desk.write_one();
  ledger.when_durable([] {});
  CHECK(ledger.deadline() > 1e9);  // what waits for a sync waits for the write first
  const auto operations = desk.files.operations();
  ledger.sync_if_due();
  CHECK(desk.files.operations() == operations);
  desk.await_completion();
  CHECK(ledger.deadline() == 0);
}

TEST_CASE("Subscribers are told what the kernel has, each event once and in order",
          "[ledger][unit]") {
  Desk desk(Workers::Threads::none);
  Ledger& ledger = desk.ledger;
  std::vector<std::vector<std::uint64_t>> told;
  for (int i = 0; i < 2; ++i) {
    ledger.subscribe([&](std::span<const Event> events) {
      CHECK(events.back().number <= ledger.written());
      told.emplace_back();
      for (const Event& event : events) told.back().push_back(event.number);
    });
  }
  ledger.commit(StopRequested{"two"});
  ledger.commit(StopRequested{"three"});
  CHECK(told.empty());
  ledger.write();
  ledger.write();
  CHECK(told == std::vector<std::vector<std::uint64_t>>{{2, 3}, {2, 3}});
  told.clear();
  // A write that takes its time: what is committed beside it is in the next.
  desk.files.on_call([&] { desk.clock.time += 2 * Ledger::slow_write_s; });
  desk.write_one();
  desk.write_one();
  ledger.commit(StopRequested{"six"});
  CHECK(told == std::vector<std::vector<std::uint64_t>>{{4}, {4}});
  desk.await_completion();
  CHECK(told.back() == std::vector<std::uint64_t>{5});
  desk.write_one();
  desk.await_completion();
  CHECK(told.back() == std::vector<std::uint64_t>{6, 7});
  CHECK(told.size() == 6);
}

TEST_CASE("Subscribers are not told of what could not be written", "[ledger][unit]") {
  Desk desk(Workers::Threads::none);
  int told = 0;
  desk.ledger.subscribe([&](std::span<const Event>) { ++told; });
  desk.files.fail_operation(1, ENOSPC, 7);
  CHECK_THROWS_AS(desk.write_one(), Error);
  CHECK(told == 0);
}
