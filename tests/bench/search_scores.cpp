#include "tests/bench/search_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace tune::bench {

namespace {

std::string text_of(const Score& score) {
  if (score.seeds == 0) return "";
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.3f ±%.3f", score.mean, score.error);
  return buffer;
}

/// Of several tasks.
Score mean_of(const std::vector<Score>& scores) {
  Score all{0, 0, std::numeric_limits<std::size_t>::max()};
  double squares = 0;
  for (const Score& score : scores) {
    all.mean += score.mean / static_cast<double>(scores.size());
    squares += score.error * score.error;
    all.seeds = std::min(all.seeds, score.seeds);
  }
  all.error = std::sqrt(squares) / static_cast<double>(scores.size());
  return all;
}

/// Which of the peer's samplers does what one of our searchers does.
std::string rival_of(const Contestant& contestant) {
  if (contestant.is_peer()) return "";
  const auto type = contestant.options.at("type").get<std::string>();
  if (type == "tpe") return "optuna-tpe";
  if (type == "gp") return "optuna-gp";
  if (type == "cma_es") return "optuna-cma";
  return "";
}

/// Letters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string short_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, std::abs(value) >= 100 ? "%.0f" : "%.3g", value);
  return buffer;
}

void print_table(std::ostream& out, const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 3);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      out << "| " << lines[l][i] << std::string(widths[i] - width_of(lines[l][i]) + 1, ' ');
    }
    out << "|\n";
    if (l > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      out << "| " << std::string(widths[i] - 1, '-') << (i == 0 ? "- " : ": ");
    }
    out << "|\n";
  }
  out << "\n";
}

Scores::Scores(std::vector<const SearchTask*> tasks, std::vector<Contestant> contestants)
    : tasks_(std::move(tasks)), contestants_(std::move(contestants)) {
  for (const SearchTask* const task : tasks_) losses_[task->name] = reference_losses(*task);
}

void Scores::add(const std::string& contestant, const SearchCase& one, SearchRun run) {
  runs_[{one.task->name, contestant, one.concurrency}].push_back({one.seed, std::move(run)});
}

double Scores::random_best(const std::string& task, int n) const {
  const auto [entry, is_new] = random_bests_.try_emplace({task, n}, 0);
  if (is_new) entry->second = expected_best(losses_.at(task), n);
  return entry->second;
}

double Scores::regret(const std::string& task, const SearchRun& run, int n) const {
  const auto place = std::find_if(tasks_.begin(), tasks_.end(),
                                  [&](const SearchTask* one) { return one->name == task; });
  const double optimum = (*place)->optimum;
  return (run.best_after(n) - optimum) / (random_best(task, n) - optimum);
}

Score Scores::score(const std::string& task, const std::string& contestant, int concurrency,
                    int trials) const {
  const auto found = runs_.find({task, contestant, concurrency});
  if (found == runs_.end()) return {};
  std::vector<double> regrets;
  for (const Seeded& one : found->second) {
    if (one.run.trials >= trials) regrets.push_back(regret(task, one.run, trials));
  }
  const auto n = static_cast<double>(regrets.size());
  Score score{0, 0, regrets.size()};
  for (const double value : regrets) score.mean += value / n;
  double squares = 0;
  for (const double value : regrets) squares += (value - score.mean) * (value - score.mean);
  if (n > 1) score.error = std::sqrt(squares / (n - 1) / n);
  return score;
}

void Scores::print(std::ostream& out, int concurrency, int trials) const {
  out << "### " << trials << " trials, "
      << (concurrency == 1 ? "one after the other" : std::to_string(concurrency) + " at once")
      << "\n\n";
  print_tasks(out, concurrency, trials);
  print_summary(out, concurrency, trials);
  print_pairs(out, concurrency, trials);
}

void Scores::print_tasks(std::ostream& out, int concurrency, int trials) const {
  std::vector<std::vector<std::string>> lines{{"task", "optimum", "random search"}};
  for (const Contestant& one : contestants_) lines[0].push_back(one.name);
  for (const SearchTask* const task : tasks_) {
    lines.push_back(
        {task->name, short_number(task->optimum), short_number(random_best(task->name, trials))});
    for (const Contestant& one : contestants_) {
      lines.back().push_back(text_of(score(task->name, one.name, concurrency, trials)));
    }
  }
  print_table(out, lines);
}

void Scores::print_summary(std::ostream& out, int concurrency, int trials) const {
  // Ranks are of tasks that all contestants have.
  std::map<std::string, double> ranks, leading;
  double ranked = 0;
  for (const SearchTask* const task : tasks_) {
    std::vector<Score> all;
    for (const Contestant& one : contestants_) {
      all.push_back(score(task->name, one.name, concurrency, trials));
    }
    if (std::any_of(all.begin(), all.end(), [](const Score& one) { return one.seeds == 0; })) {
      continue;
    }
    ++ranked;
    for (std::size_t i = 0; i < all.size(); ++i) {
      double rank = 1;
      for (const Score& other : all) {
        if (&other != &all[i] && other.mean <= all[i].mean) {
          rank += other.mean < all[i].mean ? 1 : 0.5;
        }
      }
      ranks[contestants_[i].name] += rank;
      leading[contestants_[i].name] += rank <= 2 ? 1 : 0;
    }
  }
  std::vector<std::vector<std::string>> lines{
      {"searcher", "tasks", "seeds", "mean regret", "mean rank", "first or second"}};
  for (const Contestant& one : contestants_) {
    std::vector<Score> scores;
    for (const SearchTask* const task : tasks_) {
      const Score here = score(task->name, one.name, concurrency, trials);
      if (here.seeds > 0) scores.push_back(here);
    }
    if (scores.empty()) continue;
    const Score mean = mean_of(scores);
    lines.push_back(
        {one.name, std::to_string(scores.size()), std::to_string(mean.seeds), text_of(mean),
         ranked > 0 ? short_number(ranks[one.name] / ranked) : "",
         ranked > 0 ? short_number(leading[one.name]) + " of " + short_number(ranked) : ""});
  }
  print_table(out, lines);
}

void Scores::print_pairs(std::ostream& out, int concurrency, int trials) const {
  std::vector<std::vector<std::string>> lines{{"ours", "peer", "tasks", "not worse on",
                                               "clearly better", "clearly worse", "mean regret",
                                               "peer's"}};
  for (const Contestant& one : contestants_) {
    const std::string rival = rival_of(one);
    std::vector<Score> ours, peers;
    int not_worse = 0, better = 0, worse = 0;
    for (const SearchTask* const task : tasks_) {
      const Score a = score(task->name, one.name, concurrency, trials);
      const Score b = score(task->name, rival, concurrency, trials);
      if (a.seeds == 0 || b.seeds == 0) continue;
      ours.push_back(a);
      peers.push_back(b);
      not_worse += a.mean <= b.mean ? 1 : 0;
      const double clear = 2 * std::hypot(a.error, b.error);
      better += a.mean < b.mean - clear ? 1 : 0;
      worse += a.mean > b.mean + clear ? 1 : 0;
    }
    if (ours.empty()) continue;
    lines.push_back({one.name, rival, std::to_string(ours.size()), std::to_string(not_worse),
                     std::to_string(better), std::to_string(worse), text_of(mean_of(ours)),
                     text_of(mean_of(peers))});
  }
  if (lines.size() > 1) print_table(out, lines);
}

Json Scores::to_json(const std::vector<int>& budgets) const {
  Json all = Json::array();
  for (const auto& [key, seeded] : runs_) {
    for (const Seeded& one : seeded) {
      const auto& [task, contestant, concurrency] = key;
      Json json = {{"task", task},         {"searcher", contestant},
                   {"seed", one.seed},     {"concurrency", concurrency},
                   {"best", one.run.best}, {"seconds", one.run.seconds}};
      for (const int budget : budgets) {
        if (one.run.trials < budget) continue;
        json["regret"][std::to_string(budget)] = regret(task, one.run, budget);
      }
      all.push_back(std::move(json));
    }
  }
  return all;
}

}  // namespace tune::bench
