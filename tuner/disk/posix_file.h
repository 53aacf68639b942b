// An open file, as the writer of trial files needs one.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// All members throw Error (machine) with path and reason. Descriptors are close-on-exec. The name
/// is that of a regular file: where a trial has put a link, a FIFO or a device, that is an error,
/// so that nobody else's file is written and nothing is waited for.
class PosixFile {
 public:
  enum class Mode {
    existing,  ///< for reading and appending; `is_open` is false if the file is not there
    create,    ///< the same, but made if needed, its directory too (that one level only)
    fresh,     ///< made, or emptied
  };

  PosixFile(std::string path, Mode mode);
  ~PosixFile();
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  std::uint64_t size() const;
  /// At most `bytes` from `offset` on; shorter only at the end of the file.
  std::string read(std::uint64_t offset, std::uint64_t bytes) const;
  /// All of `bytes` or, with an Error, none of them.
  void append(std::string_view bytes);
  void truncate(std::uint64_t size);

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Renames `aside`, over what has the name `path`. Error (machine) if that cannot be.
void put_in_place(const std::string& aside, const std::string& path);

/// Gives the file this content, by way of the name `aside` in the same directory: at no moment half
/// of it. False if it has it already. Error (machine) as of PosixFile.
bool replace_file(const std::string& path, const std::string& aside, std::string_view content);

/// Syncs files and their directory entries; files that were deleted or replaced by something else
/// are passed over. Error (machine): one cannot be synced, or it was told to stop before the last
/// one.
void sync_files(const std::vector<std::string>& paths, const std::stop_token& stop = {});

}  // namespace tune
