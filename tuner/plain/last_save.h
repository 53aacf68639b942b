// Finds the files of the last save in a directory that is always being written to, by when the
// writing of each file began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tune {

/// The begin of a file's writing.
struct WriteBegin {
  std::int64_t ns = 0;               ///< Unix time
  std::uint64_t printed_before = 0;  ///< bytes of both logs
};

/// When a file was begun last, and the time before.
struct FileWrites {
  std::string name;
  WriteBegin last;
  std::optional<WriteBegin> before = {};
};

/// The file of the last save that was begun first, as an index; nothing if there are no files. All
/// that was begun after the save before counts as one save: model, best model, logs. So what had
/// been printed before that file had been printed before the others, too. `launched_ns`: nothing
/// was written before.
std::optional<std::size_t> first_of_last_save(const std::vector<FileWrites>& files,
                                              std::int64_t launched_ns);

/// Whether all that was written by the save before the last one has been written anew since
/// something was printed: then the last one is over.
bool is_full_round(const std::vector<FileWrites>& files);

/// "epoch-12.pt" is written after "epoch-11.pt" as "last.pt" is after itself: files of one kind.
std::string kind_of_file(std::string name);

/// Whether a file that its program holds open is a log and no part of a save: since it was opened,
/// `closed`, files that are not open, have been saved twice, and something was printed in between.
bool is_log(const WriteBegin& opened, const std::vector<FileWrites>& closed);

}  // namespace tune
