// A disk in memory for tests: it forgets what was not synced, fails and dies when told, fills up.
// Knows nothing of journals and checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/disk/file_system.h"

namespace tune {

/// Counts *operations*: each step that changes or syncs something. `replace` and `create_exclusive`
/// are several, in the order of the real ones, and `remove_tree` is one per entry, so that a test
/// can stop in the middle. Thread safe.
class MemoryFileSystem : public FileSystem {
 public:
  MemoryFileSystem();

  std::uint64_t operations() const;  ///< so far

  /// The k-th operation from now (1: the next) fails with `error_number`. If it is an append, the
  /// first `kept_bytes` of it get through.
  void fail_operation(std::uint64_t k, int error_number, std::size_t kept_bytes = 0);
  /// The process dies at the k-th operation from now: that and everything after fails, reading
  /// included, until `restart` or `crash`.
  void die_at_operation(std::uint64_t k, std::size_t kept_bytes = 0);
  /// The process is started again; the machine stayed up, so all that was written is there.
  void restart();
  /// The machine lost its power and is up again: content of files as of their last sync, names in
  /// directories as of theirs.
  void crash();

  /// Bytes of all files together; an append that does not fit gets through in part.
  void limit_capacity(std::uint64_t bytes);
  /// EIO from now on, of a file or of a list of what is in a directory.
  void fail_reading(const std::filesystem::path& name);
  /// What is below `directory` lies on another file system.
  void mount(const std::filesystem::path& directory);
  /// Called before every call, reads included, except those that it makes itself: what another
  /// process might do just then.
  void on_call(std::function<void()> other);
  /// From now on directories can be held, each under the name `place`; before, as on a file system
  /// without locks, they cannot.
  void allow_holds(std::string place);
  std::uint64_t calls() const;  ///< so far, without those of `other`
  void set_piece_bytes(std::size_t bytes);

  /// Writes the file as somebody else would, with its directories, all on disk. Not counted.
  void put(const std::filesystem::path& file, std::string_view content);
  void put_socket(const std::filesystem::path& name);  ///< neither file, directory nor link
  /// All names below `directory`, sorted; those of directories end with a slash.
  std::vector<std::string> names(const std::filesystem::path& directory = "/") const;

  std::unique_ptr<AppendFile> open_append(const std::filesystem::path& file) override;
  std::string read(const std::filesystem::path& file) override;
  void read_pieces(const std::filesystem::path& file,
                   const std::function<void(std::string_view)>& sink,
                   std::uint64_t begin = 0) override;
  void truncate(const std::filesystem::path& file, std::uint64_t bytes) override;
  void replace(const std::filesystem::path& file, std::string_view content) override;
  bool create_exclusive(const std::filesystem::path& file, std::string_view content) override;
  bool exists(const std::filesystem::path& path) override;
  std::optional<DirectoryEntry> entry(const std::filesystem::path& path) override;
  std::filesystem::path real_path(const std::filesystem::path& path) override;
  bool is_mount_point(const std::filesystem::path&) override { return false; }
  std::filesystem::path read_link(const std::filesystem::path& link) override;
  void make_link(const std::filesystem::path& target, const std::filesystem::path& link) override;
  std::optional<FileStamp> stamp(const std::filesystem::path& file) override;
  std::vector<DirectoryEntry> list(const std::filesystem::path& directory) override;
  void make_directories(const std::filesystem::path& directory) override;
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  void remove_file(const std::filesystem::path& file) override;
  void remove_tree(const std::filesystem::path& directory) override;
  void sync_file(const std::filesystem::path& file) override;
  void sync_directory(const std::filesystem::path& directory) override;
  std::uint64_t free_bytes(const std::filesystem::path& path) override;
  HoldAnswer hold(const std::filesystem::path& directory, HoldKind kind) override;
  void touch(const std::filesystem::path& file) override;
  std::optional<std::int64_t> modified_ns(const std::filesystem::path& file) override;

 private:
  class Hold;
  enum class Kind { file, directory, link, socket };
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  class OpenFile;
  struct Fault {
    std::uint64_t at = 0;
    int error_number = 0;
    std::size_t kept_bytes = 0;
    bool fatal = false;
  };

  std::unique_lock<std::mutex> enter();
  std::optional<Fault> count_operation();
  void operation(const std::filesystem::path& path);
  void append(Node& node, const std::filesystem::path& file, std::string_view bytes);
  void remove_quietly(const std::filesystem::path& file);
  std::optional<std::filesystem::path> follow(const std::filesystem::path& name) const;
  static DirectoryEntry entry_of(const std::string& name, const Node& node);
  std::filesystem::path write_aside(const std::filesystem::path& file, std::string_view content);
  NodePtr find(const std::filesystem::path& path) const;
  NodePtr require(const std::filesystem::path& path, Kind kind) const;
  NodePtr parent_of(const std::filesystem::path& path) const;
  void remove_below(const std::filesystem::path& directory, Node& node);
  std::uint64_t used(const Node& node) const;

  mutable std::mutex mutex_;
  NodePtr root_;
  std::uint64_t operations_ = 0;
  std::uint64_t calls_ = 0;
  std::optional<Fault> fault_;
  bool dead_ = false;
  std::uint64_t capacity_ = std::numeric_limits<std::uint64_t>::max();
  std::set<std::filesystem::path> unreadable_;
  std::optional<std::filesystem::path> mounted_;
  std::function<void()> other_;
  std::size_t piece_bytes_ = 1 << 20;
  std::uint64_t asides_ = 0;
  std::string place_;
  std::map<std::filesystem::path, int> drivers_;
  std::map<std::filesystem::path, int> lookers_;
};

}  // namespace tune
