#include "tests/bench/search_runs.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>

#include "tuner/base/error.h"
#include "tuner/run.h"

namespace tune::bench {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One of the catalogue's, told of what is asked of it.
class Ours {
 public:
  Ours(const Contestant& contestant, const SearchTask& task, int trials, int concurrency,
       std::uint64_t seed)
      : task_(task) {
    std::vector<Problem> problems;
    Json options = contestant.options;
    const auto prior = options.value("prior", "");
    options.erase("prior");
    const SearchSpace space = SearchSpace::parse(
        prior.empty() ? task.space() : task.space_with_priors(prior, seed), "", problems);
    ensure(problems.empty(), "the param space of a task is right");
    PolicyContext context{space, {{"loss", Mode::min}}, trials, seed};
    context.max_concurrent_trials = concurrency;
    const auto type = options.at("type").get<std::string>();
    options.erase("type");
    const Catalogue catalogue = built_in_catalogue();
    const auto found = catalogue.searchers.find(type);
    if (found == catalogue.searchers.end()) throw user_error("there is no searcher '" + type + "'");
    searcher_ = found->second(options, context);
  }

  /// The loss of the next config; nothing: there is none left.
  std::optional<double> ask(std::uint32_t id) {
    const Answer answer = searcher_->suggest(TrialId(id));
    const auto* const suggestion = std::get_if<Suggestion>(&answer);
    if (suggestion == nullptr) return std::nullopt;
    searcher_->on_trial_add(TrialId(id), suggestion->config.dump());
    return task_.loss(task_.values_of(suggestion->config));
  }
  void tell(std::uint32_t id, double loss) {
    if (std::isinf(loss)) {
      searcher_->on_trial_end(TrialId(id), {0, {}}, Ended::failed);
    } else {
      searcher_->on_trial_end(TrialId(id), {1, {-loss}}, Ended::complete);
    }
  }
  void tell_of(std::uint32_t id, const Json& config) {
    searcher_->on_trial_add(TrialId(id), config.dump());
    tell(id, task_.loss(task_.values_of(config)));
  }

 private:
  const SearchTask& task_;
  std::unique_ptr<Searcher> searcher_;
};

void take(SearchRun& run, double loss) {
  ++run.trials;
  if (!std::isfinite(loss)) {
    run.failed.push_back(run.trials);
    return;
  }
  if (run.best.empty() || loss < run.best.back().second) run.best.emplace_back(run.trials, loss);
}

std::string key_of(const std::string& sampler, const std::string& task, int concurrency,
                   std::uint64_t seed) {
  return sampler + " " + task + " " + std::to_string(concurrency) + " " + std::to_string(seed);
}

}  // namespace

double SearchRun::best_after(int n) const {
  double loss = std::numeric_limits<double>::infinity();
  for (const auto& [when, value] : best) {
    if (when <= n) loss = value;
  }
  return loss;
}

int SearchRun::failed_among_last(int n) const {
  return static_cast<int>(
      std::count_if(failed.begin(), failed.end(), [&](int i) { return i > trials - n; }));
}

SearchRun run_search(const Contestant& contestant, const SearchCase& one) {
  SearchRun run;
  Ours ours(contestant, *one.task, one.trials, one.concurrency, one.seed);
  const auto start = Clock::now();
  std::deque<std::pair<std::uint32_t, double>> running;
  bool is_exhausted = false;
  for (std::uint32_t next = 0;;) {
    while (!is_exhausted && std::ssize(running) < one.concurrency &&
           static_cast<int>(next) < one.trials) {
      const auto loss = ours.ask(next);
      if (loss) {
        running.emplace_back(next++, *loss);
      } else {
        is_exhausted = true;
      }
    }
    if (running.empty()) break;
    const auto [id, loss] = running.front();
    running.pop_front();
    ours.tell(id, loss);
    take(run, loss);
  }
  // What is exhausted has seen all there is.
  if (is_exhausted) run.trials = one.trials;
  run.seconds = seconds_since(start);
  return run;
}

std::vector<double> time_suggestions(const Contestant& contestant, const SearchTask& task,
                                     int observations, int suggestions) {
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(task.space(), "", problems);
  Ours ours(contestant, task, -1, 1, 1);
  Random random(1);
  auto id = static_cast<std::uint32_t>(observations);
  for (std::uint32_t i = 0; i < id; ++i) ours.tell_of(i, space.sample(0, random));
  std::vector<double> times;
  for (int i = 0; i < suggestions; ++i, ++id) {
    const auto start = Clock::now();
    const auto loss = ours.ask(id);
    ours.tell(id, loss.value_or(0));
    times.push_back(seconds_since(start) * 1e6);
  }
  return times;
}

Peer::Peer(const std::string& python) {
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, up[1], STDOUT_FILENO);
  std::string program = python, script = SEARCH_QUALITY_PEER;
  char* argv[] = {program.data(), script.data(), nullptr};
  const int error = ::posix_spawnp(&pid_, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(down[0]);
  ::close(up[1]);
  to_ = ::fdopen(down[1], "w");
  from_ = ::fdopen(up[0], "r");
  if (error != 0) throw std::runtime_error("cannot start " + python);
}

Peer::~Peer() {
  std::fclose(to_);
  std::fclose(from_);
  ::waitpid(pid_, nullptr, 0);
}

void Peer::send(const Json& message) {
  const std::string line = message.dump() + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), to_);
  std::fflush(to_);
}

Json Peer::receive() {
  std::string line;
  for (int c = 0; (c = std::fgetc(from_)) != EOF && c != '\n';) line += static_cast<char>(c);
  if (line.empty()) {
    throw std::runtime_error("the peer ended: is it installed? (pip install optuna cmaes torch)");
  }
  return Json::parse(line);
}

Json Peer::converse(const Json& order, const SearchTask& task,
                    const std::function<void(double)>& on_told) {
  send(order);
  while (true) {
    const Json message = receive();
    if (message.contains("done")) return message;
    if (message.contains("failed")) throw PeerFailed(message.at("failed").get<std::string>());
    if (message.contains("told")) {
      const Json& told = message.at("told");
      on_told(told.is_null() ? std::numeric_limits<double>::quiet_NaN() : told.get<double>());
      continue;
    }
    SearchValues values;
    for (const Json& value : message.at("ask")) {
      values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                       : value.get<double>());
    }
    send(task.loss(values));  // JSON has no number that is not finite: null
  }
}

SearchRun Peer::run(const std::string& sampler, const SearchCase& one) {
  SearchRun run;
  const Json done = converse({{"sampler", sampler},
                              {"params", one.task->params_json()},
                              {"seed", one.seed},
                              {"trials", one.trials},
                              {"concurrency", one.concurrency}},
                             *one.task, [&](double loss) { take(run, loss); });
  run.seconds = done.at("seconds");
  return run;
}

std::vector<double> Peer::time(const std::string& sampler, const SearchTask& task, int observations,
                               int suggestions) {
  const Json done = converse({{"sampler", sampler},
                              {"params", task.params_json()},
                              {"seed", 1},
                              {"observations", observations},
                              {"suggestions", suggestions}},
                             task, [](double) {});
  return done.at("microseconds").get<std::vector<double>>();
}

PeerResults::PeerResults(const std::filesystem::path& file) {
  if (file.empty()) return;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) continue;  // its writer was killed
    runs_[key_of(json.at("sampler"), json.at("task"), json.at("concurrency"), json.at("seed"))] = {
        json.at("best").get<std::vector<std::pair<int, double>>>(), json.at("trials"),
        json.at("seconds")};
  }
  out_.open(file, std::ios::app);
  if (!out_) throw std::runtime_error("cannot write " + file.string());
}

std::optional<SearchRun> PeerResults::find(const std::string& sampler,
                                           const SearchCase& one) const {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(key_of(sampler, one.task->name, one.concurrency, one.seed));
  if (found == runs_.end() || found->second.trials < one.trials) return std::nullopt;
  return found->second;
}

void PeerResults::add(const std::string& sampler, const SearchCase& one, const SearchRun& run) {
  const std::lock_guard lock(mutex_);
  runs_[key_of(sampler, one.task->name, one.concurrency, one.seed)] = run;
  if (!out_.is_open()) return;
  out_ << Json{{"sampler", sampler},    {"task", one.task->name}, {"concurrency", one.concurrency},
               {"seed", one.seed},      {"trials", run.trials},   {"best", run.best},
               {"seconds", run.seconds}}
              .dump()
       << "\n"
       << std::flush;
}

}  // namespace tune::bench
