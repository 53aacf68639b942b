// Locks of owners whose life cannot be seen: of other hosts, other namespaces, or frozen.
// Time is told, kernels and hosts are made up: a disk in memory without holds is one that two
// kernels share.
#include "tuner/disk/lease.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "tests/journal/some_events.h"
#include "tests/support/catch.h"
#include "tests/support/memory_file_system.h"
#include "tuner/disk/lock.h"
#include "tuner/journal/experiment_store.h"

namespace {

/// Of a process that is another user's, where /proc hides those. No kernel numbers so high.
constexpr pid_t hidden_pid = 3 << 28;

}  // namespace

/// In place of the C library's.
extern "C" int kill(pid_t pid, int signal) noexcept {
  if (pid != hidden_pid) return static_cast<int>(::syscall(SYS_kill, pid, signal));
  errno = EPERM;
  return -1;
}

namespace tune {
namespace {

using Catch::Matchers::Contains;

const std::filesystem::path file = "/e/LOCK";

struct World {
  World() { files.put("/e/other", ""); }

  std::function<Seconds()> clock() {
    return [this] { return now; };
  }

  std::unique_ptr<DirectoryLock> take(const LockOwner& owner, LeaseWatch* with = nullptr) {
    return std::make_unique<DirectoryLock>(files, file, owner, notices, with, clock());
  }

  /// Empty if the lock was to be had.
  std::string refusal(const LockOwner& owner, LeaseWatch* with = nullptr) {
    try {
      take(owner, with);
    } catch (const Error& error) {
      CHECK(error.fault() == Fault::user);
      return error.what();
    }
    return "";
  }

  MemoryFileSystem files;
  Seconds now = 1000;
  std::vector<std::string> notices;
  LeaseWatch watch{clock()};
};

LockOwner here() {
  LockOwner owner = this_process(1795255200);
  owner.lease_s = 60;
  return owner;
}

/// Of a kernel and a host that this process knows nothing of.
LockOwner elsewhere() {
  LockOwner owner = here();
  owner.host = "elsewhere";
  owner.boot = "another kernel's";
  return owner;
}

LockOwner in_other_namespace() {
  LockOwner owner = here();
  owner.pid = 1;
  owner.pid_namespace = 1;  // of which no process is seen
  return owner;
}

/// What `owner` writes into its lock.
std::string text_of(LockOwner owner, const std::string& place = "") {
  World world;
  if (!place.empty()) world.files.allow_holds(place);
  owner.lease_s = 0;  // nobody renews it here
  const auto lock = world.take(owner);
  std::string text = world.files.read(file);
  text.insert(text.find(",\"pid\""), ",\"lease_s\":60");
  return text;
}

TEST_CASE(
    "A lock of another host is taken over once its whole lease has passed in silence, and "
    "not before",
    "[lease][unit]") {
  World world;
  world.files.put(file, text_of(elsewhere()));
  for (int silent_s = 0; silent_s < 60; ++silent_s, ++world.now) {
    REQUIRE_THAT(world.refusal(here(), &world.watch),
                 Contains("pid " + std::to_string(::getpid()) + " on host elsewhere") &&
                     Contains("no sign of life for " + std::to_string(silent_s) +
                              " s, it is taken over after 60 s"));
  }
  const auto lock = world.take(here(), &world.watch);
  CHECK(lock->is_from_unseen());
  REQUIRE(world.notices.size() == 1);
  CHECK_THAT(world.notices[0], Contains("has given no sign of life for 60 s"));
  CHECK(read_lock(world.files, file)->host == this_identity().host);
}

TEST_CASE("An owner that renews its lease keeps it, however long somebody watches",
          "[lease][unit]") {
  World world;
  const auto lock = world.take(elsewhere());
  CHECK_THAT(world.refusal(here(), &world.watch), Contains("no sign of life"));
  for (int i = 0; i < 300; ++i) {
    world.now += 1;
    if (i % 10 == 5) lock->renew();
    const std::string refusal = world.refusal(here(), &world.watch);
    if (i >= 5) REQUIRE_THAT(refusal, Contains("has just renewed its lock"));
    REQUIRE(!refusal.empty());
  }
  CHECK_NOTHROW(lock->confirm());
}

TEST_CASE("A watcher that was held up has seen nothing meanwhile, and begins anew",
          "[lease][unit]") {
  LeaseWatch::Sign sign{};
  Seconds now = 0;
  LeaseWatch watch([&] { return now; });
  for (; now <= 59; ++now) sign = watch.look(file, "text", 1, 60);
  CHECK(sign == LeaseWatch::Sign::none);
  now += LeaseWatch::longest_gap_s + 1;
  CHECK(watch.look(file, "text", 1, 60) == LeaseWatch::Sign::none);
  CHECK(watch.silent_s(file) == 0);
  for (int i = 0; i < 60; ++i, ++now) sign = watch.look(file, "text", 1, 60);
  CHECK(sign == LeaseWatch::Sign::none);
  CHECK(watch.look(file, "text", 1, 60) == LeaseWatch::Sign::over);
  // Another owner has a lease of its own.
  CHECK(watch.look(file, "other", 1, 60) == LeaseWatch::Sign::none);
}

TEST_CASE("Who waits for a lease goes on as soon as the lock can be had, or is refused",
          "[lease][unit]") {
  World world;
  int pauses = 0;
  const auto wait = [&](const std::function<void()>& meanwhile) {
    pauses = 0;
    await_lease(world.files, file, world.watch, [&](const LeasePending& pending) {
      CHECK(pending.lease_s == 60);
      ++pauses;
      world.now += 1;
      meanwhile();
    });
  };
  SECTION("when there is no lock") {
    wait([] {});
    CHECK(pauses == 0);
  }
  SECTION("when the lease is over") {
    world.files.put(file, text_of(elsewhere()));
    wait([] {});
    CHECK(pauses == 60);
    CHECK(world.refusal(here(), &world.watch).empty());
  }
  SECTION("when the owner gives a sign of life") {
    world.files.put(file, text_of(elsewhere()));
    wait([&] {
      if (pauses == 7) world.files.touch(file);
    });
    CHECK(pauses == 7);
    CHECK_THAT(world.refusal(here(), &world.watch), Contains("has just renewed"));
  }
  SECTION("when the owner leaves") {
    world.files.put(file, text_of(elsewhere()));
    wait([&] {
      if (pauses == 3) world.files.remove_file(file);
    });
    CHECK(pauses == 3);
  }
  SECTION("when the owner is seen to live") {
    const auto lock = world.take(here());
    wait([] {});
    CHECK(pauses == 0);
  }
}

TEST_CASE("A driver of another namespace is seen by its hold, with its lock file and without",
          "[lease][unit]") {
  World world;
  world.files.allow_holds("66:1");
  auto lock = world.take(in_other_namespace());
  const std::string refusal = world.refusal(here(), &world.watch);
  CHECK_THAT(refusal, Contains("is driven by pid 1 on host") && Contains("tune pause /e"));
  auto driver = find_driver(world.files, file);
  REQUIRE(driver);
  CHECK((driver->is_here && driver->is_seen && driver->pid == 1));

  world.files.remove_file(file);
  CHECK_THAT(world.refusal(here(), &world.watch), Contains("its file LOCK does not name"));
  driver = find_driver(world.files, file);
  REQUIRE(driver);
  CHECK((driver->is_here && driver->is_seen && driver->pid == 0));
  lock->confirm();
  CHECK(find_driver(world.files, file)->pid == 1);
  lock.reset();
  CHECK(!find_driver(world.files, file));
  CHECK(world.refusal(here()).empty());
}

TEST_CASE(
    "Who holds the directory knows that an owner which would hold it is dead, whatever its "
    "namespace",
    "[lease][unit]") {
  World world;
  world.files.allow_holds("66:1");
  SECTION("at once, if it is that directory") {
    world.files.put(file, text_of(in_other_namespace(), "66:1"));
    CHECK(!find_driver(world.files, file));
    CHECK(!world.take(here())->is_from_unseen());
  }
  SECTION("not if it is a copy, or seen through another mount") {
    world.files.put(file, text_of(in_other_namespace(), "66:2"));
    REQUIRE(find_driver(world.files, file));
    CHECK(!find_driver(world.files, file)->is_seen);
    CHECK_THAT(world.refusal(here()), Contains("whether it still runs cannot be seen from here"));
    CHECK_THAT(world.refusal(here(), &world.watch), Contains("no sign of life"));
  }
}

TEST_CASE("A process of this host's earlier boot is dead, one that gave a sign since is not",
          "[lease][unit]") {
  LockOwner owner = here();
  owner.boot = "the boot before";
  CHECK(life_of(owner, here(), 1.0) == Life::dead);
  CHECK(life_of(owner, here()) == Life::unknown);
  // Then it is another host of the same name.
  CHECK(life_of(owner, here(), static_cast<Seconds>(::time(nullptr))) == Life::unknown);
  owner.host = "elsewhere";
  CHECK(life_of(owner, here(), 1.0) == Life::unknown);
}

TEST_CASE("A process is looked for in its own namespace, or in all if that is not known",
          "[lease][unit]") {
  const ProcessIdentity self = this_identity();
  CHECK(life_of(self, self) == Life::running);
  ProcessIdentity other = self;
  other.start_ticks += 1;
  CHECK(life_of(other, self) == Life::dead);
  other = self;
  other.pid_namespace += 1;
  CHECK(life_of(other, self) == Life::unknown);
  other.pid_namespace = 0;
  other.boot.clear();
  CHECK(life_of(other, self) == Life::running);
  other.start_ticks += 1;
  CHECK(life_of(other, self) == Life::dead);
}

TEST_CASE("A process that only a signal can tell of, hidden as another user's, is taken as running",
          "[lease][unit]") {
  ProcessIdentity hidden = this_identity();
  hidden.pid = hidden_pid;
  CHECK(life_of(hidden, this_identity()) == Life::running);
  hidden.pid_namespace = 0;
  CHECK(life_of(hidden, this_identity()) == Life::running);
  hidden.pid += 1;
  CHECK(life_of(hidden, this_identity()) == Life::dead);
}

TEST_CASE("Whoever is of another namespace sees by start and own number who of ours lives",
          "[lease][unit]") {
  const ProcessIdentity process = this_identity();
  ProcessIdentity looker = process;
  looker.pid_namespace += 1;
  CHECK(life_of(process, looker) == Life::running);
  ProcessIdentity other = process;
  other.start_ticks += 1;
  CHECK(life_of(other, looker) == Life::dead);
  other = process;
  other.pid = hidden_pid;
  CHECK(life_of(other, looker) == Life::dead);
}

TEST_CASE("A lock that somebody removes is made again, one that is another's is lost for good",
          "[lease][unit]") {
  World world;
  const auto lock = world.take(here());
  const std::string ours = world.files.read(file);
  SECTION("removed") {
    world.files.remove_file(file);
    world.now += 59;
    lock->confirm();
    CHECK(world.files.read(file) == ours);
    CHECK(!lock->is_lost());
  }
  SECTION("removed, and there was time for another to come and go") {
    world.files.remove_file(file);
    world.now += 60;
    CHECK_THROWS_WITH(lock->require(), Contains("another one may have come and gone"));
    CHECK(!world.files.exists(file));
    CHECK(lock->is_lost());
  }
  SECTION("another's") {
    world.files.put(file, text_of(elsewhere()));
    CHECK_THROWS_WITH(lock->confirm(), Contains("is driven by pid") && Contains("elsewhere now"));
    world.files.put(file, ours);
    CHECK_THROWS_WITH(lock->confirm(), Contains("elsewhere now"));
    CHECK_THROWS_WITH(lock->renew(), Contains("elsewhere now"));
    CHECK_THROWS_WITH(lock->require(), Contains("elsewhere now"));
    CHECK_THROWS_WITH(lock->refuse_if_lost(), Contains("elsewhere now"));
  }
  SECTION("not to be read") {
    world.files.fail_reading(file);
    CHECK_NOTHROW(lock->confirm());
  }
}

TEST_CASE(
    "Before a write the lease is renewed if it is old, and a disk that does not let it be "
    "ends the run in time",
    "[lease][unit]") {
  World world;
  const auto lock = world.take(here());
  const auto before = world.files.modified_ns(file);
  world.now += 15;
  CHECK(!lock->is_old());
  lock->require();
  CHECK(world.files.modified_ns(file) == before);
  world.now += 1;
  CHECK(lock->is_old());
  lock->require();
  CHECK(world.files.modified_ns(file) != before);
  CHECK(!lock->is_old());

  world.now += 29;
  world.files.fail_operation(1, EIO);
  CHECK_NOTHROW(lock->require());
  world.now += 2;
  world.files.fail_operation(1, EIO);
  CHECK_THROWS_WITH(lock->require(), Contains("cannot renew /e/LOCK since 31 s"));
  CHECK_NOTHROW(lock->require());
}

TEST_CASE("A refused taker has made no file", "[lease][unit]") {
  World world;
  const bool can_hold = GENERATE(false, true);
  if (can_hold) world.files.allow_holds("66:1");
  const auto lock = world.take(can_hold ? in_other_namespace() : elsewhere());
  const auto before = world.files.operations();
  CHECK(!world.refusal(here(), &world.watch).empty());
  CHECK(world.files.operations() == before);
}

TEST_CASE("An experiment that another driver has taken over takes nothing any more",
          "[lease][experiment_store][unit]") {
  MemoryFileSystem files;
  ExperimentStore store = ExperimentStore::create(files, "/runs/exp", Json::object(), here());
  append_events(store, 1, 2);
  store.write();
  files.put("/runs/exp/LOCK", text_of(elsewhere()));
  CHECK_THROWS_WITH(store.sync(), Contains("elsewhere now"));
  CHECK(store.has_failed());
  CHECK_THROWS_WITH(store.refuse_if_lost(), Contains("elsewhere now"));
  append_events(store, 3, 3);
  CHECK_THROWS_WITH(store.write(), Contains("elsewhere now"));
  CHECK_THROWS_WITH(store.make_next_journal(), Contains("elsewhere now"));
  CHECK_THROWS_WITH(store.add_trials({}), Contains("elsewhere now"));
  CHECK_THROWS_WITH(store.publish({}), Contains("elsewhere now"));
  CHECK_THROWS_WITH(store.write_spec(Json::object()), Contains("elsewhere now"));
  Replayed seen;
  std::vector<std::string> notices;
  ExperimentStore::read(files, "/runs/exp", seen, notices);
  CHECK(seen.numbers == numbers(1, 2));
}

TEST_CASE(
    "What a driver writes that was wrongly taken for dead is read by nobody, and its next "
    "sync says so",
    "[lease][experiment_store][unit]") {
  MemoryFileSystem files;
  const LockOwner careless{{.host = "a", .pid = 1}};  // never looks at its lock again
  ExperimentStore first = ExperimentStore::create(files, "/runs/exp", Json::object(), careless);
  append_events(first, 1, 2);
  first.write();
  files.remove_file("/runs/exp/LOCK");
  {
    Replayed seen;
    std::vector<std::string> notices;
    ExperimentStore second = ExperimentStore::open(files, "/runs/exp", here(), seen, notices);
    append_events(first, 3, 3);
    first.write();  // before the fence: after what the second has read
    second.fence();
    append_events(first, 4, 4);
    first.write();
    append_events(second, 3, 5);
    second.write();
    second.sync();
  }
  CHECK_THROWS_WITH(first.sync(), Contains("was removed"));
  Replayed seen;
  std::vector<std::string> notices;
  ExperimentStore::read(files, "/runs/exp", seen, notices);
  CHECK(seen.numbers == numbers(1, 5));
}

TEST_CASE("A store whose lock is another's begins nothing more",
          "[lease][experiment_store][unit]") {
  MemoryFileSystem files;
  const std::filesystem::path lock = "/runs/exp/LOCK", journal = "/runs/exp/journal-1.jsonl";
  const auto is_refused = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Contains("is driven by pid"));
      return true;
    }
    return false;
  };
  SECTION("no spec, no journal, and no sync that would be believed") {
    ExperimentStore store = ExperimentStore::create(files, "/runs/exp", Json::object(), here());
    append_events(store, 1, 2);
    store.write();
    files.put(lock, text_of(elsewhere()));
    const std::string spec = files.read("/runs/exp/experiment.json");
    CHECK(is_refused([&] { store.write_spec({{"name", "new"}}); }));
    CHECK(files.read("/runs/exp/experiment.json") == spec);
    CHECK(is_refused([&] { (void)store.make_next_journal(); }));
    CHECK(!files.exists("/runs/exp/journal-2.jsonl"));
    CHECK(is_refused([&] { store.sync(); }));
  }
  SECTION("no fence") {
    { ExperimentStore::create(files, "/runs/exp", Json::object(), here()); }
    Replayed seen;
    std::vector<std::string> notices;
    ExperimentStore store = ExperimentStore::open(files, "/runs/exp", here(), seen, notices);
    files.put(lock, text_of(elsewhere()));
    files.put(journal, files.read(journal) + "what the other one has written");
    CHECK(is_refused([&] { store.fence(); }));
    CHECK_THAT(files.read(journal), Contains("what the other one has written"));
  }
  SECTION("no snapshot, whichever step of it comes next") {
    bool is_over = false;
    for (int k = 0; !is_over; ++k) {
      MemoryFileSystem disk;
      ExperimentStore store = ExperimentStore::create(disk, "/runs/exp", Json::object(), here());
      append_events(store, 1, 2);
      store.write();
      SnapshotParts parts;
      parts.event = 2;
      parts.state = {{"event", 2}};
      parts.trials.add(TrialId{0}, [](std::string& out) { out += R"({"trial":0})"; });
      parts.generation = store.start_generation(store.make_next_journal());
      store.sync();
      store.finish_generation();
      const auto trials_bytes = [&] {
        const std::string trials = "/runs/exp/trials-1.jsonl";
        return disk.exists(trials) ? disk.read(trials).size() : 0;
      };
      const std::size_t bytes_before = trials_bytes();
      std::size_t bytes_then = 0;
      bool had_snapshot = false;
      int calls = 0;
      disk.on_call([&] {
        if (calls++ != k) return;
        bytes_then = trials_bytes();
        had_snapshot = disk.exists("/runs/exp/snapshot-2.json");
        disk.put(lock, text_of(elsewhere()));
      });
      const bool was_refused = is_refused([&] { store.publish(parts); });
      disk.on_call(nullptr);
      is_over = calls <= k;
      CAPTURE(k);
      if (is_over) {
        CHECK(!was_refused);
      } else if (!had_snapshot) {
        CHECK(was_refused);
        CHECK(disk.read("/runs/exp/CURRENT") == "1\n");
        if (bytes_then == bytes_before) CHECK(!disk.exists("/runs/exp/snapshot-2.json"));
      }
    }
  }
}

}  // namespace
}  // namespace tune
