// Work on threads, completions on the caller's.
// Threads meet at latches, never at a time.
#include "tuner/store/io_pool.h"

#include <atomic>
#include <latch>
#include <set>
#include <thread>

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("IoPool without threads works inside post and completes when asked", "[io_pool][unit]") {
  int told = 0;
  IoPool pool(0, [&] { ++told; });
  std::vector<std::string> log;
  pool.post([&] { log.push_back("work"); }, [&] { log.push_back("completion"); });
  CHECK(log == std::vector<std::string>{"work"});
  CHECK(told == 1);
  CHECK(pool.outstanding() == 1);
  CHECK(pool.run_completions() == 1);
  CHECK(log == std::vector<std::string>{"work", "completion"});
  CHECK(pool.outstanding() == 0);
  CHECK(pool.run_completions() == 0);
}

TEST_CASE("IoPool gives a completion what its work has returned", "[io_pool][unit]") {
  IoPool pool(0, nullptr);
  auto got = std::make_unique<int>(0);
  pool.post([] { return std::make_unique<int>(7); },
            [&](std::unique_ptr<int> product) { got = std::move(product); });
  pool.run_completions();
  CHECK(*got == 7);
}

TEST_CASE("IoPool leaves to the next call what a completion posts", "[io_pool][unit]") {
  IoPool pool(0, nullptr);
  int runs = 0;
  pool.post([] {},
            [&] {
              ++runs;
              pool.post([] {}, [&] { ++runs; });
            });
  CHECK(pool.run_completions() == 1);
  CHECK(runs == 1);
  CHECK(pool.outstanding() == 1);
  CHECK(pool.run_completions() == 1);
  CHECK(runs == 2);
}

TEST_CASE("IoPool keeps the other completions when one throws", "[io_pool][unit]") {
  IoPool pool(0, nullptr);
  int runs = 0;
  pool.post([] {}, [] { throw std::runtime_error("no"); });
  pool.post([] {}, [&] { ++runs; });
  CHECK_THROWS_AS(pool.run_completions(), std::runtime_error);
  CHECK(pool.run_completions() == 1);
  CHECK(runs == 1);
}

TEST_CASE("IoPool works beside the loop and completes on its thread", "[io_pool][threads]") {
  constexpr int posts = 200;
  std::latch all_done(posts);
  IoPool pool(3, [&] { all_done.count_down(); });
  const auto here = std::this_thread::get_id();
  std::atomic<int> elsewhere = 0;
  std::set<int> completed;
  for (int i = 0; i < posts; ++i) {
    pool.post(
        [&, i] {
          elsewhere += std::this_thread::get_id() != here;
          return i;
        },
        [&](int product) {
          if (std::this_thread::get_id() == here) completed.insert(product);
        });
  }
  all_done.wait();
  CHECK(pool.run_completions() == posts);
  CHECK(elsewhere == posts);
  CHECK(completed.size() == posts);
  CHECK(pool.outstanding() == 0);
}

TEST_CASE("IoPool does not wait in post for work that takes its time", "[io_pool][threads]") {
  std::latch released(1);
  std::latch second_done(1);
  IoPool pool(2, nullptr);
  pool.post([&] { released.wait(); }, [] {});
  pool.post([&] { second_done.count_down(); }, [] {});
  second_done.wait();  // overtakes the first, which still waits
  CHECK(pool.outstanding() == 2);
  released.count_down();
}

TEST_CASE("IoPool lets a write and a sync of the journal pass all other work",
          "[io_pool][threads]") {
  std::latch released(1);
  std::latch synced(1);
  std::latch written(1);
  IoPool pool(1, nullptr);
  for (int i = 0; i < 3; ++i) pool.post([&] { released.wait(); }, [] {});
  // The sync waits for the write, as it may: they are not one after the other.
  pool.post(
      [&] {
        written.wait();
        synced.count_down();
      },
      [] {}, IoPool::Lane::journal);
  pool.post([&] { written.count_down(); }, [] {}, IoPool::Lane::journal);
  synced.wait();
  released.count_down();
}

TEST_CASE("IoPool finishes all work before it is gone and runs no completion then",
          "[io_pool][threads]") {
  std::atomic<int> worked = 0;
  std::atomic<int> completed = 0;
  {
    IoPool pool(2, nullptr);
    for (int i = 0; i < 50; ++i) pool.post([&] { ++worked; }, [&] { ++completed; });
  }
  CHECK(worked == 50);
  CHECK(completed == 0);
}

}  // namespace
}  // namespace tune
