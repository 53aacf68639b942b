// Lists a directory to its depths without a stack.
#include "tuner/checkpoints/checkpoint_tree.h"

#include <algorithm>
#include <optional>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/described_tree.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

Error not_a_checkpoint(const std::string& why) { return machine_error("not a checkpoint: " + why); }

/// `target` of a link in the directory `from` of `top`, as if it had been written relative to that.
std::optional<path> relative_target(const path& target, const path& from,
                                    const std::vector<path>& tops) {
  if (target.is_relative()) return target;
  const path normal = target.lexically_normal();
  for (const path& top : tops) {
    if (is_within(top, normal)) return normal.lexically_relative(top / from);
  }
  return std::nullopt;
}

void check_links(const path& top, const CheckpointTree& tree) {
  LinkMap links;
  for (const auto& link : tree.links) links.add(link.name.native(), link.target.native());
  for (const auto& link : tree.links) {
    if (links.stays_inside(link.name.native())) continue;
    throw not_a_checkpoint("the link " + (top / link.name).native() + " leads to " +
                           link.target.native() +
                           ", out of the directory, and only links that stay in it can be kept");
  }
}

void check_name(const path& top, const path& name) {
  if (!is_utf8(name.filename().native())) {
    throw not_a_checkpoint("a file's name in " + (top / name).parent_path().native() +
                           " is not UTF-8");
  }
  if (name == paths::manifest("")) {
    throw not_a_checkpoint("the trainable has saved " + (top / name).native() +
                           ", and that name is taken: save it under another, or in a subdirectory");
  }
}

CheckpointTree::Link read_link(FileSystem& files, const path& top, const path& name,
                               const std::vector<path>& tops) {
  const path target = files.read_link(top / name);
  const auto relative = relative_target(target, name.parent_path(), tops);
  if (relative && is_utf8(relative->native())) return {name, *relative, *relative == target};
  throw not_a_checkpoint(
      "the link " + (top / name).native() +
      (relative ? " leads to a name that is not UTF-8"
                : " leads to " + target.native() +
                      ", out of the directory, and only links that stay in it can be kept"));
}

template <class Entry>
void sort_by_name(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
}

}  // namespace

bool is_within(const path& directory, const path& name) {
  const auto [end, rest] =
      std::mismatch(directory.begin(), directory.end(), name.begin(), name.end());
  return end == directory.end();
}

CheckpointTree read_tree(FileSystem& files, const path& top, const std::vector<path>& also_called,
                         TopManifest manifest) {
  std::vector<path> tops = also_called;
  tops.push_back(top);
  CheckpointTree tree;
  std::vector<path> unread = {""};
  while (!unread.empty()) {
    const path below = std::move(unread.back());
    unread.pop_back();
    for (const DirectoryEntry& entry : files.list(below.empty() ? top : top / below)) {
      path name = below / entry.name;
      if (manifest == TopManifest::ours && name == paths::manifest("")) continue;
      check_name(top, name);
      if (entry.is_directory) {
        if (files.is_mount_point(top / name)) {
          throw not_a_checkpoint((top / name).native() +
                                 " is a mount point, and what is mounted there is not the trial's");
        }
        tree.directories.push_back(name);
        unread.push_back(std::move(name));
      } else if (entry.is_regular) {
        tree.files.push_back({std::move(name), entry.bytes});
      } else if (entry.is_link) {
        tree.links.push_back(read_link(files, top, name, tops));
      } else {
        throw not_a_checkpoint((top / name).native() +
                               " is neither a file, a directory nor a link, and only those can be "
                               "kept");
      }
    }
  }
  if (tree.files.empty()) throw not_a_checkpoint("nothing was saved in " + top.native());
  sort_by_name(tree.files);
  sort_by_name(tree.links);
  check_links(top, tree);
  return tree;
}

}  // namespace tune
