// Results are compared by digests of their numbers: of this session's attempts in memory, of
// earlier ones by the first rows of result.json.
#include "tuner/run/trials/repeated_start.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tuner/disk/lines.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

/// Round numbers are the same by chance.
bool is_long(double value) {
  char text[32];
  const auto written =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const std::string_view digits(text, static_cast<std::size_t>(written.ptr - text));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::isfinite(value) &&
         std::count_if(digits.begin(), digits.begin() + digits.find('e'), is_digit) >= 4;
}

/// The driver's own number and time differ whatever the program does.
ResultMark mark_of(const std::vector<Metric>& numbers) {
  ResultMark mark;
  const auto mix = [](std::size_t& sum, std::size_t part) { sum = sum * 31 + part; };
  for (const auto& [name, value] : numbers) {
    if (name == "training_iteration" || name == "time_this_iter_s") continue;
    for (std::size_t* const sum : {&mark.numbers, &mark.long_numbers}) {
      if (sum == &mark.long_numbers && !is_long(value)) continue;
      mix(*sum, std::hash<std::string>{}(name));
      mix(*sum, std::hash<double>{}(value));
    }
  }
  return mark;
}

/// Of the first two rows of a result.json, as far as they have the names of `like`: they have more
/// of the driver's. Empty if there are none.
std::vector<ResultMark> marks_of_rows(const std::filesystem::path& file,
                                      const std::vector<Metric>& like) {
  constexpr std::size_t most_bytes = 1 << 20;
  std::vector<ResultMark> marks;
  for (const std::string& row : first_lines(file.string(), 2, most_bytes)) {
    std::vector<Metric> numbers;
    try {
      const Metrics all = read_metrics(row);
      for (const Metric& metric : like) {
        if (const auto value = all.find(metric.name)) numbers.push_back({metric.name, *value});
      }
    } catch (const std::invalid_argument&) {
      return {};
    }
    marks.push_back(mark_of(numbers));
  }
  return marks;
}

}  // namespace

void RepeatedStart::on_result(TrialId trial, AttemptStart& start, std::optional<TrialId> source,
                              const Metrics& metrics, const Trials& trials) {
  if (start.marks.size() == 2) return;
  if (start.marks.empty()) start.restored_from = source;
  start.marks.push_back(mark_of(metrics.numbers));
  if (start.marks.size() < 2) return;
  if (!start.restored_from) {
    from_scratch_[trial] = start.marks;
    return;
  }
  const bool tells = start.marks[0].long_numbers != start.marks[1].long_numbers;
  if (!tells || has_found_) return;
  for (const TrialId other : std::set{trial, *start.restored_from}) {
    compare(trial, start, trials[index_of(other)], metrics.numbers);
  }
}

/// With that of `other`, which may have begun in an earlier session: then its rows tell.
void RepeatedStart::compare(TrialId trial, const AttemptStart& start, const Trial& other,
                            const std::vector<Metric>& names) {
  const auto known = from_scratch_.find(other.id);
  if (known != from_scratch_.end()) {
    if (known->second == start.marks) say(trial);
    return;
  }
  if (!other.start_checkpoint.empty()) return;
  workers_.post(
      Lane::prompt,
      [file = paths::trial(experiment_dir_, other.id) / "result.json", names] {
        return marks_of_rows(file, names);
      },
      [this, trial, marks = start.marks](const std::vector<ResultMark>& rows) {
        if (rows == marks) say(trial);
      });
}

void RepeatedStart::say(TrialId trial) {
  if (!std::exchange(has_found_, true)) found_(trial);
}

}  // namespace tune
