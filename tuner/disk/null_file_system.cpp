// A FileSystem and AppendFile whose writes succeed and whose reads find nothing.
#include "tuner/disk/null_file_system.h"

#include <cerrno>
#include <limits>

namespace tune {

namespace {

using std::filesystem::path;

class NullFile final : public AppendFile {
 public:
  void append(std::string_view) override {}
  void sync() override {}
};

class NullFileSystem final : public FileSystem {
 public:
  std::unique_ptr<AppendFile> open_append(const path&) override {
    return std::make_unique<NullFile>();
  }
  std::string read(const path& file) override {
    throw file_error("cannot read", file.native(), ENOENT);
  }
  void read_pieces(const path& file, const std::function<void(std::string_view)>&,
                   std::uint64_t) override {
    throw file_error("cannot read", file.native(), ENOENT);
  }
  void truncate(const path&, std::uint64_t) override {}
  void replace(const path&, std::string_view) override {}
  bool create_exclusive(const path&, std::string_view) override { return true; }
  bool exists(const path&) override { return false; }
  std::optional<DirectoryEntry> entry(const path&) override { return std::nullopt; }
  path real_path(const path& name) override { return name; }
  bool is_mount_point(const path&) override { return false; }
  path read_link(const path& link) override {
    throw file_error("cannot read", link.native(), ENOENT);
  }
  void make_link(const path&, const path&) override {}
  std::vector<DirectoryEntry> list(const path&) override { return {}; }
  void make_directories(const path&) override {}
  void rename(const path&, const path&) override {}
  void remove_file(const path&) override {}
  void remove_tree(const path&) override {}
  std::optional<FileStamp> stamp(const path&) override { return std::nullopt; }
  void sync_file(const path&) override {}
  void sync_directory(const path&) override {}
  std::uint64_t free_bytes(const path&) override {
    return std::numeric_limits<std::uint64_t>::max();
  }
  HoldAnswer hold(const path&, HoldKind) override { return {}; }
  void touch(const path&) override {}
  std::optional<std::int64_t> modified_ns(const path&) override { return std::nullopt; }
};

}  // namespace

std::unique_ptr<FileSystem> make_null_file_system() { return std::make_unique<NullFileSystem>(); }

}  // namespace tune
