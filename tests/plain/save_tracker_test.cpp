// What programs do to their files, in virtual time: which saves are found, when, and with how much
// printed before.
#include "tuner/plain/save_tracker.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using What = FileEvent::What;

constexpr std::uint64_t line_bytes = 10;

/// A launch that prints and saves, and who watches it.
class Watched : public SaveTracker::Place {
 public:
  explicit Watched(std::string pattern = "last", const std::string& complete = "")
      : pattern_(std::move(pattern)), complete_(complete) {}

  // What was there before the launch.
  void leave_behind(const fs::path& name) { put(name); }
  void begin(Seconds patience_s = 30) {
    std::vector<SaveTracker::Other> others;
    std::set<fs::path> seen;
    for (const auto& [name, file] : files_) {
      for (fs::path each = name; !each.empty(); each = each.parent_path()) {
        if (!checkpoint_of(pattern_, each) && seen.insert(each).second) {
          others.push_back({each, true});
        }
      }
    }
    PlainWatch what{.root = "/saved", .pattern = pattern_, .complete = complete_};
    what.known = checkpoints();
    tracker_.emplace(SaveTracker::Launch{std::move(what), {}, {}}, others, logs_, *this,
                     patience_s);
    pass(0.1);
  }

  // What the launch does.
  void print() {
    printed_ += line_bytes;
    events_.push_back({What::printed});
  }
  void open(const fs::path& name) {
    make_directories(name.parent_path());
    const bool is_new = !files_.contains(name);
    put(name);
    files_.at(name).is_open = true;
    tell(is_new ? What::created : What::modified, name);
  }
  void write(const fs::path& name) {
    touch(files_.at(name));
    tell(What::modified, name);
  }
  void close(const fs::path& name) {
    files_.at(name).is_open = false;
    tell(What::closed, name);
  }
  void save(const fs::path& name) {
    open(name);
    write(name);
    close(name);
  }
  void remove(const fs::path& name) {
    files_.erase(name);
    tell(What::deleted, name);
  }
  /// A file, or a directory with all in it.
  void rename(const fs::path& from, const fs::path& to) {
    const bool is_directory = !files_.contains(from);
    std::map<fs::path, File> moved;
    for (auto at = files_.begin(); at != files_.end();) {
      const fs::path within = at->first.lexically_relative(from);
      const bool is_in = at->first == from || (!within.empty() && *within.begin() != "..");
      if (is_in) moved[at->first == from ? to : to / within] = at->second;
      at = is_in ? files_.erase(at) : std::next(at);
    }
    for (auto& [name, file] : moved) files_[name] = file;
    if (is_directory) directories_.insert(to);
    ++cookie_;
    tell(What::moved_from, from, is_directory);
    tell(What::moved_to, to, is_directory);
  }
  /// Another name for it.
  void link(const fs::path& from, const fs::path& to) {
    set_permissions(from);  // as how often it is linked changes, too
    files_[to] = files_.at(from);
    tell(What::created, to);
  }
  void set_permissions(const fs::path& name) { files_.at(name).changed_ns = unix_ns(); }
  /// A directory with a file that is written before anybody watches that.
  void save_unwatched(const fs::path& directory, const fs::path& file) {
    make_directories(directory);
    put(directory / file);
  }
  void die() { is_alive_ = false; }

  /// Time goes by, and whoever watches looks when he is to.
  void pass(Seconds time_s) {
    constexpr Seconds step_s = 0.01;
    for (const Seconds end = now_ + time_s; now_ < end;) {
      now_ += step_s;
      catch_up();
      if (tracker_->next_look() > now_) continue;
      for (SavedFiles& each : tracker_->look()) found_.push_back(std::move(each));
      if (tracker_->take_settled()) ++settled_;
      if (tracker_->take_restless()) ++restless_;
    }
  }
  /// Nobody looks meanwhile.
  void stall(Seconds time_s) { now_ += time_s; }
  void end(bool ended_well) {
    for (SavedFiles& each : tracker_->look(ended_well)) found_.push_back(std::move(each));
  }
  SaveTracker& tracker() { return *tracker_; }

  /// "NAME:LINES", each, with the lines that were printed before it at least; where that is not
  /// sure, with the most, too.
  /// Bytes of all logs before that was written for the first time which the last save found has.
  std::uint64_t printed_before_first() const {
    const auto& first = found_.back().printed_before_first;
    return first ? first->stdout_bytes + first->stderr_bytes : std::uint64_t(-1);
  }
  /// Lines that may have been printed before the last save that was found.
  std::uint64_t most_printed() const {
    return found_.back().printed_at_most.stdout_bytes / line_bytes;
  }
  std::ptrdiff_t writes() const { return std::ssize(found_.back().writes); }
  std::string found() {
    std::string text;
    for (const SavedFiles& each : std::exchange(found_, {})) {
      text += (text.empty() ? "" : " ") + each.files.name.string() + ":" +
              std::to_string(each.printed_before.stdout_bytes / line_bytes);
      const bool is_sure = each.bursts == 0;
      if (!is_sure) text += "-" + std::to_string(each.printed_at_most.stdout_bytes / line_bytes);
      if (each.is_late) text += " late";
    }
    return text;
  }
  int settled() const { return settled_; }
  int restless() const { return restless_; }

  std::vector<CheckpointFiles> checkpoints() override {
    std::map<fs::path, CheckpointFiles> all;
    for (const auto& [name, file] : files_) {
      const auto checkpoint = checkpoint_of(pattern_, name);
      if (!checkpoint) continue;
      CheckpointFiles& of = all[*checkpoint];
      of.root = "/saved";
      of.name = *checkpoint;
      of.is_file = *checkpoint == name;
      of.files.push_back({of.is_file ? "" : name.lexically_relative(*checkpoint).string(),
                          file.inode, file.bytes, file.changed_ns, file.written_ns});
    }
    std::vector<CheckpointFiles> sorted;
    for (auto& [name, files] : all) sorted.push_back(std::move(files));
    if (const auto then = std::exchange(when_listed_, {})) then();
    return sorted;
  }
  std::optional<CheckpointFiles> checkpoint(const fs::path& name) override {
    for (CheckpointFiles& each : checkpoints()) {
      if (each.name == name) return std::move(each);
    }
    return std::nullopt;
  }
  std::set<std::string> being_written(const CheckpointFiles& files) override {
    std::set<std::string> open;
    for (const FileVersion& file : files.files) {
      const fs::path name = files.is_file ? files.name : files.name / file.name;
      if (is_alive_ && files_.at(name).is_open) open.insert(file.name);
    }
    return open;
  }
  LogSizes log_sizes() override { return {printed_, 0}; }
  bool is_alive() override { return is_alive_; }
  Seconds now() override { return now_; }
  /// No two answers are the same.
  std::int64_t unix_ns() override {
    constexpr double ns_per_s = 1e9;
    return begin_ns_ + static_cast<std::int64_t>(now_ * ns_per_s) + ++answers_;
  }
  void watch(const fs::path&) override {}
  bool has_events() const override { return has_events_; }
  void catch_up(const fs::path& = {}) override {
    const Seconds before = std::exchange(caught_up_at_, now_);
    if (!has_events_) events_.clear();
    if (events_.empty()) return;
    FileEvents batch{std::exchange(events_, {}), 0, log_sizes(), log_sizes(),
                     now_ - before > late_s};
    batch.first_read = batch.events.size();
    tracker_->take(batch);
  }

  bool has_events_ = true;
  std::function<void()> when_listed_;  ///< happens once checkpoints are listed, and not looked at

 private:
  struct File {
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;
    std::int64_t written_ns = 0;
    bool is_open = false;
  };
  void touch(File& file) {
    ++file.bytes;
    file.changed_ns = file.written_ns = unix_ns();
  }
  void put(const fs::path& name) {
    File& file = files_[name];
    if (file.inode == 0) file.inode = ++inode_;
    touch(file);
  }
  void make_directories(const fs::path& name) {
    if (name.empty() || !directories_.insert(name).second) return;
    make_directories(name.parent_path());
    tell(What::created, name, true);
  }
  void tell(What what, const fs::path& name, bool is_directory = false) {
    events_.push_back({what, is_directory, name.parent_path(), name.filename().string(), cookie_});
  }

  static constexpr std::int64_t begin_ns_ = 1'000'000'000'000'000'000;
  const std::string pattern_;
  const std::string complete_;
  std::map<fs::path, File> files_;
  std::set<fs::path> directories_;
  std::vector<FileEvent> events_;
  std::set<std::string> logs_;
  std::optional<SaveTracker> tracker_;
  std::vector<SavedFiles> found_;
  Seconds now_ = 100;
  Seconds caught_up_at_ = 100;
  std::uint64_t printed_ = 0;
  std::uint64_t inode_ = 0;
  std::uint32_t cookie_ = 0;
  std::int64_t answers_ = 0;
  int settled_ = 0;
  int restless_ = 0;
  bool is_alive_ = true;
};

TEST_CASE("A file is whole at once if it was renamed to its name", "[unit][plain]") {
  Watched watched;
  watched.begin();
  watched.print();
  watched.save("t");
  watched.rename("t", "last");
  watched.pass(0.02);
  watched.print();
  watched.pass(0.1);
  CHECK(watched.found() == "last:1");
}

TEST_CASE("What comes while others are looked at is remembered as events tell of it",
          "[unit][plain]") {
  Watched watched("e-*");
  watched.begin();
  const auto save = [&](const char* name) {
    watched.print();
    watched.save("t");
    watched.rename("t", name);
  };
  save("e-1");
  watched.when_listed_ = [&] { save("e-2"); };
  watched.pass(0.2);
  watched.print();
  watched.pass(1.5);
  CHECK(watched.found() == "e-1:1 e-2:2");
}

TEST_CASE("A result that is printed while a file is written does not count for it",
          "[unit][plain]") {
  Watched watched;
  watched.begin();
  watched.print();
  watched.open("t");
  watched.pass(0.3);
  watched.print();
  watched.close("t");
  watched.rename("t", "last");
  watched.pass(0.1);
  CHECK(watched.found() == "last:1");
}

TEST_CASE("A file that is written in its place is whole a quarter of a second after its close",
          "[unit][plain]") {
  Watched watched;
  watched.begin();
  for (int i = 1; i <= 2; ++i) {
    watched.print();
    watched.save("last");
    watched.pass(0.2);
    CHECK(watched.found().empty());
    watched.pass(0.15);
    CHECK(watched.found() == "last:" + std::to_string(i));
  }
  watched.pass(2);
  CHECK(watched.found().empty());
}

TEST_CASE("How often a file was written before it rested is known", "[unit][plain]") {
  Watched watched;
  watched.begin();
  for (const int writes : {1, 3, 2}) {
    for (int i = 0; i < writes; ++i) {
      watched.save("last");
      watched.pass(0.1);
    }
    watched.pass(0.4);
    CHECK(watched.writes() == writes);
  }
  watched.save("new");
  watched.rename("new", "last");
  watched.pass(0.4);
  CHECK(watched.writes() == 1);
}

TEST_CASE("What is open for writing is not whole, under whichever name", "[unit][plain]") {
  for (const bool is_renamed : {false, true}) {
    CAPTURE(is_renamed);
    Watched watched;
    watched.begin();
    watched.print();
    watched.open(is_renamed ? "t" : "last");
    if (is_renamed) watched.rename("t", "last");
    watched.pass(2.5);
    CHECK(watched.found().empty());
    watched.close("last");
    watched.pass(1.1);
    CHECK(watched.found() == "last:1");
  }
}

TEST_CASE("A directory that is written without a last file is whole after a second of rest",
          "[unit][plain]") {
  for (const bool has_events : {true, false}) {
    CAPTURE(has_events);
    Watched watched("c-*");
    watched.has_events_ = has_events;
    watched.begin();
    watched.print();
    watched.pass(0.5);
    for (const char* const name : {"c-1/a", "c-1/b", "c-1/c", "c-1/d"}) {
      watched.save(name);
      watched.pass(0.3);
    }
    watched.pass(0.5);
    CHECK(watched.found().empty());
    watched.pass(0.6);
    CHECK(watched.found() == "c-1:1");
  }
}

TEST_CASE("The file that completes a directory makes it whole at once, and nothing else does",
          "[unit][plain]") {
  Watched watched("c-*", "done");
  watched.begin();
  watched.print();
  watched.save("c-1/model");
  watched.save("c-2/model");
  watched.save("c-2/done");
  watched.pass(5);
  CHECK(watched.found() == "c-2:1");
  watched.end(true);
  CHECK(watched.found().empty());
}

TEST_CASE("A file that completes a directory is written to its end before that is whole",
          "[unit][plain]") {
  for (const bool has_events : {true, false}) {
    CAPTURE(has_events);
    Watched watched("last", "model");
    watched.has_events_ = has_events;
    watched.begin();
    watched.print();
    for (int save = 0; save < 2; ++save) {
      watched.save("last/config");
      watched.open("last/model");
      for (int i = 0; i < 8; ++i) {
        watched.write("last/model");
        watched.pass(0.3);
      }
      CHECK(watched.found().empty());
      watched.close("last/model");
      watched.pass(1);
      CHECK(watched.found().starts_with("last:"));
    }
    // What the death of its writer has closed is no save; what was closed before that is one.
    watched.open("last/model");
    watched.pass(0.3);
    watched.close("last/model");
    watched.die();
    watched.pass(2);
    watched.end(false);
    CHECK(watched.found().empty());
  }
  Watched watched("last", "model");
  watched.begin();
  watched.print();
  watched.save("last/model");
  watched.catch_up();
  watched.die();
  watched.end(false);
  CHECK(watched.found() == "last:1");
}

TEST_CASE(
    "What is overwritten before it has rested may have all that was printed by then, if nobody "
    "tells of its writing",
    "[unit][plain]") {
  Watched watched;
  watched.has_events_ = false;
  watched.begin();
  watched.print();
  watched.pass(1);
  watched.save("last/model");
  watched.pass(0.9);
  watched.print();
  watched.print();
  watched.pass(0.05);
  watched.save("last/model");
  watched.pass(4);
  CHECK(watched.most_printed() == 3);
  CHECK(watched.found() == "last:1");
}

TEST_CASE("A directory that is rewritten between two looks is of its last save", "[unit][plain]") {
  Watched watched("last", "done");
  watched.begin();
  for (int i = 0; i < 2; ++i) {
    watched.print();
    watched.save("last/model");
    watched.save("last/done");
  }
  watched.pass(0.1);
  CHECK(watched.found() == "last:2");
  // Of what is written behind the file that completes a save nobody knows whether it is of that.
  watched.save("last/done");
  for (int i = 0; i < 10; ++i) {
    watched.save("last/model");
    watched.pass(0.04);
  }
  CHECK(watched.found().empty());
}

TEST_CASE("What an interrupted save has left behind is written anew by the next one",
          "[unit][plain]") {
  Watched watched;
  watched.leave_behind("t");
  watched.begin();
  watched.print();
  watched.print();
  watched.pass(0.1);
  watched.save("t");
  watched.rename("t", "last");
  watched.pass(0.1);
  CHECK(watched.found() == "last:2");
}

TEST_CASE("A directory that an interrupted save has left behind is written anew by the next one",
          "[unit][plain]") {
  Watched watched("c-*", "DONE");
  watched.leave_behind("new/sub/weights");
  watched.leave_behind("new/DONE");
  watched.begin();
  watched.print();
  watched.print();
  watched.pass(0.1);
  watched.save("new/sub/weights");
  watched.save("new/DONE");
  watched.rename("new", "c-2");
  watched.pass(0.1);
  CHECK(watched.found() == "c-2:2");
}

TEST_CASE("What comes from where nobody watches claims no result", "[unit][plain]") {
  Watched watched;
  watched.leave_behind("elsewhere/t");
  watched.begin();
  watched.print();
  watched.pass(0.1);
  watched.rename("unseen", "last");
  watched.open("last");
  watched.close("last");
  watched.pass(1.5);
  CHECK(watched.found() == "last:0");
}

TEST_CASE("A log that is open all the time hides no saves, and makes none", "[unit][plain]") {
  Watched watched("");
  watched.begin();
  watched.open("log");
  watched.pass(0.1);
  std::string found;
  for (int i = 1; i <= 4; ++i) {
    watched.write("log");
    watched.print();
    if (i < 4) watched.save("model");
    watched.pass(1.3);
    found += watched.found() + ";";
  }
  // That it is a log shows once two saves were closed over it.
  CHECK(found == ";:2;:3;;");
}

TEST_CASE("A directory that never rests has its last save, also where a best model is older",
          "[unit][plain]") {
  const bool was_put_back = GENERATE(false, true);
  CAPTURE(was_put_back);
  Watched watched("");
  if (was_put_back) {
    for (const char* const name : {"model", "best", "config"}) watched.leave_behind(name);
  }
  watched.begin();
  watched.save("config");
  for (int i = 1; i <= 4; ++i) {
    watched.print();
    watched.save("model");
    if (i == 1 || i == 3) watched.save("best");
    watched.pass(0.4);
  }
  watched.end(true);
  // What was written of the third one is all that it writes; of the fourth nobody knows that yet.
  CHECK(watched.found() == ":3 :4");
}

TEST_CASE("A link to a save, or other permissions of it, is no save of it", "[unit][plain]") {
  Watched watched("*");
  watched.begin();
  const auto save = [&] {
    watched.print();
    watched.save("new");
    watched.rename("new", "last");
  };
  save();
  watched.pass(2);
  CHECK(watched.found() == "last:1");
  watched.print();
  watched.set_permissions("last");
  watched.pass(2);
  CHECK(watched.found().empty());
  watched.print();
  watched.link("last", "best");
  watched.pass(2);
  CHECK(watched.found() == "best:3");
  save();
  watched.set_permissions("best");  // it has one link less
  watched.pass(2);
  CHECK(watched.found() == "last:4");
}

TEST_CASE("A name that is given to another file is that of another save", "[unit][plain]") {
  Watched watched("*");
  watched.begin();
  for (int i = 1; i <= 3; ++i) {
    watched.print();
    watched.save("new");
    watched.rename("new", "last");
    if (i > 1) watched.remove("best");
    watched.link("last", "best");
    watched.pass(0.3);
  }
  watched.end(true);
  CHECK(watched.found().ends_with("best:3"));
}

TEST_CASE("What was written in a directory before that was watched is as old as the directory",
          "[unit][plain]") {
  Watched watched("ck_*");
  watched.begin();
  watched.print();
  watched.save_unwatched("ck_1/weights", "model");
  watched.pass(0.3);
  watched.print();
  const bool is_closed_late = GENERATE(false, true);
  if (is_closed_late) {
    watched.write("ck_1/weights/model");
    watched.close("ck_1/weights/model");
  }
  watched.save("ck_1/optimizer");
  watched.pass(2);
  CHECK(watched.found() == "ck_1:1");
}

TEST_CASE("A save that was overwritten before it was whole is known to the next one",
          "[unit][plain]") {
  const bool has_saved_first = GENERATE(false, true);
  const bool is_numbered = GENERATE(false, true);
  CAPTURE(has_saved_first, is_numbered);
  Watched watched("");
  watched.begin();
  watched.save("config");  // of another kind, and never written again
  if (has_saved_first) watched.save("model-1");
  watched.pass(0.2);
  for (int i = 1; i <= 2; ++i) {
    watched.print();
    watched.save(is_numbered ? "model-" + std::to_string(i + 1) : "model-1");
    watched.pass(0.2);
  }
  watched.pass(1.5);
  const std::uint64_t printed = watched.printed_before_first();
  CHECK((printed == 0) == has_saved_first);
}

TEST_CASE("Who changes what it saves for longer than one has patience is restless, once",
          "[unit][plain]") {
  Watched watched;
  watched.begin(1.5);
  for (int i = 0; i < 50; ++i) {
    watched.save("last");
    watched.pass(0.1);
  }
  CHECK(watched.restless() == 1);
  CHECK(watched.found().empty());
  watched.pass(1);
  CHECK(watched.found() == "last:0");
  CHECK(watched.restless() == 1);
}

TEST_CASE(
    "What was being written when its program was killed is not whole, however late that is known",
    "[unit][plain]") {
  for (const bool is_killed : {false, true}) {
    CAPTURE(is_killed);
    Watched watched;
    watched.begin();
    watched.open("last");
    watched.write("last");
    if (is_killed) watched.die();
    watched.close("last");  // the kernel does that for the dead
    watched.pass(3);
    watched.end(false);
    CHECK(watched.found() == (is_killed ? "" : "last:0"));
  }
}

TEST_CASE("Of a program that ends well all is whole, of one that fails nothing new",
          "[unit][plain]") {
  for (const bool ends_well : {false, true}) {
    Watched watched;
    watched.begin();
    watched.print();
    watched.save("last");
    watched.die();
    watched.end(ends_well);
    CHECK(watched.found() == (ends_well ? "last:1" : ""));
  }
}

TEST_CASE("Saves that are whole at the same time come in their order, whatever their names",
          "[unit][plain]") {
  Watched watched("step-*");
  watched.begin();
  for (const char* const name : {"step-9/model", "step-10/model"}) {
    watched.print();
    watched.save(name);
    watched.pass(0.6);
  }
  watched.end(true);
  CHECK(watched.found() == "step-9:1 step-10:2");
}

TEST_CASE(
    "What happens while nobody looks is late, but for what was saved behind all that was printed",
    "[unit][plain]") {
  Watched watched("c-*", "done");
  watched.begin();
  watched.print();
  watched.pass(0.1);
  const auto save = [&](const std::string& name) {
    watched.save(name + "/model");
    watched.save(name + "/done");
  };
  watched.print();
  save("c-1");
  watched.print();
  save("c-2");
  watched.stall(2 * late_s);
  watched.pass(0.1);
  CHECK(watched.found() == "c-1:1-3 late c-2:3 late");
}

TEST_CASE(
    "What is overwritten in a directory faster than that rests is found from the second save on",
    "[unit][plain]") {
  Watched watched("");
  watched.begin();
  const auto save_all = [&](int files, double apart_s) {
    watched.save("model.pt");
    for (int i = 1; i < files; ++i) {
      watched.pass(apart_s);
      watched.save("optimizer.pt");
    }
  };
  SECTION("one file") {
    for (int i = 0; i < 4; ++i) {
      watched.print();
      save_all(1, 0);
      watched.pass(0.8);
    }
    CHECK(watched.found() == ":2 :3 :4");
  }
  SECTION("two files, and never one of them without the other") {
    watched.save("config.json");
    watched.print();
    for (int i = 0; i < 3; ++i) {
      save_all(2, 0.4);
      watched.print();
      watched.pass(0.5);
    }
    CHECK(watched.found() == ":2 :3");
  }
}

TEST_CASE("Who is to end may begin a save, and is waited for until that is whole",
          "[unit][plain]") {
  Watched watched;
  watched.begin();
  watched.tracker().quiesce(0.5);
  watched.pass(0.4);
  CHECK(watched.settled() == 0);
  watched.open("last");
  watched.pass(2);
  CHECK(watched.settled() == 0);
  watched.close("last");
  watched.pass(1.1);
  CHECK(watched.found() == "last:0");
  CHECK(watched.settled() == 1);
}

TEST_CASE("A result that is printed in the time to begin a save does not cut that time",
          "[unit][plain]") {
  Watched watched;
  watched.begin();
  watched.tracker().quiesce(0.5);
  watched.pass(0.2);
  watched.print();
  watched.pass(0.2);
  CHECK(watched.settled() == 0);
  watched.open("last");
  watched.pass(2);
  CHECK(watched.settled() == 0);
  watched.close("last");
  watched.pass(1.1);
  CHECK(watched.found() == "last:1");
  CHECK(watched.settled() == 1);
}

TEST_CASE("A save that begins after that time is not waited for", "[unit][plain]") {
  Watched watched;
  watched.begin();
  watched.tracker().quiesce(0.5);
  watched.pass(0.45);
  CHECK(watched.settled() == 0);
  watched.pass(0.1);
  CHECK(watched.settled() == 1);
  watched.tracker().quiesce(0.5);
  watched.pass(0.49);
  watched.stall(0.02);
  watched.open("last");
  watched.pass(0.1);
  CHECK(watched.settled() == 2);
}

TEST_CASE("What is half-written is told with what was printed before it, until it is whole",
          "[unit][plain]") {
  Watched watched("e-*");
  watched.begin();
  watched.print();
  watched.pass(0.05);
  watched.open("e-1");
  watched.pass(0.05);
  watched.print();
  watched.pass(0.05);
  SavesSeen seen = watched.tracker().seen();
  CHECK(seen.until.stdout_bytes == 2 * line_bytes);
  CHECK(seen.told == 0);
  REQUIRE(seen.unfinished.contains("e-"));
  CHECK(seen.unfinished.at("e-").stdout_bytes == line_bytes);
  watched.close("e-1");
  watched.pass(1);
  seen = watched.tracker().seen();
  CHECK(seen.told == 1);
  CHECK(seen.unfinished.empty());
  CHECK(watched.found() == "e-1:1");
  watched.open("e-2");
  watched.pass(0.02);
  CHECK(watched.tracker().seen().unfinished.contains("e-"));
  watched.remove("e-2");
  watched.pass(1);
  CHECK(watched.tracker().seen().unfinished.empty());
}

TEST_CASE("A log that grows in a directory that is complete is no save that is half-written",
          "[unit][plain]") {
  Watched watched("c-*", "complete");
  watched.begin();
  watched.open("c-1/log");
  watched.pass(0.05);
  watched.save("c-1/model");
  watched.save("c-1/complete");
  watched.pass(0.1);
  watched.print();
  watched.write("c-1/log");
  watched.pass(0.2);
  CHECK(watched.found() == "c-1:0");
  CHECK(watched.tracker().seen().unfinished.empty());
  watched.open("c-1/model");
  watched.pass(0.02);
  CHECK(watched.tracker().seen().unfinished.contains("c-"));
}

}  // namespace
}  // namespace tune
