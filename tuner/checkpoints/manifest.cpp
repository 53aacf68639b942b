// Reads fields out of an untrusted manifest.json: its tree, its total size, its identity.
#include "tuner/checkpoints/manifest.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/json_limits.h"
#include "tuner/model/paths.h"

namespace tune {

Json parse_manifest(std::string_view text) {
  if (text.size() > most_manifest_bytes) return Json(Json::value_t::discarded);
  return parse_shallow(text);
}

bool is_guess(const Json& manifest) {
  return manifest.is_object() && manifest.value("saved", Json()) == "unknown";
}

DescribedTree tree_in(const Json& manifest) {
  DescribedTree tree;
  for (const Json& entry : manifest.at("files")) {
    auto path = entry.at("path").get<std::string>();
    // A float would be squeezed into an integer, whatever comes out.
    if (!entry.at("bytes").is_number_unsigned()) {
      throw std::invalid_argument("its manifest gives no number of bytes for " + clean_text(path));
    }
    tree.files.push_back({std::move(path), entry.at("bytes").get<std::uint64_t>(),
                          entry.at("xxh3").get<std::string>()});
  }
  const auto links = manifest.find("links");
  if (links == manifest.end()) return tree;
  for (const Json& entry : *links) {
    tree.links.push_back(
        {entry.at("path").get<std::string>(), entry.at("target").get<std::string>()});
  }
  return tree;
}

std::uint64_t bytes_in(const std::string& manifest) {
  try {
    return manifest.size() + tree_in(parse_manifest(manifest)).bytes();
  } catch (const Json::exception&) {
  } catch (const std::invalid_argument&) {
  }
  return manifest.size();
}

bool is_manifest_of(const Json& manifest, const std::filesystem::path& checkpoint) {
  const auto trial = parse_trial_id(checkpoint.parent_path().filename().native());
  const auto index = paths::parse_checkpoint(checkpoint.filename().native());
  if (!manifest.is_object() || !trial || !index) return false;
  const auto is = [&](const char* field, const Json& value) {
    const auto found = manifest.find(field);
    return found == manifest.end() || *found == value;
  };
  return is("trial_id", to_string(*trial)) && is("index", *index);
}

}  // namespace tune
