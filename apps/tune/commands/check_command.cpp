// `tune check`: a driver that plays with one trainable. Writes only below the temporary directory.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>

#include "apps/tune/check_plain.h"
#include "apps/tune/commands.h"
#include "apps/tune/first_configs.h"
#include "apps/tune/output.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/quoted.h"
#include "tuner/check/check.h"
#include "tuner/plugins.h"

namespace tune {

namespace {

/// With less free than this, whatever fails may have failed for want of room.
constexpr std::uint64_t too_little_bytes = 16 << 20;

std::filesystem::path new_directory() {
  std::error_code error;
  const auto temporary = std::filesystem::temp_directory_path(error);
  if (error) {
    throw user_error("the directory for temporary files, which TMPDIR names, is not there: " +
                     error.message());
  }
  std::string name = (temporary / "tune-check-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw machine_error("cannot make a directory " + name + ": " + std::strerror(errno));
  }
  return std::filesystem::canonical(name);
}

std::uint64_t free_bytes(const std::filesystem::path& directory) {
  std::error_code error;
  const auto space = std::filesystem::space(directory, error);
  return error ? std::numeric_limits<std::uint64_t>::max() : space.available;
}

/// What a full disk does to a trainable is not to be said of the trainable.
void require_space(const std::filesystem::path& directory, std::uint64_t wanted) {
  const std::uint64_t free = free_bytes(directory);
  if (free >= wanted) return;
  throw machine_error("only " + format_bytes(static_cast<double>(free)) + " are free in " +
                      directory.native() + ", and " + format_bytes(static_cast<double>(wanted)) +
                      " are wanted for what the program saves: make room, set TMPDIR to another "
                      "place, or give a smaller --min-free-bytes");
}

/// Removes the directory of a check that a signal ends, and ends it by that signal.
class EndBySignal {
 public:
  explicit EndBySignal(std::filesystem::path directory) : directory_(std::move(directory)) {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals_, signal);
    // Here, so that all threads to come block them too.
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::thread([this] { wait(); }).detach();
  }

  /// Does not return once a signal has come: what fails without the directory is no news.
  void give_way() const {
    while (has_come_) ::pause();
  }

 private:
  [[noreturn]] void wait() {
    int signal = 0;
    while (::sigwait(&signals_, &signal) != 0) {
    }
    has_come_ = true;
    if (!directory_.empty()) remove_directory();
    ::signal(signal, SIG_DFL);
    ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    ::raise(signal);
    std::_Exit(exit_interrupted);
  }

  /// Its processes end with this one, and may be writing there until then: so until it stays away.
  void remove_directory() const {
    constexpr int most_looks = 100;
    constexpr std::chrono::milliseconds look_period{10};
    for (int view = 0; view < most_looks; ++view) {
      std::error_code failed;
      const bool was_gone = std::filesystem::remove_all(directory_, failed) == 0 && !failed;
      if (was_gone) return;
      std::this_thread::sleep_for(look_period);
    }
  }

  const std::filesystem::path directory_;
  sigset_t signals_{};
  std::atomic<bool> has_come_ = false;
};

Json parse_config(const std::string& text) {
  Json config = parse_shallow(text);
  if (!config.is_object())
    throw user_error("--config must be a JSON object, got " + as_quoted(text));
  return config;
}

/// The config of its trials, and another one that its space has, if there is one.
void choose_configs(const ExperimentSpec& spec, const Catalogue& catalogue,
                    const std::string& given, CheckOptions& options) {
  constexpr std::uint32_t enough = 8;
  auto drawn = first_configs(spec, catalogue, 1).configs;
  if (!given.empty()) {
    options.config = parse_config(given);
  } else {
    options.config = drawn.empty() ? Json::object() : drawn.front();
  }
  // However few trials the search is to have.
  ExperimentSpec many = spec;
  many.num_samples = enough;
  many.searcher = {{"type", "random"}};
  drawn = first_configs(many, catalogue, enough).configs;
  const auto names_of = [](const Json& config) {
    std::vector<std::string> names;
    for (const auto& [name, value] : config.items()) names.push_back(name);
    return names;
  };
  for (Json& config : drawn) {
    // The state of a generator belongs in the checkpoint, and its seed matters at the start alone.
    for (const auto& [name, value] : options.config.items()) {
      if (name.find("seed") != name.npos && config.contains(name)) config[name] = value;
    }
    const bool is_other = config != options.config && names_of(config) == names_of(options.config);
    if (is_other && !options.other) options.other = config;
  }
}

const char* word(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::holds:
      return "holds";
    case Verdict::Kind::fails:
      return "FAILS";
    case Verdict::Kind::unknown:
      return "?";
  }
  return "";
}

void print_verdict(const Verdict& verdict, bool json) {
  if (json) {
    const bool is_unknown = verdict.kind == Verdict::Kind::unknown;
    const bool holds = verdict.kind == Verdict::Kind::holds;
    print_data(Json{{"claim", verdict.claim},
                    {"verdict", is_unknown ? "unknown"
                                : holds    ? "holds"
                                           : "fails"},
                    {"why", verdict.why},
                    {"took_s", verdict.took_s}}
                   .dump(-1, ' ', false, Json::error_handler_t::replace) +
               "\n");
    return;
  }
  std::string text = word(verdict.kind);
  text.resize(7, ' ');
  text += verdict.claim;
  if (!verdict.why.empty()) text += ":\n       " + verdict.why;
  print(text + "\n");
}

}  // namespace

int check_command(const SpecSource& source, const CheckRequest& request) {
  if (!std::isfinite(request.timeout_s) || !std::isfinite(request.tolerance)) {
    throw user_error("--timeout and --tolerance must be numbers");
  }
  const SpecDocument document = assemble_spec(source);
  const Catalogue catalogue = catalogue_with(plugins_of(document));
  const auto spec = check_spec(document, catalogue);
  if (!spec) return exit_bad_input;
  CheckOptions options;
  choose_configs(*spec, catalogue, request.config, options);
  for (const char* const option : {"hyperparam_mutations", "hyperparam_bounds"}) {
    const Json mutations = spec->scheduler.value(option, Json::object());
    for (const auto& [name, how] : mutations.items()) options.mutated.insert(name);
  }
  options.iterations = request.iterations;
  options.tolerance = request.tolerance;
  options.answer_s = request.timeout_s;
  options.directory = new_directory();
  const std::uint64_t wanted = spec->min_free_bytes;
  try {
    require_space(options.directory, wanted);
  } catch (const Error&) {
    std::filesystem::remove(options.directory);
    throw;
  }
  // For as long as the program: it waits for signals that come at any time.
  static const EndBySignal end(request.keep ? std::filesystem::path() : options.directory);
  if (!request.json) {
    print("config " + options.config.dump() + "\n");
  }
  int holding = 0, failing = 0, unknown = 0;
  try {
    const auto tell = [&](const Verdict& verdict) {
      end.give_way();
      if (verdict.kind == Verdict::Kind::fails) {
        require_space(options.directory, std::min(wanted, too_little_bytes));
      }
      print_verdict(verdict, request.json);
      holding += verdict.kind == Verdict::Kind::holds ? 1 : 0;
      failing += verdict.kind == Verdict::Kind::fails ? 1 : 0;
      unknown += verdict.kind == Verdict::Kind::unknown ? 1 : 0;
    };
    if (spec->plain) {
      check_plain_program(*spec, catalogue, options, tell);
    } else {
      check_trainable(*spec, options, tell);
    }
  } catch (...) {
    end.give_way();
    throw;
  }
  end.give_way();
  if (!request.json) {
    print(count_of(failing, "failure") + ", " + std::to_string(holding) + " hold, " +
          std::to_string(unknown) + " cannot be told\n");
  }
  if (failing == 0 && !request.keep) {
    std::error_code ignored;
    std::filesystem::remove_all(options.directory, ignored);
  } else if (!request.json) {
    print("the logs are in " + options.directory.native() + "/trial_*\n");
  }
  return failing == 0 ? exit_ok : exit_trials_failed;
}

}  // namespace tune
