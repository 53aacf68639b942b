// Compares two runs of a trainable, or two of its checkpoints.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/model/metrics.h"

namespace tune {

/// One run: the metrics of its iterations, from `first` on.
struct Results {
  std::int64_t first = 1;
  std::vector<Metrics> metrics;

  std::int64_t last() const { return first + static_cast<std::int64_t>(metrics.size()) - 1; }
  /// The iterations from `iteration` on.
  Results from(std::int64_t iteration) const;
};

/// The names that have equal values, or are missing alike, in all iterations of both; of those that
/// any has. Values are equal if they are the same double (NaN is NaN), or differ by at most
/// `tolerance` of the larger one.
std::set<std::string> names_that_repeat(const Results& one, const Results& other, double tolerance);

/// The names that any iteration has.
std::set<std::string> names_of(const Results& results);

/// The first place where `is` differs from `was` in one of `names`, or ends earlier or later:
/// "iteration 5 has loss 0.25, and had 0.24"; nothing if there is none.
std::optional<std::string> first_difference(const Results& was, const Results& is,
                                            const std::set<std::string>& names, double tolerance);

/// Where `is` differs most from `was` in one of `names`, as a part of the larger value.
struct LargestDifference {
  double part = 0;
  std::string where;  ///< "iteration 5 has loss 0.25, and had 0.24"; empty: nowhere
};
LargestDifference largest_difference(const Results& was, const Results& is,
                                     const std::set<std::string>& names);

/// By file: its checksum.
using Digest = std::map<std::string, std::string>;

/// Of all regular files in `directory`, at any depth, but for a manifest at its top. Error
/// (machine) if one cannot be read.
Digest digest_of(FileSystem& files, const std::filesystem::path& directory);

/// The first of `was`'s files that `is` lacks or has with another content; of those in `compared`.
std::optional<std::string> first_difference(const Digest& was, const Digest& is,
                                            const std::set<std::string>& compared);

}  // namespace tune
