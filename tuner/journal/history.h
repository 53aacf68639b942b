// history.jsonl: the lines of the journals that snapshots have replaced, so that commands still
// find every event of an experiment. The driver itself never reads it. Knows events as numbered
// lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "tuner/disk/file_system.h"

namespace tune {

/// Error (user) with both numbers if `text`, of a line of the history `file`, is the header of a
/// format that is newer than the one here.
void refuse_newer_history(const std::filesystem::path& file, std::string_view text);

class HistoryFile {
 public:
  HistoryFile(FileSystem& files, std::filesystem::path directory);

  /// Appends the lines of `journal`, durably; then the journal can be removed. Journals are given
  /// in order; events that are in the history already are not added again, and damaged lines are
  /// left out. Blocks; one call at a time. Error: the journal must stay, and be given again.
  void keep(const std::filesystem::path& journal);

 private:
  void open(std::uint64_t first);

  FileSystem& files_;
  std::filesystem::path directory_;
  std::filesystem::path file_;
  std::unique_ptr<AppendFile> out_;  ///< null: what is at the end of the file is not known
  std::uint64_t last_ = 0;           ///< event of the journals that are in it, while that is known
};

}  // namespace tune
