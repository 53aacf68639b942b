// Rules from an option's name, type, default and range to a proposed domain.
#include "tuner/init_from/domain_guess.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "tuner/base/json_text.h"

namespace tune {

namespace {

using Tokens = std::vector<std::string>;

/// "per_device-trainBatch" as per, device, trainbatch.
Tokens tokens_of(const std::string& name) {
  Tokens tokens(1);
  for (const char c : name) {
    if (c == '_' || c == '-' || c == '.') {
      tokens.emplace_back();
    } else {
      tokens.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return tokens;
}

bool has_any(const Tokens& tokens, const std::set<std::string>& words) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const std::string& token) { return words.contains(token); });
}

/// Whether `first` is followed by `second`, or both are one word.
bool has_pair(const Tokens& tokens, const std::string& first, const std::string& second) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == first + second) return true;
    if (i > 0 && tokens[i - 1] == first && tokens[i] == second) return true;
  }
  return false;
}

// What a name says

bool is_learning_rate(const Tokens& tokens) {
  static const std::set<std::string> names = {"lr", "eta", "alpha"};
  if (has_pair(tokens, "learning", "rate")) return tokens.back().ends_with("rate");
  return tokens.back() == "lr" || (tokens.size() == 1 && names.contains(tokens.front()));
}

/// Strengths of which the order of magnitude counts.
bool is_on_log_scale(const Tokens& tokens) {
  static const std::set<std::string> words = {"wd",      "l1",  "l2",      "reg",
                                              "lambda",  "eps", "epsilon", "regularization",
                                              "penalty", "lr",  "c",       "tol"};
  return has_any(tokens, words) || has_pair(tokens, "weight", "decay") ||
         has_pair(tokens, "learning", "rate");
}

bool is_share(const Tokens& tokens) {
  static const std::set<std::string> words = {
      "dropout", "drop",        "momentum",  "beta",      "beta1", "beta2",     "gamma",
      "prob",    "probability", "ratio",     "fraction",  "frac",  "smoothing", "mixup",
      "cutmix",  "ema",         "subsample", "colsample", "tau",   "rho",       "p"};
  return has_any(tokens, words) || tokens.front().starts_with("colsample");
}

/// Of these a share is meant also where no default says so.
bool is_share_for_sure(const Tokens& tokens) {
  static const std::set<std::string> words = {"dropout",     "drop",      "momentum",  "beta1",
                                              "beta2",       "smoothing", "subsample", "prob",
                                              "probability", "fraction"};
  return has_any(tokens, words) || tokens.front().starts_with("colsample");
}

bool is_size(const Tokens& tokens) {
  static const std::set<std::string> words = {
      "batch", "batchsize", "hidden",   "units",   "dim",     "width", "channels",
      "embed", "embedding", "features", "neurons", "filters", "bs"};
  return has_any(tokens, words) || has_pair(tokens, "batch", "size");
}

/// How many of something: what to try where no default is known.
struct Count {
  std::set<std::string> words;
  const char* domain;
};

const Count* count_named(const Tokens& tokens) {
  static const std::vector<Count> counts = {
      {{"layers", "layer", "depth", "heads", "blocks"}, R"({"randint": [1, 9]})"},
      {{"epochs", "epoch"}, R"({"randint": [5, 51]})"},
      {{"estimators", "trees", "rounds", "boost"}, R"({"lograndint": [50, 1001]})"},
      {{"leaves"}, R"({"lograndint": [8, 257]})"},
  };
  for (const Count& count : counts) {
    if (has_any(tokens, count.words)) return &count;
  }
  return nullptr;
}

bool is_no_hyperparameter(const Tokens& tokens) {
  static const std::set<std::string> words = {
      "seed",       "log",         "logs",       "logging",
      "v",          "kwargs",      "args",       "multiprocessing",
      "dataloader", "do",          "load",       "remove",
      "skip",       "columns",     "verbose",    "verbosity",
      "quiet",      "silent",      "print",      "debug",
      "dir",        "directory",   "path",       "paths",
      "file",       "files",       "filename",   "folder",
      "root",       "save",        "saving",     "saved",
      "checkpoint", "checkpoints", "ckpt",       "resume",
      "data",       "dataset",     "datasets",   "port",
      "host",       "addr",        "address",    "url",
      "worker",     "workers",     "thread",     "threads",
      "nthread",    "proc",        "procs",      "process",
      "processes",  "jobs",        "device",     "devices",
      "gpu",        "gpus",        "cuda",       "cpu",
      "cpus",       "tpu",         "mps",        "accelerator",
      "accel",      "rank",        "world",      "node",
      "nodes",      "master",      "dist",       "distributed",
      "ddp",        "fsdp",        "deepspeed",  "backend",
      "interval",   "freq",        "frequency",  "every",
      "eval",       "evaluation",  "evaluate",   "test",
      "testing",    "report",      "hub",        "token",
      "wandb",      "tensorboard", "project",    "entity",
      "name",       "tag",         "notes",      "run",
      "runs",       "exp",         "experiment", "id",
      "config",     "conf",        "cfg",        "version",
      "help",       "cache",       "timeout",    "prefetch",
      "pin",        "download",    "push",       "repo",
      "profile",    "profiler",    "env",        "compile",
      "telemetry",  "dry",         "list",       "show",
      "plot",       "display",     "progress",   "color",
      "colour",     "format",      "flagfile",   "metric",
      "outdir",     "workdir",     "logdir",     "savedir",
      "overwrite",  "force",       "split",      "sleep"};
  static const std::set<std::string> ambiguous = {"out", "output", "input"};
  if (has_pair(tokens, "per", "device")) return has_any(tokens, {"eval", "test"});
  return has_any(tokens, words) || (has_any(tokens, ambiguous) && !is_size(tokens));
}

bool is_directory(const Tokens& tokens) {
  static const std::set<std::string> alone = {"out",     "output", "save",    "outdir",
                                              "workdir", "logdir", "savedir", "checkpoints"};
  static const std::set<std::string> what = {
      "out",     "output",  "save",   "checkpoint", "checkpoints", "ckpt", "log",        "logs",
      "logging", "results", "result", "work",       "run",         "exp",  "experiment", "model"};
  static const std::set<std::string> where = {"dir", "directory", "path", "folder", "root"};
  if (tokens.size() == 1) return alone.contains(tokens.front());
  return has_any(tokens, what) && has_any(tokens, where);
}

// Domains

/// As people write it, with at most six digits.
std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// Before it is text, so that the program's own range can narrow it.
struct Range {
  const char* kind;  ///< the domain's name
  double lower;
  double upper;  ///< of "randint" and "lograndint" included here
};

/// Of these a share of 1 leaves nothing to train with.
bool leaves_out(const Tokens& tokens) { return has_any(tokens, {"dropout", "drop", "droprate"}); }

/// A share of which nothing else is known.
Range any_share(const Tokens& tokens) {
  constexpr double most_left_out = 0.9;
  return {"uniform", 0, leaves_out(tokens) ? most_left_out : 1};
}

bool is_integer_kind(const Range& range) {
  return std::string_view(range.kind).ends_with("randint");
}

std::string text_of(const Range& range) {
  const double upper = is_integer_kind(range) ? range.upper + 1 : range.upper;
  return std::string("{\"") + range.kind + "\": [" + number_text(range.lower) + ", " +
         number_text(upper) + "]}";
}

std::string narrowed_text(Range range, const HelpOption& option) {
  const bool is_log = std::string_view(range.kind).starts_with("log");
  if (option.lower && (!is_log || *option.lower > 0)) {
    range.lower = std::max(range.lower, *option.lower);
  }
  if (option.upper) range.upper = std::min(range.upper, *option.upper);
  if (is_integer_kind(range)) {
    range.lower = std::ceil(range.lower);
    range.upper = std::floor(range.upper);
  }
  // Six digits of a large number are not that number.
  constexpr double largest = 1e6;
  if (is_integer_kind(range) && (range.upper >= largest || range.lower <= -largest)) return {};
  if (!(range.lower < range.upper) || (is_log && range.lower <= 0)) return {};
  if (number_text(range.lower) == number_text(range.upper)) return {};
  return text_of(range);
}

std::string choice_text(const std::vector<std::string>& items) {
  std::string text = "{\"choice\": [";
  for (const std::string& item : items) {
    text += (&item == &items.front() ? "" : ", ") + item;
  }
  return text + "]}";
}

std::string powers_of_two(std::int64_t middle, const HelpOption& option) {
  std::vector<std::string> items;
  for (const std::int64_t value : {middle / 4, middle / 2, middle, middle * 2, middle * 4}) {
    const auto number = static_cast<double>(value);
    if (value < 1 || (option.lower && number < *option.lower) ||
        (option.upper && number > *option.upper)) {
      continue;
    }
    items.push_back(std::to_string(value));
  }
  return items.size() < 2 ? std::string() : choice_text(items);
}

std::string choices_text(const std::vector<std::string>& choices) {
  constexpr std::size_t most_choices = 24;
  if (choices.size() < 2 || choices.size() > most_choices) return {};
  const bool are_numbers = std::all_of(choices.begin(), choices.end(), [](const auto& choice) {
    // What JSON writes otherwise (05, .5) stays text, so that the program gets what it asks for.
    const auto number = number_in(choice);
    return number && number_text(*number) == choice;
  });
  std::vector<std::string> items;
  for (const std::string& choice : choices) {
    std::string item;
    if (are_numbers) {
      item = choice;
    } else if (choice == "true" || choice == "false") {
      item = choice;
    } else {
      append_string(item, choice);
    }
    items.push_back(item);
  }
  return choice_text(items);
}

/// What such an option may be where no default is known.
std::string usual_whole_numbers(const Tokens& tokens, const HelpOption& option) {
  if (option.lower && option.upper) {
    return narrowed_text({"randint", *option.lower, *option.upper}, option);
  }
  if (is_size(tokens)) return powers_of_two(64, option);
  if (const Count* const count = count_named(tokens)) return count->domain;
  return option.type == ValueType::integer ? narrowed_text({"randint", 1, 10}, option) : "";
}

std::string whole_numbers_around(double middle, const Tokens& tokens, const HelpOption& option) {
  constexpr double largest = 1e6;
  // Below 0 are words in disguise: -1 for all, or for none.
  if (middle < 0 || middle > largest) return {};
  const auto whole = static_cast<std::int64_t>(middle);
  const bool is_power = whole > 0 && (whole & (whole - 1)) == 0;
  if (is_power && (whole >= 16 || (is_size(tokens) && whole >= 4))) {
    return powers_of_two(whole, option);
  }
  constexpr std::int64_t many = 50;
  constexpr std::int64_t few = 8;
  if (whole == 0) return narrowed_text({"randint", 0, 10}, option);
  if (whole >= many) {
    return narrowed_text({"lograndint", std::floor(middle / 4), middle * 4}, option);
  }
  if (whole > few) {
    return narrowed_text({"randint", std::floor(middle / 2), middle * 2}, option);
  }
  return narrowed_text({"randint", 1, std::max(4.0, middle * 2)}, option);
}

/// The same for real numbers; `is_log`: their order of magnitude counts.
std::string usual_real_numbers(const Tokens& tokens, bool is_log, const HelpOption& option) {
  if (is_learning_rate(tokens)) return narrowed_text({"loguniform", 1e-5, 1e-1}, option);
  if (is_log) return narrowed_text({"loguniform", 1e-6, 1e-2}, option);
  if (option.lower && option.upper) {
    return narrowed_text({"uniform", *option.lower, *option.upper}, option);
  }
  const bool is_known = is_share_for_sure(tokens) || option.type == ValueType::real;
  return is_known ? narrowed_text(any_share(tokens), option) : "";
}

std::string real_numbers_around(double middle, const Tokens& tokens, const HelpOption& option) {
  constexpr double tiny = 1e-2;
  constexpr double nearly_one = 0.99;
  const bool is_log = is_learning_rate(tokens) || is_on_log_scale(tokens);
  if (is_log && middle <= 0) return usual_real_numbers(tokens, is_log, option);
  if (is_log) {
    const double width = is_learning_rate(tokens) ? 10 : 100;
    return narrowed_text({"loguniform", middle / width, middle * width}, option);
  }
  if (is_share(tokens) && middle >= nearly_one && middle < 1) {
    return narrowed_text({"uniform", 0.9, 1}, option);
  }
  if (is_share(tokens) && middle >= 0 && middle <= 1) {
    return narrowed_text(any_share(tokens), option);
  }
  if (middle < 0) return narrowed_text({"uniform", middle * 2, 0}, option);
  if (middle > 0 && middle <= tiny) {
    return narrowed_text({"loguniform", middle / 10, middle * 10}, option);
  }
  if (middle < 1) return narrowed_text({"uniform", 0, 1}, option);
  return narrowed_text({"uniform", middle / 2, middle * 2}, option);
}

/// Whether whole numbers are meant: as the help says, or as the default is written.
bool is_whole(const Tokens& tokens, const HelpOption& option) {
  if (option.type != ValueType::unknown) return option.type == ValueType::integer;
  if (is_learning_rate(tokens) || is_on_log_scale(tokens)) return false;
  if (!option.default_value) return is_size(tokens) || count_named(tokens) != nullptr;
  // "--momentum 0" is a real number all the same.
  const auto value = number_in(*option.default_value);
  if (value && is_share(tokens) && *value <= 1) return false;
  if (!value) return is_size(tokens) || count_named(tokens) != nullptr;
  return option.default_value->find_first_of(".eE") == std::string::npos;
}

bool is_boolean_word(const std::string& text) {
  static const std::set<std::string> words = {"True", "False", "true", "false"};
  return words.contains(text);
}

}  // namespace

DomainGuess guess_domain(const HelpOption& option) {
  const std::string& first = option.names.front();
  const std::string without_hyphens =
      first.substr(std::min(first.find_first_not_of('-'), first.size()));
  const Tokens tokens =
      tokens_of(name_for_args(option, OptionForm::two_hyphens).value_or(without_hyphens));
  if (!option.takes_value) {
    if (is_no_hyperparameter(tokens)) return {OptionRole::other, ""};
    return {OptionRole::flag, R"({"choice": [false, true]})"};
  }
  if (option.choices.empty() && is_directory(tokens)) return {OptionRole::directory, ""};
  if (is_no_hyperparameter(tokens)) return {OptionRole::other, ""};
  if (option.takes_several) return {OptionRole::unknown, ""};
  DomainGuess guess{OptionRole::hyperparameter, ""};
  const bool is_boolean = option.type == ValueType::boolean ||
                          (option.default_value && is_boolean_word(*option.default_value));
  const double middle = number_in(option.default_value.value_or("")).value_or(NAN);
  const bool is_number = !std::isnan(middle);
  const bool is_text = option.default_value && !is_number && *option.default_value != "None" &&
                       option.type == ValueType::unknown;
  if (!option.choices.empty()) {
    guess.domain = choices_text(option.choices);
  } else if (is_boolean) {
    guess.domain = R"({"choice": [false, true]})";
  } else if (is_text) {
    guess.domain.clear();
  } else if (is_whole(tokens, option)) {
    guess.domain = is_number ? whole_numbers_around(middle, tokens, option)
                             : usual_whole_numbers(tokens, option);
  } else {
    guess.domain = is_number ? real_numbers_around(middle, tokens, option)
                             : usual_real_numbers(tokens, is_on_log_scale(tokens), option);
    if (is_learning_rate(tokens)) guess.role = OptionRole::learning_rate;
  }
  if (guess.domain.empty()) guess.role = OptionRole::unknown;
  return guess;
}

}  // namespace tune
