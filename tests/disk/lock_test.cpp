// Who gets the lock: the first, nobody else while that one lives, exactly one once it is dead.
// Its processes are made up, except this one.
#include "tuner/disk/lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"

namespace tune {
namespace {

using Catch::Matchers::Contains;

constexpr Seconds ten_o_clock = 1795255200;  // 2026-11-21 10:00:00 UTC
const std::filesystem::path file = "/e/LOCK";

/// This process, but a second earlier: dead for sure.
LockOwner dead_owner() {
  LockOwner owner = this_process(ten_o_clock);
  owner.start_ticks -= 1;
  return owner;
}

std::string text_of(const LockOwner& owner) {
  return "{\"host\":\"" + owner.host + "\",\"pid\":" + std::to_string(owner.pid) +
         ",\"since\":" + std::to_string(static_cast<long>(owner.since)) +
         ",\"start_ticks\":" + std::to_string(owner.start_ticks) + "}\n";
}

/// A directory with nothing but the lock of `owner`, if any.
std::unique_ptr<MemoryFileSystem> directory(const std::optional<LockOwner>& owner = {}) {
  auto files = std::make_unique<MemoryFileSystem>();
  files->put("/e/other", "");
  if (owner) files->put(file, text_of(*owner));
  return files;
}

std::string refusal(FileSystem& files, const LockOwner& self) {
  std::vector<std::string> notices;
  try {
    const DirectoryLock lock(files, file, self, notices);
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::user);
    return error.what();
  }
  return "";
}

TEST_CASE("A lock is there while it is held and gone after", "[lock][unit]") {
  const auto files = directory();
  std::vector<std::string> notices;
  {
    const DirectoryLock lock(*files, file, this_process(ten_o_clock), notices);
    const auto owner = read_lock(*files, file);
    REQUIRE(owner);
    CHECK(owner->pid == ::getpid());
    CHECK(owner->since == ten_o_clock);
    CHECK(life_of(*owner, *owner) == Life::running);
  }
  CHECK(notices.empty());
  CHECK(files->names("/e") == std::vector<std::string>{"other"});
}

TEST_CASE("A second driver is refused by host, pid and time of the first", "[lock][unit]") {
  const LockOwner self = this_process(ten_o_clock);
  const auto files = directory(self);
  CHECK(refusal(*files, self) ==
        "experiment /e is driven by pid " + std::to_string(self.pid) + " on host " + self.host +
            " since 2026-11-21 10:00:00 UTC; tune pause /e makes it leave");
  CHECK(files->read(file) == text_of(self));
}

TEST_CASE("The lock of another host whose program renews none is never taken over",
          "[lock][unit]") {
  LockOwner other = dead_owner();
  other.host = "elsewhere";
  const auto files = directory(other);
  CHECK_THAT(refusal(*files, this_process(ten_o_clock)),
             Contains("on host elsewhere") &&
                 Contains("can only be seen there (ps -p " + std::to_string(other.pid) + ")") &&
                 Contains("if that driver is surely gone, remove /e/LOCK"));
  CHECK(files->read(file) == text_of(other));
}

TEST_CASE("The lock of a dead process is taken over, and that is said", "[lock][unit]") {
  LockOwner dead = dead_owner();
  SECTION("whose pid is another process by now") {}
  SECTION("whose pid is nobody's") { dead.pid = 1 << 30; }
  const auto files = directory(dead);
  std::vector<std::string> notices;
  {
    const DirectoryLock lock(*files, file, this_process(ten_o_clock + 5), notices);
    CHECK(read_lock(*files, file)->since == ten_o_clock + 5);
  }
  REQUIRE(notices.size() == 1);
  CHECK_THAT(notices[0], Contains("took over the lock of pid " + std::to_string(dead.pid)));
  CHECK(files->names("/e") == std::vector<std::string>{"other"});
}

TEST_CASE("A process that is dead but not yet reaped does not hold a lock", "[lock][unit]") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(!process_start_ticks(child));
  LockOwner owner = this_process(ten_o_clock);
  owner.pid = child;
  CHECK(life_of(owner, this_identity()) == Life::dead);
  ::waitpid(child, nullptr, 0);
  CHECK(life_of(owner, this_identity()) == Life::dead);
}

TEST_CASE("A lock that says nothing is refused with what to do", "[lock][unit]") {
  for (const char* content : {"", "\n", "nonsense", "{}", "[1]", R"({"host":1,"pid":"x"})"}) {
    CAPTURE(content);
    const auto files = directory();
    files->put(file, content);
    CHECK_THAT(refusal(*files, this_process(ten_o_clock)),
               Contains("/e/LOCK does not say who holds it") && Contains("remove that file"));
    CHECK(files->read(file) == content);
  }
}

TEST_CASE("A lock is given back only by who has it", "[lock][unit]") {
  const auto files = directory();
  std::vector<std::string> notices;
  LockOwner other = this_process(ten_o_clock);
  other.host = "elsewhere";
  {
    const DirectoryLock lock(*files, file, this_process(ten_o_clock), notices);
    files->put(file, text_of(other));  // somebody removed it, somebody else took it
  }
  CHECK(files->read(file) == text_of(other));
}

TEST_CASE("Of two takers of a dead process's lock exactly one wins, whenever the second comes",
          "[lock][crash]") {
  const auto free_run = directory(dead_owner());
  free_run->on_call([] {});
  std::vector<std::string> notices;
  { const DirectoryLock lock(*free_run, file, this_process(ten_o_clock + 1), notices); }
  const std::uint64_t calls = free_run->calls();

  std::uint64_t second_won = 0;
  for (std::uint64_t at = 1; at <= calls; ++at) {
    CAPTURE(at);
    const auto files = directory(dead_owner());
    std::unique_ptr<DirectoryLock> first;
    std::unique_ptr<DirectoryLock> second;
    files->on_call([&] {
      if (files->calls() != at || first) return;
      try {
        second =
            std::make_unique<DirectoryLock>(*files, file, this_process(ten_o_clock + 2), notices);
      } catch (const Error&) {
      }
    });
    try {
      first = std::make_unique<DirectoryLock>(*files, file, this_process(ten_o_clock + 1), notices);
    } catch (const Error&) {
    }
    files->on_call(nullptr);
    REQUIRE((first == nullptr) != (second == nullptr));
    REQUIRE(read_lock(*files, file)->since == (first ? ten_o_clock + 1 : ten_o_clock + 2));
    second_won += second != nullptr;
  }
  CHECK(calls >= 15);
  CHECK(second_won >= 5);
  CHECK(second_won < calls);
}

TEST_CASE("A taker that dies half-way leaves a lock that the next can take", "[lock][crash]") {
  const bool power_too = GENERATE(false, true);
  int deaths = 0;
  for (std::uint64_t k = 1;; ++k, ++deaths) {
    CAPTURE(k, power_too);
    const auto files = directory(dead_owner());
    std::vector<std::string> notices;
    files->die_at_operation(k);
    LockOwner taker = dead_owner();
    taker.since += 1;
    try {
      const DirectoryLock lock(*files, file, taker, notices);
    } catch (const Error&) {
    }
    if (files->operations() < k) break;
    power_too ? files->crash() : files->restart();
    {
      const DirectoryLock lock(*files, file, this_process(ten_o_clock + 9), notices);
      REQUIRE(read_lock(*files, file)->since == ten_o_clock + 9);
    }
    REQUIRE(!files->exists(file));
  }
  CHECK(deaths == 13);
}

TEST_CASE("What dead takers left beside the lock is swept, what living ones are making is not",
          "[lock][unit]") {
  const LockOwner self = this_process(ten_o_clock);
  LockOwner other = dead_owner();
  other.host = "elsewhere";
  const std::string living = std::to_string(self.pid);
  const std::string nobody = std::to_string(1 << 30);
  const auto files = directory(self);
  files->put("/e/.LOCK.tmp-1-0", text_of(dead_owner()));
  files->put("/e/.LOCK.takeover.tmp-1-1", text_of(dead_owner()));
  files->put("/e/.LOCK.tmp-" + nobody + "-0", "");
  files->put("/e/.LOCK.tmp-" + living + "-1", "");
  files->put("/e/.LOCK.tmp-2-0", text_of(self));
  files->put("/e/.LOCK.tmp-3-0", text_of(other));
  files->put("/e/.LOCKED.tmp-1-0", text_of(dead_owner()));
  remove_lock_leftovers(*files, file, self);
  std::vector<std::string> left = {".LOCK.tmp-2-0",   ".LOCK.tmp-3-0", ".LOCK.tmp-" + living + "-1",
                                   ".LOCKED.tmp-1-0", "LOCK",          "other"};
  std::sort(left.begin(), left.end());
  CHECK(files->names("/e") == left);
}

TEST_CASE("Of eight processes that start at the same instant exactly one gets the lock",
          "[lock][race]") {
  constexpr int processes = 8;
  char name[] = "/tmp/tune-lock-XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  const std::filesystem::path contested = std::filesystem::path(name) / "LOCK";
  const auto real_files = make_posix_file_system();
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    if (round % 2 == 1) real_files->replace(contested, text_of(dead_owner()));
    int start[2];
    int answers[2];
    int end[2];
    REQUIRE((::pipe(start) == 0 && ::pipe(answers) == 0 && ::pipe(end) == 0));
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ::close(start[1]);
        ::close(end[1]);
        char byte = 0;
        (void)!::read(start[0], &byte, 1);  // until the parent closes it
        std::unique_ptr<DirectoryLock> lock;
        char answer = 'w';
        try {
          std::vector<std::string> notices;
          lock = std::make_unique<DirectoryLock>(*real_files, contested, this_process(ten_o_clock),
                                                 notices);
        } catch (const Error& error) {
          answer = error.fault() == Fault::user ? 'l' : 'e';
        }
        (void)!::write(answers[1], &answer, 1);
        (void)!::read(end[0], &byte, 1);
        lock.reset();
        ::_exit(0);
      }
      children.push_back(child);
    }
    ::close(start[1]);
    std::string heard;
    for (char byte = 0; heard.size() < processes && ::read(answers[0], &byte, 1) == 1;) {
      heard += byte;
    }
    ::close(end[1]);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    for (const int fd : {start[0], answers[0], answers[1], end[0]}) ::close(fd);
    std::sort(heard.begin(), heard.end());
    REQUIRE(heard == "lllllllw");
    REQUIRE(real_files->list(name).empty());
  }
  std::filesystem::remove_all(name);
}

TEST_CASE("A lock that could not be taken is not left behind", "[lock][crash]") {
  const bool from_the_dead = GENERATE(false, true);
  int failures = 0;
  for (std::uint64_t k = 1;; ++k) {
    CAPTURE(k, from_the_dead);
    const auto files = directory(from_the_dead ? std::optional(dead_owner()) : std::nullopt);
    std::vector<std::string> notices;
    files->fail_operation(k, ENOSPC);
    try {
      const DirectoryLock lock(*files, file, this_process(ten_o_clock), notices);
    } catch (const Error&) {
      ++failures;
      const auto owner = read_lock(*files, file);
      REQUIRE((!owner || life_of(*owner, this_identity()) == Life::dead));
      REQUIRE(!files->exists("/e/LOCK.takeover"));
    }
    if (files->operations() < k) break;
  }
  CHECK(failures == (from_the_dead ? 10 : 5));
}

}  // namespace
}  // namespace tune
