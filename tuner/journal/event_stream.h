// The events of an experiment as the text of their records, by number: from the history, then from
// the journals, also while a driver writes them. Locks and changes nothing.
// Knows events as numbered lines, not what they mean.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "tuner/disk/file_system.h"

namespace tune {

class EventStream {
 public:
  using Visit = std::function<void(std::string_view text)>;

  /// `next`: number of the first event that is wanted, from 1.
  EventStream(FileSystem& files, std::filesystem::path directory, std::uint64_t next);

  /// Gives every event that is there and was not given yet, in order and each once. What is not
  /// written to its end yet is for the next call. DamageError: a record is damaged and others
  /// follow. Error if there is no experiment, or it cannot be read, after what can be given. Work
  /// grows with what is new.
  void read(const Visit& visit);

  /// The number of the event that would be given next.
  std::uint64_t next() const { return next_; }
  /// How many events were skipped because they are gone: the history was removed or is damaged, or
  /// an old program left results out of it.
  std::uint64_t missing() const { return missing_; }

 private:
  struct Position {
    int generation = 1;
    std::uint64_t bytes = 0;  ///< of its journal that were given, or passed over
  };

  bool find_journal(const Visit& visit);
  bool next_journal(const Visit& visit);
  void require_newest();
  void read_history(const Visit& visit, std::uint64_t end);
  void read_journal_on(const Visit& visit);
  void take(std::string_view text, std::uint64_t number, const Visit& visit);

  FileSystem& files_;
  std::filesystem::path directory_;
  std::uint64_t next_;
  std::uint64_t missing_ = 0;
  std::optional<Position> position_;  ///< none: not looked for yet, or that journal is gone
};

}  // namespace tune
