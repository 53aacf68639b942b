// The files and links that a directory has by what somebody else says: a manifest, a marker, a list
// of objects on a store. Judged as a whole before any of it is made, as each link goes through the
// others.
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

/// The links of a directory, and where a kernel comes to by way of them.
class LinkMap {
 public:
  void add(std::string name, std::string target);
  /// Whether the way to `name` and on, through whatever links are met, never leaves the directory.
  /// What goes in a circle leads nowhere; what is too long for a kernel to follow is not followed,
  /// and does not stay.
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

/// Why no checkpoint holds that, as a sentence: names that are none, that are taken, or that two
/// have; something that lies below a file or a link; a link from the root on or out of the tree;
/// more bytes than there can be.
std::optional<std::string> wrong_tree(const DescribedTree& tree);

}  // namespace tune
