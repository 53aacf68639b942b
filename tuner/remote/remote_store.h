// The directory of one experiment on a remote store: named objects that are put, got, listed and
// removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/disk/file_system.h"
#include "tuner/remote/rcd.h"

namespace tune {

/// One thread, that of its Rcd. All members throw RemoteError, and Error (machine) for the disk.
class RemoteStore {
 public:
  /// `root` as rclone understands it. `staging`: a directory for small files on their way, made
  /// when it is needed.
  RemoteStore(Rcd& rcd, FileSystem& files, std::string root, std::filesystem::path staging);

  const std::string& root() const { return root_; }
  /// RemoteError (misnamed) if rclone knows no such remote, or it means a relative path. Asks
  /// nobody else.
  void check_name();

  void put(const std::filesystem::path& file, const std::string& name);
  void put_text(std::string_view text, const std::string& name);
  /// Nothing if there is no such object. An object longer than `limit_bytes` is not ours: the
  /// answer is an empty text, and only some times as many bytes are downloaded.
  std::optional<std::string> get_text(const std::string& name, std::uint64_t limit_bytes);
  /// The sizes of all objects in `directory` by their names in it; with `recursive`, below it too.
  /// A directory that is not there is empty.
  std::map<std::string, std::uint64_t> list(const std::string& directory, bool recursive);
  /// The names of directories at the root.
  std::vector<std::string> directories();
  /// Absent is fine.
  void remove(const std::string& name);
  void remove_tree(const std::string& directory);
  /// Copies those `names` of the local directory to the root. What is gone meanwhile is left out.
  void put_files(const std::filesystem::path& from, const std::vector<std::string>& names);
  // What comes has the names that it has there, below `to`, which is a directory of its own: who
  // takes it from there has judged those names. RemoteError (too_large) where far more comes than
  // `bytes`, which somebody has said of it.
  void get_tree(const std::string& directory, const std::filesystem::path& to, std::uint64_t bytes);
  /// Those names, each in a line of its own.
  void get_files(const std::vector<std::string>& names, const std::filesystem::path& to,
                 std::uint64_t bytes);

  // In steps: see Rcd.
  Rcd::Job begin_get(const std::string& name, const std::filesystem::path& file,
                     std::uint64_t bytes);
  Rcd::Job begin_get_tree(const std::string& directory, const std::filesystem::path& to,
                          std::uint64_t bytes);
  Rcd::Job begin_put_tree(const std::filesystem::path& from, const std::string& directory);
  Rcd& rcd() { return rcd_; }

 private:
  std::string at(const std::string& name) const;
  std::filesystem::path stage(std::string_view text);
  Json entries(const std::string& directory, bool recursive);
  void get(const std::string& name, const std::filesystem::path& file, std::uint64_t bytes);
  Json copying(const std::string& name, const std::filesystem::path& file,
               std::uint64_t bytes) const;
  Json copying_tree(const std::string& directory, const std::filesystem::path& to,
                    std::uint64_t bytes) const;
  void copy_named(const std::string& from, const std::string& to,
                  const std::vector<std::string>& names, const std::string& doing,
                  const Json& limits);

  Rcd& rcd_;
  FileSystem& files_;
  const std::string root_;
  const std::filesystem::path staging_;
  std::uint64_t staged_ = 0;
};

}  // namespace tune
