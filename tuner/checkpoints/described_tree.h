// The files and links of a directory as an untrusted list has them: a manifest, a marker, the
// objects on a store. Judged as a whole before any of them is made, since links can lead through
// each other.
// Touches no disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tune {

/// Why nothing below a directory can have that name, as the end of a sentence that begins with it;
/// nothing if something can: parts between single slashes, none of them "." or "..", UTF-8 without
/// a NUL, no longer than the kernel takes.
std::optional<std::string> wrong_name(std::string_view name);

/// The links of a directory, resolved as a kernel does it.
class LinkMap {
 public:
  void add(std::string name, std::string target);
  /// Whether resolving `name`, through all links on the way, never leaves the directory. More links
  /// than a kernel follows (a circle, say) lead nowhere, so they stay inside; a way with too many
  /// parts counts as leaving.
  bool stays_inside(std::string_view name) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> targets_;
};

struct DescribedTree {
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    std::string xxh3;
  };
  struct Link {
    std::string path;
    std::string target;
  };
  std::vector<File> files;
  std::vector<Link> links;

  std::uint64_t bytes() const;  ///< of the files; at most as many as a disk can have
};

/// Why the tree cannot be a checkpoint's, as a sentence: invalid, reserved or duplicate names; an
/// entry below a file or a link; an absolute link, or one out of the tree; more bytes than a disk
/// can have.
std::optional<std::string> wrong_tree(const DescribedTree& tree);

}  // namespace tune
