// Compares results value by value within a tolerance, and checkpoints by a checksum of each file.
#include "tuner/check/differences.h"

#include <algorithm>
#include <cmath>

#include "tuner/base/json_text.h"
#include "tuner/disk/checksum.h"

namespace tune {

namespace {

using Value = std::optional<double>;

bool are_equal(Value one, Value other, double tolerance) {
  if (!one || !other) return !one && !other;
  if (*one == *other || (std::isnan(*one) && std::isnan(*other))) return true;
  return std::abs(*one - *other) <= tolerance * std::max(std::abs(*one), std::abs(*other));
}

std::string text_of(Value value) {
  if (!value) return "no value";
  std::string text;
  append_number(text, *value);
  return text;
}

std::string place_of(const Results& was, std::size_t i, const std::string& name, Value before,
                     Value now) {
  return "iteration " + std::to_string(was.first + static_cast<std::int64_t>(i)) + " has " + name +
         " " + text_of(now) + ", and had " + text_of(before);
}

void add_digests(FileSystem& files, const std::filesystem::path& top,
                 const std::filesystem::path& below, Digest& digest) {
  for (const auto& entry : files.list(top / below)) {
    const auto name = below / entry.name;
    if (entry.is_directory) add_digests(files, top, name, digest);
    if (!entry.is_regular || name == "manifest.json") continue;
    Checksum checksum;
    files.read_pieces(top / name, [&](std::string_view piece) { checksum.add(piece); });
    digest[name.native()] = checksum.digits();
  }
}

}  // namespace

Results Results::from(std::int64_t iteration) const {
  const auto skipped =
      std::clamp<std::int64_t>(iteration - first, 0, static_cast<std::int64_t>(metrics.size()));
  return {first + skipped, {metrics.begin() + skipped, metrics.end()}};
}

std::set<std::string> names_of(const Results& results) {
  std::set<std::string> names;
  for (const Metrics& metrics : results.metrics) {
    for (const Metric& metric : metrics.numbers) names.insert(metric.name);
  }
  return names;
}

std::set<std::string> names_that_repeat(const Results& one, const Results& other,
                                        double tolerance) {
  std::set<std::string> names = names_of(one);
  names.merge(names_of(other));
  const std::size_t both = std::min(one.metrics.size(), other.metrics.size());
  for (std::size_t i = 0; i < both; ++i) {
    std::erase_if(names, [&](const std::string& name) {
      return !are_equal(one.metrics[i].find(name), other.metrics[i].find(name), tolerance);
    });
  }
  return names;
}

std::optional<std::string> first_difference(const Results& was, const Results& is,
                                            const std::set<std::string>& names, double tolerance) {
  const std::size_t both = std::min(was.metrics.size(), is.metrics.size());
  for (std::size_t i = 0; i < both; ++i) {
    for (const std::string& name : names) {
      const Value before = was.metrics[i].find(name);
      const Value now = is.metrics[i].find(name);
      if (are_equal(before, now, tolerance)) continue;
      return place_of(was, i, name, before, now);
    }
  }
  if (was.metrics.size() == is.metrics.size()) return std::nullopt;
  return "its last iteration is " + std::to_string(is.last()) + ", and was " +
         std::to_string(was.last());
}

LargestDifference largest_difference(const Results& was, const Results& is,
                                     const std::set<std::string>& names) {
  LargestDifference largest;
  const std::size_t both = std::min(was.metrics.size(), is.metrics.size());
  for (std::size_t i = 0; i < both; ++i) {
    for (const std::string& name : names) {
      const Value before = was.metrics[i].find(name);
      const Value now = is.metrics[i].find(name);
      if (!before || !now || are_equal(before, now, 0)) continue;
      const double part = std::abs(*before - *now) / std::max(std::abs(*before), std::abs(*now));
      if (part > largest.part) largest = {part, place_of(was, i, name, before, now)};
    }
  }
  return largest;
}

Digest digest_of(FileSystem& files, const std::filesystem::path& directory) {
  Digest digest;
  add_digests(files, directory, {}, digest);
  return digest;
}

std::optional<std::string> first_difference(const Digest& was, const Digest& is,
                                            const std::set<std::string>& compared) {
  for (const std::string& name : compared) {
    const auto before = was.find(name);
    const auto now = is.find(name);
    if (before == was.end() && now == is.end()) continue;
    if (now == is.end()) return "the file " + name + " is missing";
    if (before == was.end()) return "there is a file " + name + ", and was none";
    if (before->second != now->second) return "the file " + name + " is another";
  }
  return std::nullopt;
}

}  // namespace tune
