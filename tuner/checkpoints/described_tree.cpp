// Checks names, sizes and symbolic links of an untrusted file list: no path may leave the tree,
// whatever links it goes through.
#include "tuner/checkpoints/described_tree.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

constexpr std::size_t longest_part_bytes = 255;   // NAME_MAX
constexpr std::size_t longest_path_bytes = 4095;  // PATH_MAX without its end
constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max();  // of an off_t
constexpr std::size_t most_links = 40;  // that the kernel follows
/// On a way: so many as a path can have, and what 40 links do not add for good reason.
constexpr std::size_t most_parts = 4096;

/// Calls `visit` with each part between slashes until it answers false.
template <class Visit>
bool each_part(std::string_view path, const Visit& visit) {
  for (;;) {
    const std::size_t slash = path.find('/');
    if (!visit(path.substr(0, slash))) return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// For a message: it may be long, and of anybody.
std::string shown(std::string_view name) {
  constexpr std::size_t most_bytes_shown = 200;
  return "'" + clean_text(name.substr(0, most_bytes_shown)) +
         (name.size() > most_bytes_shown ? "...'" : "'");
}

std::optional<std::string> wrong_target(const DescribedTree::Link& link) {
  const std::string& target = link.target;
  if (target.empty() || target.size() > longest_path_bytes || !is_utf8(target) ||
      target.find('\0') != target.npos) {
    return "the link " + shown(link.path) + " leads to what is no path";
  }
  if (target.starts_with('/')) return "the link " + shown(link.path) + " leads out of it";
  return std::nullopt;
}

/// What two have, or what lies in something that is no directory. Sorted so that what is below a
/// name follows it at once.
std::optional<std::string> wrong_places(std::vector<std::string_view> names) {
  const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
  std::sort(names.begin(), names.end(), [&](std::string_view a, std::string_view b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [&](char x, char y) { return rank(x) < rank(y); });
  });
  for (std::size_t i = 1; i < names.size(); ++i) {
    const std::string_view above = names[i - 1];
    const std::string_view name = names[i];
    if (!name.starts_with(above)) continue;
    if (name.size() == above.size()) return shown(name) + " is in it twice";
    if (name[above.size()] == '/') {
      return shown(name) + " lies below " + shown(above) + ", which is no directory";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> wrong_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > longest_path_bytes) return "is longer than a path can be";
  if (name.find('\0') != name.npos || !is_utf8(name)) return "is no UTF-8, or has a NUL in it";
  std::optional<std::string> wrong;
  each_part(name, [&](std::string_view part) {
    if (part.empty()) wrong = "has an empty part";
    if (part == "." || part == "..") wrong = "leads elsewhere";
    if (part.size() > longest_part_bytes) wrong = "is longer than a name can be";
    return !wrong;
  });
  return wrong;
}

void LinkMap::add(std::string name, std::string target) {
  targets_.insert_or_assign(std::move(name), std::move(target));
}

bool LinkMap::stays_inside(std::string_view name) const {
  std::string at;  // the directory that has been come to, from the top
  std::vector<std::string_view> ahead = {name};  // what is left of each path, the next one last
  std::size_t followed = 0;
  std::size_t parts = 0;
  while (!ahead.empty()) {
    std::string_view& path = ahead.back();
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    slash == path.npos ? ahead.pop_back() : path.remove_prefix(slash + 1);
    if (++parts > most_parts) return false;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (at.empty()) return false;
      at.resize(at.rfind('/') == at.npos ? 0 : at.rfind('/'));
      continue;
    }
    const std::size_t above = at.size();
    if (!at.empty()) at += '/';
    at += part;
    const auto link = targets_.find(std::string_view(at));
    if (link == targets_.end()) continue;
    if (++followed > most_links) return true;
    if (link->second.starts_with('/')) return false;
    at.resize(above);
    ahead.emplace_back(link->second);
  }
  return true;
}

std::uint64_t DescribedTree::bytes() const {
  std::uint64_t sum = 0;
  for (const File& file : files) sum += std::min(file.bytes, most_bytes - sum);
  return sum;
}

std::optional<std::string> wrong_tree(const DescribedTree& tree) {
  std::vector<std::string_view> names;
  names.reserve(tree.files.size() + tree.links.size() + 1);
  for (const auto& file : tree.files) names.emplace_back(file.path);
  for (const auto& link : tree.links) names.emplace_back(link.path);
  for (const std::string_view name : names) {
    if (const auto wrong = wrong_name(name)) return "the name " + shown(name) + " " + *wrong;
  }
  const std::string manifest = paths::manifest("").native();
  names.emplace_back(manifest);
  if (auto wrong = wrong_places(std::move(names))) return wrong;
  LinkMap links;
  for (const auto& link : tree.links) {
    if (auto wrong = wrong_target(link)) return wrong;
    links.add(link.path, link.target);
  }
  for (const auto& link : tree.links) {
    if (!links.stays_inside(link.path)) {
      return "the link " + shown(link.path) + " leads out of it";
    }
  }
  std::uint64_t room = most_bytes;
  for (const auto& file : tree.files) {
    if (file.bytes > room) return "its files have more bytes than a disk can have";
    room -= file.bytes;
  }
  return std::nullopt;
}

}  // namespace tune
