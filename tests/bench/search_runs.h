// One search: a searcher against a task, ours in this process or a peer's in another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/search_tasks.h"

namespace tune::bench {

/// What is searched with: an entry of the catalogue with options, or a sampler of the peer's.
struct Contestant {
  std::string name;
  /// A searcher's object in a spec, with its type, and "prior" for a space with such ones
  /// (SearchTask::space_with_priors); null: the peer's.
  Json options = nullptr;
  bool is_peer() const { return options.is_null(); }
};

struct SearchCase {
  const SearchTask* task = nullptr;
  int trials = 0;
  int concurrency = 1;  ///< so many run at once, and the one that was asked for first ends first
  std::uint64_t seed = 0;
};

struct SearchRun {
  /// (n, loss): after n trials that ended, the best loss was this; where it changes.
  std::vector<std::pair<int, double>> best;
  int trials = 0;
  std::vector<int> failed = {};  ///< of these numbers, from 1, in the order of their ends
  double seconds = 0;            ///< for suggestions and what goes with them

  /// Infinity before the first.
  double best_after(int n) const;
  /// How many of the last `n` trials have failed.
  int failed_among_last(int n) const;
};

SearchRun run_search(const Contestant& contestant, const SearchCase& one);

/// Microseconds for a suggestion after so many observations: one number each for some suggestions
/// in a row, each of which ends before the next is asked for.
std::vector<double> time_suggestions(const Contestant& contestant, const SearchTask& task,
                                     int observations, int suggestions);

/// The peer's sampler cannot do what was asked, and says why; the peer goes on.
struct PeerFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The peer's side: search_quality_peer.py, which asks this side for losses.
class Peer {
 public:
  /// `python` has the peer installed.
  explicit Peer(const std::string& python);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  SearchRun run(const std::string& sampler, const SearchCase& one);
  /// As the function of that name; empty: it takes too long.
  std::vector<double> time(const std::string& sampler, const SearchTask& task, int observations,
                           int suggestions);

 private:
  Json converse(const Json& order, const SearchTask& task,
                const std::function<void(double)>& on_told);
  void send(const Json& message);
  Json receive();

  pid_t pid_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

/// Runs of the peer that are done, in a file of JSON lines; nothing if it has no name.
class PeerResults {
 public:
  explicit PeerResults(const std::filesystem::path& file);

  /// Nothing if there is none that long.
  std::optional<SearchRun> find(const std::string& sampler, const SearchCase& one) const;
  void add(const std::string& sampler, const SearchCase& one, const SearchRun& run);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, SearchRun> runs_;
  std::ofstream out_;
};

}  // namespace tune::bench
