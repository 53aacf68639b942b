// Writes manifest.json, and reads fields out of an untrusted one.
#include "tuner/checkpoints/manifest.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

constexpr int manifest_version = 1;

const std::string& or_empty_object(const std::string& json) {
  static const std::string empty = "{}";
  return json.empty() ? empty : json;
}

std::string parts_text(const std::vector<RankPart>& parts) {
  if (parts.empty()) return "";
  std::string text = ",\n\"workers\":[";
  const char* separator = "\n";
  for (const RankPart& part : parts) {
    text += separator + ("{\"rank\":" + std::to_string(part.rank)) +
            ",\"save_s\":" + Json(part.save_s).dump();
    if (part.bytes) text += ",\"bytes\":" + std::to_string(*part.bytes);
    if (part.load_s) text += ",\"load_s\":" + Json(*part.load_s).dump();
    text += "}";
    separator = ",\n";
  }
  return text + "\n]";
}

std::string results_text(const std::vector<ResultAhead>& results) {
  if (results.empty()) return "";
  std::string text = ",\n\"results\":[";
  const char* separator = "\n";
  for (const ResultAhead& result : results) {
    text += separator + ("{\"training_iteration\":" + std::to_string(result.iteration)) +
            ",\"metrics\":" + or_empty_object(result.metrics) + "}";
    separator = ",\n";
  }
  return text + "\n]";
}

std::string counts_text(const std::vector<std::string>& counts) {
  if (counts.empty()) return "";
  // The program's bytes, which may be no UTF-8.
  return ",\n\"counts\":" + Json(counts).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string manifest_text(const ManifestHeader& header, const DescribedTree& tree) {
  std::string text = "{\"manifest\":" + std::to_string(manifest_version) +
                     ",\"trial_id\":" + Json(to_string(header.checkpoint.trial)).dump() +
                     ",\"index\":" + std::to_string(header.checkpoint.index) +
                     ",\"attempt\":" + std::to_string(header.attempt) +
                     ",\"iteration\":" + std::to_string(header.iteration) +
                     ",\n\"metrics\":" + or_empty_object(header.metrics) +
                     ",\n\"config\":" + or_empty_object(header.config) + parts_text(header.parts) +
                     results_text(header.results) + counts_text(header.counts) +
                     (header.is_guess ? ",\n\"saved\":\"unknown\"" : "") +
                     ",\n\"bytes\":" + std::to_string(tree.bytes()) + ",\"files\":[";
  const char* separator = "\n";
  for (const DescribedTree::File& file : tree.files) {
    text += separator + ("{\"path\":" + Json(file.path).dump()) +
            ",\"bytes\":" + std::to_string(file.bytes) + ",\"xxh3\":\"" + file.xxh3 + "\"}";
    separator = ",\n";
  }
  separator = "\n],\"links\":[\n";
  for (const DescribedTree::Link& link : tree.links) {
    text += separator + ("{\"path\":" + Json(link.path).dump()) +
            ",\"target\":" + Json(link.target).dump() + "}";
    separator = ",\n";
  }
  return text + "\n]}\n";
}

Json parse_manifest(std::string_view text) {
  if (text.size() > most_manifest_bytes) return Json(Json::value_t::discarded);
  return parse_shallow(text);
}

Json read_manifest(FileSystem& files, const std::filesystem::path& checkpoint) {
  const std::filesystem::path file = paths::manifest(checkpoint);
  const auto entry = files.entry(file);
  const bool is_too_long = entry && entry->bytes > most_manifest_bytes;
  const Json manifest = is_too_long ? Json() : parse_manifest(files.read(file));
  const auto version = manifest.is_object() ? manifest.find("manifest") : manifest.end();
  if (version == manifest.end() || !version->is_number_unsigned()) {
    throw machine_error(file.native() + " is not a manifest");
  }
  if (version->get<std::uint64_t>() > manifest_version) {
    throw user_error(file.native() + " has version " + version->dump() +
                     ", this program understands up to " + std::to_string(manifest_version) +
                     ": use a newer one");
  }
  return manifest;
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

SavedResults results_in(const Json& manifest) {
  SavedResults saved{.is_guess = is_guess(manifest)};
  const auto its = manifest.find("metrics");
  if (its != manifest.end() && its->is_object()) saved.metrics = its->dump();
  if (const auto counts = manifest.find("counts"); counts != manifest.end()) {
    saved.counts = counts->get<std::vector<std::string>>();
  }
  const auto written = manifest.find("results");
  if (written == manifest.end()) return saved;
  std::int64_t last = 0;
  for (const Json& entry : written->get_ref<const Json::array_t&>()) {
    const auto iteration = entry.at("training_iteration").get<std::int64_t>();
    const Json& metrics = entry.at("metrics");
    if (iteration <= last || !metrics.is_object()) throw std::invalid_argument("");
    saved.ahead.push_back({last = iteration, metrics.dump()});
  }
  if (!saved.ahead.empty() && manifest.at("iteration") != last) throw std::invalid_argument("");
  return saved;
}

}  // namespace tune
