// Work on threads, completions on the caller's.
// Threads meet at latches, never at a time.
#include "tuner/run/commit/workers.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <new>
#include <semaphore>
#include <set>
#include <string>
#include <thread>

#include "tests/support/catch.h"
#include "tuner/base/error.h"

namespace tune {
namespace {

constexpr auto none = Workers::Threads::none;
constexpr auto own = Workers::Threads::own;

TEST_CASE("Workers without threads works inside post and completes when asked", "[workers][unit]") {
  int told = 0;
  Workers workers(none, [&] { ++told; });
  std::vector<std::string> log;
  workers.post(
      Lane::prompt, [&] { log.push_back("work"); }, [&] { log.push_back("completion"); });
  CHECK(log == std::vector<std::string>{"work"});
  CHECK(told == 1);
  CHECK(workers.outstanding() == 1);
  CHECK(workers.run_completions() == 1);
  CHECK(log == std::vector<std::string>{"work", "completion"});
  CHECK(workers.outstanding() == 0);
  CHECK(workers.run_completions() == 0);
}

TEST_CASE("Workers gives a completion what its work has returned", "[workers][unit]") {
  Workers workers(none, nullptr);
  auto got = std::make_unique<int>(0);
  workers.post(
      Lane::prompt, [] { return std::make_unique<int>(7); },
      [&](std::unique_ptr<int> product) { got = std::move(product); });
  workers.run_completions();
  CHECK(*got == 7);
}

TEST_CASE("Workers leaves to the next call what a completion posts", "[workers][unit]") {
  Workers workers(none, nullptr);
  int runs = 0;
  workers.post(
      Lane::prompt, [] {},
      [&] {
        ++runs;
        workers.post(
            Lane::prompt, [] {}, [&] { ++runs; });
      });
  CHECK(workers.run_completions() == 1);
  CHECK(runs == 1);
  CHECK(workers.outstanding() == 1);
  CHECK(workers.run_completions() == 1);
  CHECK(runs == 2);
}

TEST_CASE("Workers keeps the other completions when one throws", "[workers][unit]") {
  Workers workers(none, nullptr);
  int runs = 0;
  workers.post(
      Lane::prompt, [] {}, [] { throw std::runtime_error("no"); });
  workers.post(
      Lane::prompt, [] {}, [&] { ++runs; });
  CHECK_THROWS_AS(workers.run_completions(), std::runtime_error);
  CHECK(workers.run_completions() == 1);
  CHECK(runs == 1);
}

TEST_CASE("Workers completes one lane alone, and leaves the others for later", "[workers][unit]") {
  Workers workers(none, nullptr);
  std::string order;
  for (const Lane lane : {Lane::commits, Lane::journal, Lane::prompt, Lane::journal}) {
    workers.post(
        lane, [] {}, [&order, lane] { order += lane == Lane::journal ? "j" : "o"; });
  }
  workers.post(
      Lane::commits, [] { throw std::runtime_error("no"); }, [] {});
  CHECK(workers.run_completions(Lane::journal) == 2);
  CHECK(order == "jj");
  CHECK(workers.outstanding() == 3);
  CHECK_THROWS_AS(workers.run_completions(), std::runtime_error);
  CHECK(order == "jjoo");
}

TEST_CASE("Workers works beside the loop and completes on its thread", "[workers][threads]") {
  constexpr int posts = 200;
  std::latch all_done(posts);
  Workers workers(own, [&] { all_done.count_down(); });
  const auto here = std::this_thread::get_id();
  std::atomic<int> elsewhere = 0;
  std::set<int> completed;
  for (int i = 0; i < posts; ++i) {
    workers.post(
        Lane::prompt,
        [&, i] {
          elsewhere += std::this_thread::get_id() != here;
          return i;
        },
        [&](int product) {
          if (std::this_thread::get_id() == here) completed.insert(product);
        });
  }
  all_done.wait();
  CHECK(workers.run_completions() == posts);
  CHECK(elsewhere == posts);
  CHECK(completed.size() == posts);
  CHECK(workers.outstanding() == 0);
}

TEST_CASE("Workers does not wait in post for work that takes its time", "[workers][threads]") {
  std::latch released(1);
  std::latch second_done(1);
  Workers workers(own, nullptr);
  workers.post(
      Lane::prompt, [&] { released.wait(); }, [] {});
  workers.post(
      Lane::prompt, [&] { second_done.count_down(); }, [] {});
  second_done.wait();  // overtakes the first, which still waits
  CHECK(workers.outstanding() == 2);
  released.count_down();
}

TEST_CASE("Whatever fills the other lanes, each lane works on", "[workers][threads]") {
  for (std::size_t free = 0; free < lane_count; ++free) {
    CAPTURE(free);
    std::latch released(1);
    std::latch worked(1);
    Workers workers(own, nullptr);
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      if (lane == free) continue;
      for (int i = 0; i < 5; ++i) {
        workers.post(
            Lane(lane), [&] { released.wait(); }, [] {});
      }
    }
    workers.post(
        Lane(free), [&] { worked.count_down(); }, [] {});
    worked.wait();
    released.count_down();
  }
}

TEST_CASE("A write and a sync of the journal are not one after the other", "[workers][threads]") {
  std::latch written(1);
  std::latch synced(1);
  Workers workers(own, nullptr);
  workers.post(
      Lane::journal,
      [&] {
        written.wait();
        synced.count_down();
      },
      [] {});
  workers.post(
      Lane::journal, [&] { written.count_down(); }, [] {});
  synced.wait();
  CHECK(workers.outstanding() == 2);
}

TEST_CASE("A lane begins its work in the order of the posts", "[workers][threads]") {
  constexpr int posts = 100;
  for (const Lane lane : {Lane::deletions, Lane::searcher, Lane::snapshots}) {
    std::vector<int> order;  // one thread
    std::latch all_done(posts);
    Workers workers(own, [&] { all_done.count_down(); });
    for (int i = 0; i < posts; ++i) {
      workers.post(
          lane, [&, i] { order.push_back(i); }, [] {});
    }
    all_done.wait();
    CHECK(order.size() == posts);
    CHECK(std::is_sorted(order.begin(), order.end()));
  }
}

TEST_CASE("What work throws comes out on the loop's thread, with what was being done",
          "[workers][threads]") {
  for (const auto threads : {Workers::Threads::none, own}) {
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      CAPTURE(lane);
      std::counting_semaphore<> done(0);
      Workers workers(threads, [&] { done.release(); });
      auto captured = std::make_shared<int>();
      workers.post(
          Lane(lane), [captured]() -> int { throw std::bad_alloc(); },
          [](int) { FAIL("nothing was made"); });
      done.acquire();
      CHECK(captured.use_count() == 1);
      std::string said;
      try {
        workers.run_completions();
      } catch (const std::exception& error) {
        said = error.what();
      }
      CHECK(said.ends_with("std::bad_alloc"));
      CHECK(said.starts_with("while ") == (Lane(lane) != Lane::searcher));
      CHECK(workers.outstanding() == 0);
      bool went_on = false;
      workers.post(
          Lane(lane), [] {}, [&] { went_on = true; });
      done.acquire();
      workers.run_completions();
      CHECK(went_on);
    }
  }
}

TEST_CASE("An Error that work throws stays what it is, and what nobody knows gets a sentence",
          "[workers]") {
  Workers workers(none, nullptr);
  int runs = 0;
  workers.post(
      Lane::commits, [] { throw user_error("no such thing"); }, [] {});
  workers.post(
      Lane::commits, [] { throw 42; }, [] {});
  workers.post(
      Lane::commits, [] {}, [&] { ++runs; });
  try {
    workers.run_completions();
    FAIL("it was thrown");
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::user);
    CHECK(error.what() == std::string("no such thing"));
  }
  CHECK_THROWS_WITH(workers.run_completions(),
                    "while a checkpoint was being kept: an exception of an unknown type");
  workers.run_completions();
  CHECK(runs == 1);
}

TEST_CASE("Workers tell what they are doing", "[workers][threads]") {
  std::latch begun(2);
  std::latch released(1);
  ActivityTracker activities;
  Workers workers(own, nullptr, &activities);
  CHECK(activities.list(0).empty());
  for (const Lane lane : {Lane::commits, Lane::searcher}) {
    workers.post(
        lane,
        [&] {
          begun.count_down();
          released.wait();
        },
        [] {});
  }
  begun.wait();
  auto busy = activities.list(0);
  CHECK(activities.list(1000).empty());
  released.count_down();
  std::sort(busy.begin(), busy.end());
  REQUIRE(busy.size() == 2);
  CHECK(busy[0].starts_with("a checkpoint is being kept, for "));
  CHECK(busy[1].starts_with("the searcher is thinking, for "));
}

TEST_CASE("Workers finish what has begun before they are gone, drop what waits, complete nothing",
          "[workers][threads]") {
  std::atomic<int> worked = 0;
  std::atomic<int> completed = 0;
  std::latch begun(1);
  std::latch released(1);
  {
    Workers workers(own, nullptr);
    workers.post(
        Lane::deletions,
        [&] {
          begun.count_down();
          released.wait();
          ++worked;
        },
        [&] { ++completed; });
    begun.wait();
    // The first goes on when the second has been dropped.
    const std::shared_ptr<void> last(nullptr, [&](void*) { released.count_down(); });
    workers.post(
        Lane::deletions, [&, last] { ++worked; }, [&] { ++completed; });
  }
  CHECK(worked == 1);
  CHECK(completed == 0);
}

}  // namespace
}  // namespace tune
