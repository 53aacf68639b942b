// Of a program that runs as several processes, such as one for each GPU, which one's lines are its
// results: each may print them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// What a line says of the process that prints it.
struct ProcessLabel {
  enum class Kind {
    launcher,  ///< certainly a rank: "[rank1]: ", "[default1]:", "[1,1]<stdout>:"
    rank,      ///< behind that word: "(rank 1)"; matrices have ranks, too
    process,   ///< behind a word for one, or for where it runs: "worker=1", "node0"
    device,    ///< which it trains on: "GPU 1"
    id,        ///< of the operating system: "pid=1234"
    bare,      ///< a number that the line begins with, before an epoch or the like: "[1] epoch 3"
  };
  Kind kind{};
  /// Such as those of a node and of a process there; compared from the first one on.
  std::vector<std::int64_t> numbers;
  /// What else stands before the metric: its words, and its counts.
  std::string rest;
  bool has_count = false;  ///< one of these has a word for it, such as "epoch"
};
/// `name`: of the metric; empty, or none in the line: only its begin is looked at.
std::optional<ProcessLabel> process_label(std::string_view line, std::string_view name);

/// What is known of a program from all its launches.
struct KnownRanks {
  bool has_zero = false;       ///< rank 0 prints its results
  bool has_bare_zero = false;  ///< it does so, and the numbers have no word in front of them
};

/// The results are those of the lowest rank that prints any. That numbers are ranks is known once
/// two lines are alike but for them, which are no two steps of a counter: an epoch has come again,
/// one is 0, or they have gone back. Which one is the lowest shows with the second line: no more
/// are awaited.
class ProcessRanks {
 public:
  /// `known`: outlives this.
  explicit ProcessRanks(KnownRanks& known) : known_(known) {}

  struct Answer {
    enum class Count {
      yes,
      no,
      later,
    };
    enum class Held {
      waits,
      counts,
      dropped,
    };
    Count line = Count::yes;
    Held held = Held::waits;  ///< the line that was to wait, if there is one
    bool is_late = false;     ///< lines of higher ranks have counted
  };
  /// A line with `label`; `may_close`: it may close a result.
  Answer take(const ProcessLabel& label, bool may_close);

  /// Whether a line that closes no result may be left out.
  bool tells() const { return !seen_.empty() || known_.has_zero || known_.has_bare_zero; }

 private:
  struct Sort {
    bool are_ranks = false;
    std::optional<std::vector<std::int64_t>> lowest = {};  ///< whose lines count
    std::set<std::vector<std::int64_t>> counted = {};      ///< ranks of lines that have
  };
  /// What a launcher says and what a program says are one sort.
  Sort& sort_of(const ProcessLabel& label) {
    return sorts_.at(static_cast<std::size_t>(std::max(label.kind, ProcessLabel::Kind::rank)));
  }
  bool is_left_out(const ProcessLabel& label);
  bool has_copy(const ProcessLabel& label) const;

  KnownRanks& known_;
  std::array<Sort, 6> sorts_;
  std::deque<ProcessLabel> seen_;     ///< of the last lines with a result
  bool has_gone_back_ = false;        ///< one of them had a lower number than that before it
  std::optional<ProcessLabel> held_;  ///< of the line that waits
};

}  // namespace tune
