// The file trials-<k>.jsonl: the trials of a snapshot, a line each time one has changed; the last
// line of a trial counts. Appended to by every snapshot, so that one costs what has changed, and
// written anew when more than half of it is out of date.
// Knows lines and the number at their beginning, not what a trial is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/model/trial.h"

namespace tune {

/// Lines on their way from the loop to the disk.
class TrialLines {
 public:
  /// `append(text)` adds the trial's line to a string: one JSON object that begins with {"trial":.
  template <class Append>
  void add(TrialId trial, const Append& append) {
    const std::size_t before = text_.size();
    append(text_);
    entries_.push_back({trial, text_.size() - before});
  }
  void add(TrialLines&& more);
  bool empty() const { return entries_.empty(); }
  std::size_t bytes() const { return text_.size(); }

  /// Calls `visit(trial, line)` for each, in order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::size_t at = 0;
    for (const auto& [trial, size] : entries_) {
      visit(trial, std::string_view(text_).substr(at, size));
      at += size;
    }
  }

 private:
  struct Entry {
    TrialId trial;
    std::size_t size;
  };
  std::string text_;
  std::vector<Entry> entries_;
};

/// For one thread at a time. All members throw Error (machine).
class TrialsFile {
 public:
  TrialsFile(FileSystem& files, std::filesystem::path directory);

  /// Takes up file `number`, of which the first `bytes` count, and gives each line in them to
  /// `visit`, which may throw std::invalid_argument. Error with file, line and byte if one is
  /// damaged or missing. Changes nothing.
  void load(int number, std::uint64_t bytes, const std::function<void(std::string_view)>& visit);

  /// Adds lines, to the file or to a new one if that is the smaller part by now; they are on disk
  /// when it returns. After an Error the file is as long as before, at the latest when it is called
  /// again.
  void append(const TrialLines& lines);

  int number() const { return number_; }                          ///< 0: there is no file yet
  std::uint64_t bytes() const { return bytes_; }                  ///< that count
  std::uint64_t written_bytes() const { return written_bytes_; }  ///< ever, by this object

 private:
  void write(AppendFile& out, std::string_view bytes);
  void start_file(int number);
  void rewrite();
  void note(TrialId trial, std::uint64_t offset, std::size_t size);

  FileSystem& files_;
  std::filesystem::path directory_;
  int number_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
  bool may_be_longer_ = false;  ///< than `bytes_`
  /// By trial, its last line.
  struct Line {
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
  };
  std::vector<Line> lines_;
};

}  // namespace tune
