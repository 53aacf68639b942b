// `tune pull`, `tune push`, `tune fetch` and `tune remote verify`.
#include <cerrno>
#include <cstdlib>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/disk/lock.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/paths.h"
#include "tuner/model/remote_config.h"
#include "tuner/process/system_clock.h"
#include "tuner/push.h"
#include "tuner/remote/fetch.h"
#include "tuner/remote/pull.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

/// Says it at most every 10 s: it comes again and again.
std::function<void(const std::string&)> seldom() {
  return [said_at = -1e9](const std::string& sentence) mutable {
    constexpr double period_s = 10;
    const double now = seconds_since_boot();
    if (now - said_at < period_s) return;
    said_at = now;
    complain(sentence);
  };
}

std::string checked(std::string remote) {
  if (const auto wrong = wrong_remote_path(remote)) throw user_error("the remote " + *wrong);
  while (remote.size() > 1 && remote.ends_with('/')) remote.pop_back();
  return remote;
}

/// A directory of this process alone: in one that somebody else has made under a name that can be
/// guessed, links could lie.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(FileSystem& files) : files_(files) {
    std::string name = (std::filesystem::temp_directory_path() / "tune-remote-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw file_error("cannot make a directory in", "the temporary directory", errno);
    }
    name_ = name;
  }
  ~ScratchDirectory() {
    try {
      files_.remove_tree(name_);
    } catch (const Error& error) {
      complain(error.what());
    }
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::filesystem::path& name() const { return name_; }

 private:
  FileSystem& files_;
  std::filesystem::path name_;
};

/// The last part of it, which is the experiment's name.
std::string name_in(const std::string& remote) {
  return remote.substr(remote.find_last_of("/:") + 1);
}

std::filesystem::path place_of(const std::string& remote, const std::string& directory) {
  if (!directory.empty()) return std::filesystem::absolute(directory).lexically_normal();
  return std::filesystem::absolute("results/" + name_in(remote));
}

Pulled pull_into(const std::string& remote, const std::filesystem::path& place, bool takes_over,
                 double lease_s) {
  const auto files = make_posix_file_system(Access::owner);
  const Pulled pulled = pull(*files, {.root = remote,
                                      .directory = place,
                                      .takes_over = takes_over,
                                      .lease_s = lease_s,
                                      .on_wait = seldom(),
                                      .stop = &InterruptsNoted::came()});
  for (const auto& problem : pulled.problems) complain(problem);
  for (const auto& each : pulled.unmarked) complain("notice: " + each);
  return pulled;
}

/// For a driver that goes on from there, or for people.
void say(const Pulled& pulled, const std::string& remote, const std::filesystem::path& place) {
  const std::string checkpoints = count_of(pulled.checkpoints, "checkpoint") + " (" +
                                  format_bytes(static_cast<double>(pulled.bytes)) + ")";
  const std::string state =
      "the state of " + format_time(pulled.time) + " from " + remote + " into " + place.native();
  complain(pulled.is_whole
               ? "took " + checkpoints + " and " + state
               : "took " + state + "; " + checkpoints + " come from there when they are needed");
}

void acquire_lease(const std::string& remote, const std::filesystem::path& place, double lease_s) {
  say(pull_into(remote, place, true, lease_s), remote, place);
}

}  // namespace

int pull_command(const RemoteRequest& request) {
  const std::string remote = checked(request.remote);
  const InterruptsNoted noted;
  const auto place = place_of(remote, request.directory);
  const Pulled pulled = pull_into(remote, place, false, 60);
  if (request.json) {
    print_json({{"remote", remote},
                {"directory", place.string()},
                {"state_time", pulled.time},
                {"checkpoints", pulled.checkpoints},
                {"bytes", pulled.bytes},
                {"damage", pulled.problems}});
  } else {
    say(pulled, remote, place);
  }
  return pulled.problems.empty() ? exit_ok : exit_damaged;
}

namespace {

/// `name`: of a checkpoint, or of a trial's or an experiment's directory with all of theirs.
std::vector<std::filesystem::path> places_of(FileSystem& files, const std::string& name) {
  auto place = std::filesystem::absolute(name).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  const bool is_trial =
      parse_trial_id(place.filename().native()) && is_experiment(place.parent_path());
  if (is_trial || is_experiment(place)) return evicted_below(files, place);
  checkpoint_at(place);
  require_experiment(place.parent_path().parent_path());
  return {place};
}

}  // namespace

int fetch_command(const RemoteRequest& request) {
  const auto files = make_posix_file_system(Access::owner);
  std::vector<std::filesystem::path> places;
  for (const std::string& name : request.checkpoints) {
    const auto more = places_of(*files, name);
    places.insert(places.end(), more.begin(), more.end());
  }
  if (!request.to.empty() && places.size() != 1) {
    throw user_error("--to is the directory of one checkpoint, and there are " +
                     std::to_string(places.size()));
  }
  Json list = Json::array();
  const auto tell = [&](const std::filesystem::path& place, const std::filesystem::path& to,
                        bool came, const std::string& sentence) {
    if (!request.json) print(sentence + "\n");
    list.push_back({{"checkpoint", place.string()}, {"path", to.string()}, {"came", came}});
  };
  if (places.empty() && !request.json) print("all are here already\n");
  for (const auto& place : places) {
    if (!request.to.empty()) {
      const auto to = std::filesystem::absolute(request.to).lexically_normal();
      fetch_copy(*files, place, to);
      tell(place, to, true, "a copy of " + place.native() + " is in " + to.native());
      continue;
    }
    std::vector<std::string> notices;
    const DirectoryLock lock(*files, paths::lock(place.parent_path().parent_path()),
                             this_process(make_system_clock()->now()), notices);
    const bool came = fetch(*files, place);
    tell(place, place, came, place.native() + (came ? " is back" : " is here already"));
  }
  if (request.json) print_json({{"fetched", std::move(list)}});
  return exit_ok;
}

int push_command(const RemoteRequest& request) {
  const ExperimentView view = view_experiment(request.directory);
  const std::string path = request.remote.empty() ? "" : checked(request.remote);
  push_experiment(view.grid, {.path = path, .on_wait = seldom()});
  const std::string& used = path.empty() ? view.grid.spec().remote.path : path;
  const std::string remote = remote_below(used, view.grid.spec().name);
  if (request.json) {
    print_json({{"directory", view.grid.directory().string()}, {"remote", remote}});
  } else {
    print("all of " + view.grid.directory().native() + " is on " + remote + "\n");
  }
  return exit_ok;
}

int verify_remote_command(const RemoteRequest& request) {
  const std::string remote = checked(request.remote);
  const auto files = make_posix_file_system(Access::owner);
  const ScratchDirectory scratch(*files);
  const RemoteCheck check = check_remote(*files, remote, scratch.name(), request.reads);
  if (check.is_empty) throw user_error("there is no experiment on " + remote);
  if (request.json) {
    print_json({{"remote", remote},
                {"state_time", check.state ? Json(check.state->time) : Json()},
                {"checkpoints", check.checkpoints},
                {"bytes", check.bytes},
                {"without_marker", check.unmarked},
                {"damage", check.damage}});
  } else {
    std::vector<std::pair<std::string, std::string>> lines = {
        {"remote", remote},
        {"state", check.state ? "of " + format_time(check.state->time) + ", by host " +
                                    clean_text(check.state->host)
                              : "none that is whole"},
        {"checkpoints", count_of(check.checkpoints, "whole one") + ", " +
                            format_bytes(static_cast<double>(check.bytes)) +
                            (request.reads ? ", every byte read" : ", by their sizes")},
    };
    for (const auto& name : check.unmarked) lines.emplace_back("no marker", name);
    for (const auto& sentence : check.damage) lines.emplace_back("damaged", sentence);
    print_pairs(lines);
  }
  return check.damage.empty() ? exit_ok : exit_damaged;
}

TakenOver take_if_on_remote(const ExperimentSpec& spec, const std::filesystem::path& directory,
                            double lease_s) {
  if (spec.remote.path.empty()) return {};
  const auto files = make_posix_file_system(Access::owner);
  if (ExperimentStore::exists(*files, directory)) return {};
  const std::string remote = remote_below(spec.remote.path, spec.name);
  if (!is_experiment_there(*files, remote, ScratchDirectory(*files).name())) return {};
  const auto place = std::filesystem::absolute(directory).lexically_normal();
  auto interrupts = std::make_unique<InterruptsNoted>();
  acquire_lease(remote, place, lease_s);
  return {remote, place, std::move(interrupts)};
}

TakenOver take_from_remote(ResumeRequest& request, SpecSource& changes, double lease_s) {
  const std::string remote = checked(request.remote);
  // It is no field of the spec here.
  std::erase_if(changes.options, [](const auto& given) {
    return std::string_view(given.option->pointer) == "/remote/path";
  });
  const auto place = place_of(remote, request.directory);
  request.directory = place.native();
  TakenOver taken;
  if (!ExperimentStore::exists(*make_posix_file_system(), place)) {
    auto interrupts = std::make_unique<InterruptsNoted>();
    acquire_lease(remote, place, lease_s);
    taken = {remote, place, std::move(interrupts)};
  }
  const Json spec = ExperimentStore::read_spec(*make_posix_file_system(), place);
  const std::string name = spec.value("name", "");
  const auto recorded = spec.find("remote");
  const bool is_place_above =
      recorded != spec.end() && recorded->is_object() && recorded->value("path", "") == remote;
  if (!is_place_above && name != name_in(remote)) {
    throw user_error(place.native() + " holds the experiment " + name +
                     ", whose place on a remote ends with its name: --remote " +
                     remote_below(remote, name));
  }
  std::string above = is_place_above ? remote : remote.substr(0, remote.size() - name.size());
  while (above.size() > 1 && above.ends_with('/')) above.pop_back();
  changes.settings.push_back("remote/path=" + Json(above).dump());
  return taken;
}

}  // namespace tune
