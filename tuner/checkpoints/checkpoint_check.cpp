// Reading everything, or remembering it.
#include "tuner/checkpoints/checkpoint_check.h"

#include <stdexcept>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/checkpoints/manifest.h"
#include "tuner/disk/checksum.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

/// To read a smaller file takes no longer than to wait until its stamp can be relied on.
constexpr std::uint64_t large_file_bytes = 1 << 20;
constexpr std::size_t most_read_files = 10'000;

void require_name(const std::string& name) {
  if (!wrong_name(name)) return;
  throw machine_error("its manifest names " + clean_text(name) + ", which is not in it");
}

}  // namespace

std::optional<std::string> CheckpointCheck::damage_of(const path& checkpoint, const path& place) {
  if (!files_.exists(checkpoint)) {
    return has_remote_ ? "it is not there; a copy from a remote lacks what was not up yet"
                       : "it is not there";
  }
  try {
    const Json manifest = read_manifest(files_, checkpoint);
    if (!place.empty() && !is_manifest_of(manifest, place)) {
      return "another one lies in its place: its manifest says so";
    }
    const DescribedTree tree = tree_in(manifest);
    // What a trainable saves is judged when it is taken; what comes from elsewhere is judged here.
    if (auto wrong = place.empty() ? wrong_tree(tree) : std::nullopt) return wrong;
    for (const auto& file : tree.files) {
      if (auto damage = file_damage(checkpoint, file)) return damage;
    }
    for (const auto& link : tree.links) {
      if (auto damage = link_damage(checkpoint, link)) return damage;
    }
    return std::nullopt;
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  } catch (const Json::exception&) {
    return paths::manifest(checkpoint).native() + " does not say what it must";
  } catch (const Error& error) {
    // A newer program's manifest: no damage, so it must not be set aside.
    if (error.fault() == Fault::user) throw;
    return error.what();
  }
}

std::optional<std::string> CheckpointCheck::file_damage(const path& checkpoint,
                                                        const DescribedTree::File& file) {
  require_name(file.path);
  if (!files_.exists(checkpoint / file.path)) return "the file " + file.path + " is missing";
  const Content found = content_of(checkpoint / file.path, file.bytes);
  if (found.bytes != file.bytes) {
    return "the file " + file.path + " has " + std::to_string(found.bytes) + " bytes, not " +
           std::to_string(file.bytes);
  }
  if (found.xxh3 != file.xxh3) {
    return "the file " + file.path + " has changed: its checksum is another";
  }
  return std::nullopt;
}

std::optional<std::string> CheckpointCheck::link_damage(const path& checkpoint,
                                                        const DescribedTree::Link& link) {
  require_name(link.path);
  const auto found = files_.entry(checkpoint / link.path);
  if (!found || !found->is_link) return "the link " + link.path + " is missing";
  const path leads_to = files_.read_link(checkpoint / link.path);
  if (leads_to == link.target) return std::nullopt;
  return "the link " + link.path + " leads to " + leads_to.native() + ", not to " + link.target;
}

/// By reading it, or from memory: then not even a file of many gigabytes keeps anybody waiting.
CheckpointCheck::Content CheckpointCheck::content_of(const path& file,
                                                     std::uint64_t expected_bytes) {
  const bool is_large = expected_bytes >= large_file_bytes;
  const auto stamp = is_large ? files_.stamp(file) : std::nullopt;
  if (stamp) {
    const std::lock_guard lock(mutex_);
    const auto known = read_.find(*stamp);
    if (known != read_.end()) return {stamp->bytes, known->second};
  }
  Content content;
  Checksum checksum;
  files_.read_pieces(file, [&](std::string_view piece) {
    checksum.add(piece);
    content.bytes += piece.size();
  });
  content.xxh3 = checksum.digits();
  // Not if somebody wrote to it meanwhile: then the checksum is of a mixture.
  if (stamp && files_.stamp(file) == stamp) {
    const std::lock_guard lock(mutex_);
    if (read_.size() >= most_read_files) read_.clear();
    read_[*stamp] = content.xxh3;
  }
  return content;
}

}  // namespace tune
