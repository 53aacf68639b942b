// Patterns are RE2's, because those take linear time and bounded memory whatever a program prints.
#include "tuner/model/failure_rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

namespace {

struct KnownPattern {
  const char* name;
  const char* pattern;
};

constexpr KnownPattern known_patterns[] = {
    {"out_of_memory",
     R"(MemoryError\b|std::bad_alloc|CUDA out of memory|HIP out of memory|CUDA error: out of memory)"
     R"(|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|OutOfMemoryError)"
     R"(|RESOURCE_EXHAUSTED: Out of memory|OOM when allocating tensor)"},
    {"lost_device",
     R"(CUDA error: (no CUDA-capable device|uncorrectable ECC|unspecified launch failure))"
     R"(|CUDA error: (CUDA-capable device\(s\) is/are busy|system not yet initialized|unknown error))"
     R"(|CUDA_ERROR_(NO_DEVICE|ECC_UNCORRECTABLE|DEVICE_UNAVAILABLE|LAUNCH_FAILED|UNKNOWN)\b)"
     R"(|\bXid\b|fallen off the bus|GPU is lost|uncorrectable ECC error|uncorrectable NVLink error)"},
};

/// What programs say of a file system that is full or gone.
constexpr const char* lost_storage =
    R"(No space left on device|Disk quota exceeded|Read-only file system|Stale (NFS )?file handle)"
    R"(|Input/output error|Transport endpoint is not connected|Remote I/O error)";

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

std::unique_ptr<RE2> compile_pattern(const std::string& pattern) {
  return std::make_unique<RE2>("(?m)" + pattern, options());
}

/// `text` for the middle of a sentence: one line, not long.
std::string excerpt(std::string text) {
  constexpr std::size_t longest_bytes = 120;
  text = text.substr(0, text.find('\n'));
  if (text.size() <= longest_bytes) return text;
  std::size_t end = longest_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::string kind_of_failure(const std::string& reason) {
  std::string kind = reason.substr(0, reason.find('\n'));
  kind.resize(std::min(kind.size(), kind.find("; see ")));
  std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
  return kind;
}

struct FailureJudge::Compiled {
  FailureRule rule;
  std::unique_ptr<RE2> pattern;

  /// What matched, for a sentence; nothing if the rule does not fit.
  std::optional<std::string> match(const FailureFacts& facts) const {
    std::string matched;
    const auto add = [&matched](const std::string& what) {
      matched += (matched.empty() ? "" : " and ") + what;
    };
    if (rule.exit_code) {
      if (facts.exit_code != rule.exit_code) return std::nullopt;
      add("exit code " + std::to_string(*rule.exit_code));
    }
    if (rule.signal) {
      if (facts.signal != rule.signal) return std::nullopt;
      add("signal " + std::to_string(*rule.signal));
    }
    if (pattern != nullptr) {
      re2::StringPiece found;
      const re2::StringPiece text(facts.said);
      if (!pattern->Match(text, 0, text.size(), RE2::UNANCHORED, &found, 1)) return std::nullopt;
      add("'" + excerpt(std::string(found)) + "'");
    }
    return matched;
  }
};

const std::vector<std::string>& failure_rule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& known : known_patterns) all.emplace_back(known.name);
    return all;
  }();
  return names;
}

std::string complaint_about_pattern(const std::string& pattern) {
  const auto compiled = compile_pattern(pattern);
  return compiled->ok() ? "" : compiled->error();
}

FailureJudge::FailureJudge(const std::optional<std::vector<FailureRule>>& retry_on,
                           const std::vector<FailureRule>& never_retry_on)
    : never_retry_on_(compile(never_retry_on)),
      of_config_(compile({{.name = "out_of_memory"}})),
      of_machine_(compile({{.name = "lost_device"}, {.stderr_pattern = lost_storage}})) {
  if (retry_on) retry_on_ = compile(*retry_on);
}

FailureJudge::~FailureJudge() = default;

std::vector<FailureJudge::Compiled> FailureJudge::compile(const std::vector<FailureRule>& rules) {
  std::vector<Compiled> compiled;
  for (const FailureRule& rule : rules) {
    std::optional<std::string> text = rule.stderr_pattern;
    for (const auto& known : known_patterns) {
      if (rule.name == known.name) text = known.pattern;
    }
    compiled.push_back({rule, text ? compile_pattern(*text) : nullptr});
    ensure(!text || compiled.back().pattern->ok(), "patterns are checked when the spec is read");
  }
  return compiled;
}

/// The first rule of never_retry_on that fits.
std::optional<std::string> FailureJudge::never(const FailureFacts& facts) const {
  for (std::size_t i = 0; i < never_retry_on_.size(); ++i) {
    const Compiled& never = never_retry_on_[i];
    const auto matched = never.match(facts);
    if (!matched) continue;
    const std::string name = never.rule.name.empty() ? "" : " (" + never.rule.name + ")";
    return "/failure_config/never_retry_on/" + std::to_string(i) + name + " matched " + *matched;
  }
  return std::nullopt;
}

Blame FailureJudge::blame(const FailureFacts& facts) const {
  const auto fits = [&](const Compiled& rule) { return rule.match(facts).has_value(); };
  if (never(facts)) return Blame::config;
  if (std::any_of(of_machine_.begin(), of_machine_.end(), fits)) return Blame::machine;
  if (std::any_of(of_config_.begin(), of_config_.end(), fits)) return Blame::config;
  return Blame::unknown;
}

std::optional<std::string> FailureJudge::objection(const FailureFacts& facts) const {
  if (auto why = never(facts)) return why;
  if (!retry_on_) return std::nullopt;
  for (const Compiled& rule : *retry_on_) {
    if (rule.match(facts)) return std::nullopt;
  }
  return "nothing in /failure_config/retry_on matched";
}

}  // namespace tune
