// Looks for names and numbers in what was printed last.
#include "tuner/plain/unread_metric.h"

#include <algorithm>
#include <array>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/clean_text.h"
#include "tuner/plain/line_splitter.h"
#include "tuner/plain/name_meant.h"
#include "tuner/plain/seen_names.h"

namespace tune {

namespace {

constexpr std::size_t most_named = 20;
constexpr std::size_t shown_lines = 3;
constexpr std::size_t shown_bytes = 200;

/// When it is looked whether a program that has no result yet ever will.
constexpr std::array<Seconds, 3> remark_ages_s = {10, 60, 600};
constexpr Seconds silent_s = 60;
constexpr Seconds unread_s = 60;
constexpr std::size_t most_unread_lines = 200;  ///< with numbers, before the first result

/// A name that may be meant is said early, before a search has cost anything: after so many lines
/// with numbers, and so long after the start, as the metric may come behind them.
constexpr std::size_t few_unread_lines = 3;
constexpr Seconds early_s = 3;

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// The last lines of `text` that say anything, in their order.
std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  LineSplitter splitter;
  const auto take = [&lines](std::string_view line, bool) {
    if (line.find_first_not_of(" \t") == line.npos) return;
    lines.push_back(clean_text(line.substr(0, shown_bytes)));
    if (lines.size() > shown_lines) lines.erase(lines.begin());
  };
  splitter.add(text, take);
  splitter.finish(take);
  return lines;
}

/// The last line in which `metric` may have a number, the last with any number if it is empty.
std::string last_line_with_number(std::string_view text, std::string_view metric) {
  std::string last;
  LineSplitter splitter;
  const auto take = [&](std::string_view line, bool) {
    line = line.substr(0, shown_bytes);
    const bool has_number = metric.empty() ? line.find_first_of("0123456789") != line.npos
                                           : !expression_for(line, metric).text.empty();
    if (has_number) last = line;
  };
  splitter.add(text, take);
  splitter.finish(take);
  return clean_text(last);
}

/// How a number is read that has no colon or another name, to be pasted. Which one it is only its
/// words tell: by its place, any number would be taken for the metric. `shown`: a line that stands
/// before it.
std::string way_to_read(const std::vector<std::string>& lacking, const std::string& seen,
                        const std::string& shown = "") {
  if (lacking.empty()) return "";
  const std::string& metric = lacking.front();
  const auto option = [&metric](const std::string& expression) {
    return "--set 'trainable/plain/metrics=" + Json{{metric, expression}}.dump() + "'";
  };
  const std::string line = last_line_with_number(seen, metric);
  if (line.empty()) {
    return ". What is called otherwise is read by the words before it: " +
           option("WORDS ([-+0-9.e]+)");
  }
  const ProposedExpression proposed = expression_for(line, metric);
  return ". If " + (line == shown ? "that line" : "'" + line + "'") + " has it, as " +
         proposed.number + ": " + option(proposed.text);
}

std::optional<std::string> other_name_among(const std::vector<std::string>& lacking,
                                            const std::vector<std::string>& names) {
  for (const std::string& metric : lacking) {
    const auto meant = names_meant(metric, names);
    if (meant.empty()) continue;
    const std::string question = meant.size() == 1 ? "is that what is meant?" : "is one meant?";
    return "has printed '" + joined(meant, "' and '") + "', and no number for the metric '" +
           metric + "' so far: " + question;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> other_name_of(const std::vector<std::string>& lacking,
                                         const std::string& seen) {
  return other_name_among(lacking, names_in(seen, most_named, lacking));
}

bool UnreadMetric::is_due(Seconds age_s) {
  const bool is_old = looks_ < remark_ages_s.size() && age_s >= remark_ages_s.at(looks_);
  const bool is_unread = lines_ >= most_unread_lines;
  is_unread_now_ = is_unread && !std::exchange(was_unread_, is_unread);
  const bool is_early = lines_ >= few_unread_lines && age_s >= early_s;
  const bool is_early_now = is_early && !std::exchange(was_early_, is_early);
  if (is_old) ++looks_;
  return is_old || is_unread_now_ || is_early_now;
}

std::optional<UnreadMetric::Remark> UnreadMetric::remark(
    Seconds age_s, const std::vector<std::string>& lacking,
    const std::function<std::string()>& seen) const {
  if (!has_output_ && age_s >= silent_s) {
    return Remark{Remark::What::silent,
                  "has printed nothing so far: perhaps it holds its output back; "
                  "of a program in C, `stdbuf -oL PROGRAM` changes that"};
  }
  const std::string seen_last = seen();
  const std::vector<std::string> names = names_in(seen_last, most_named, closing_);
  if (auto sentence = other_name_among(lacking, names)) {
    return Remark{Remark::What::other_name, std::move(*sentence)};
  }
  if (age_s < unread_s && !is_unread_now_) return std::nullopt;
  const std::string line = last_line_with_number(seen_last, "");
  if (line.empty()) return std::nullopt;
  const std::string others = names.empty() ? "" : "; names that were seen: " + joined(names, ", ");
  return Remark{Remark::What::unread, "has printed no number for the metric '" +
                                          joined(lacking, "' and '") + "' so far" + others +
                                          "; it printed last: '" + line + "'" +
                                          way_to_read(lacking, seen_last, line)};
}

std::string UnreadMetric::sentence_at_end(const std::vector<std::string>& lacking,
                                          const std::string& seen,
                                          const std::string& left_running) const {
  std::vector<std::string> names = names_in(seen, most_named, closing_);
  std::string sentence = "it ended, and its output never had a number for the metric '" +
                         joined(lacking, "' and '") + "'";
  if (!left_running.empty()) return sentence + "; it " + left_running;
  const std::string meant = lacking.empty() ? "" : did_you_mean(lacking.front(), names);
  if (!meant.empty()) sentence += ", " + meant;
  if (names.empty()) names = names_before_blanks(seen, most_named);
  sentence += names.empty() ? "; no name was seen with a number behind it"
                            : "; names that were seen: " + joined(names, ", ");
  if (meant.empty() && !lacking.empty()) {
    const std::string nearest = nearest_printed(lacking.front(), names);
    if (!nearest.empty()) sentence += " ('" + nearest + "' is the nearest)";
  }
  const std::vector<std::string> lines = last_lines(seen);
  if (!lines.empty()) sentence += "; it printed last: " + joined(lines, " | ");
  return meant.empty() ? sentence + way_to_read(lacking, seen) : sentence;
}

}  // namespace tune
