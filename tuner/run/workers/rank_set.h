// The processes of one worker group, by rank: who has answered what all were asked, and what their
// answers come to as one. It decides nothing, and sends nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/checkpoints/checkpoint_storage.h"
#include "tuner/execution/executor.h"

namespace tune {

/// One process of a worker group.
struct RankProcess {
  LaunchId id{};
  std::optional<Rank> rank;     ///< none: it is the only one
  bool is_unmonitored = false;  ///< a program that is not listened to: it has always answered
  bool hears_stop = true;       ///< else it leaves after the first one, or is signalled
  std::filesystem::path stdout_log, stderr_log;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t log_begin = 0;  ///< where in `stderr_log` it begins
  bool runs = false;            ///< it has been launched
  bool has_answered = false;    ///< what all were asked
  bool is_disconnected = false;
  bool echoes = false;                    ///< its last answer has named its iteration
  std::optional<Reported> reported = {};  ///< to this step
  RankPart saved = {};                    ///< to this save
  std::optional<double> load_s = {};      ///< as it has said

  int number() const { return rank ? rank->rank : 0; }
  std::string name() const;  ///< "rank 2"; "it", if it is the only one
  /// Before a sentence of its own: "rank 2: "; empty, if it is the only one.
  std::string prefix() const { return rank ? name() + ": " : std::string(); }
};

/// One that has not answered what all were asked.
struct LateRank {
  std::string name;                         ///< "rank 2", or "its process" of one
  std::int64_t group = 0;                   ///< process group
  std::vector<std::filesystem::path> logs;  ///< what it prints
};

class RankSet {
 public:
  RankProcess& add(const LaunchSpec& spec);
  /// Which is one of them.
  RankProcess& at(LaunchId id);
  /// Takes one out.
  RankProcess remove(LaunchId id);
  /// Others are launched: nobody has left by itself.
  void forget_ended() { ended_.clear(); }
  /// It has left by itself, with exit code 0, while others go on.
  void note_ended(RankProcess process) { ended_.push_back(std::move(process)); }

  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  RankProcess& front() { return all_.front(); }
  const RankProcess& front() const { return all_.front(); }
  RankProcess& operator[](std::size_t i) { return all_[i]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  bool all_have_answered() const;
  bool all_run() const;
  /// One that is spoken to hears nothing any more.
  bool is_hung_up() const { return disconnected() != nullptr; }
  /// That one; null: none.
  const RankProcess* disconnected() const;
  /// The first that has not answered; null: all have.
  const RankProcess* unanswered() const;

  /// All are asked for something; `for_hello`: an unmonitored one has not answered that yet.
  void ask_all(bool for_hello);
  /// What is wrong with an answer that names `iteration`, where `asked` was asked for; empty:
  /// nothing.
  static std::string wrong_iteration(RankProcess& speaker, std::optional<std::int64_t> iteration,
                                     std::int64_t asked);
  /// Keeps what one has reported. False if it is too much: what the others wait for is kept in
  /// memory, and all of it is one result.
  bool note_reported(RankProcess& speaker, Reported reported);

  struct Disagreement {
    const RankProcess* who = nullptr;
    std::string sentence;
  };
  /// All end with the same iteration, or one would wait for the others for ever.
  std::optional<Disagreement> disagreement() const;
  /// What they have reported, as one result: the first one's, with what the others add to it.
  /// std::invalid_argument: the metrics of a rank cannot be joined to it, as a phrase.
  Reported take_result();
  /// What those with ranks have saved, by rank.
  std::vector<RankPart> saved_parts() const;

  std::vector<std::int64_t> process_groups() const;  ///< of all that run
  std::vector<LateRank> all_late() const;
  /// Who of several has not answered ("ranks 1, 3"); empty if nobody has not, or the only one.
  std::string late() const;

 private:
  std::vector<RankProcess> all_;
  std::vector<RankProcess> ended_;  ///< that have left by themselves, with code 0
  std::size_t reported_bytes_ = 0;  ///< by ranks, of this step's result
};

}  // namespace tune
