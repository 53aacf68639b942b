// Converts a YAML file to JSON (yaml-cpp), with limits on bytes, depth and values against alias
// bombs.
#include "apps/tune/sweep_file.h"

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/disk/file_system.h"

namespace tune {

namespace {

using Ordered = OrderedJson;

constexpr std::size_t most_bytes = std::size_t{1} << 20;
constexpr int most_levels = 64;
constexpr std::size_t most_values = 100'000;

/// A few aliases of aliases are millions of values: so they are counted as they are written out.
class Reader {
 public:
  Ordered value(const YAML::Node& node, int level = 0) {
    if (level > most_levels) refuse(node, "is deeper than 64 levels");
    if (++count_ > most_values) refuse(node, "has more than 100,000 values");
    switch (node.Type()) {
      case YAML::NodeType::Map:
        return map(node, level);
      case YAML::NodeType::Sequence: {
        Ordered list = Ordered::array();
        for (const YAML::Node& each : node) list.push_back(value(each, level + 1));
        return list;
      }
      case YAML::NodeType::Scalar:
        return scalar(node);
      default:
        return nullptr;
    }
  }

 private:
  [[noreturn]] static void refuse(const YAML::Node& node, const std::string& what) {
    throw user_error("line " + std::to_string(node.Mark().line + 1) + " " + what);
  }

  Ordered map(const YAML::Node& node, int level) {
    Ordered object = Ordered::object();
    std::vector<Ordered> merged;
    for (const auto& each : node) {
      if (!each.first.IsScalar()) refuse(each.first, "has a key that is no text");
      const std::string key = each.first.Scalar();
      Ordered inner = value(each.second, level + 1);
      if (key != "<<") {
        if (object.contains(key)) refuse(each.first, "has the key \"" + key + "\" a second time");
        object[key] = std::move(inner);
      } else if (inner.is_array()) {
        for (Ordered& one : inner) merged.push_back(std::move(one));
      } else {
        merged.push_back(std::move(inner));
      }
    }
    for (const Ordered& one : merged) {
      if (!one.is_object()) refuse(node, "merges what is no map");
      for (const auto& [key, inner] : one.items()) {
        if (!object.contains(key)) object[key] = inner;
      }
    }
    return object;
  }

  static Ordered scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    // "!" is the tag of what stands in quotes.
    if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
      return nullptr;
    }
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    std::string number = text;
    // JSON has no number that begins so.
    if (number[0] == '+') number.erase(0, 1);
    if (number[0] == '.') number.insert(0, "0");
    if (number.starts_with("-.")) number.insert(1, "0");
    if (const auto point = number.find(".");
        point != number.npos &&
        (point + 1 == number.size() || number[point + 1] == 'e' || number[point + 1] == 'E')) {
      number.insert(point + 1, "0");
    }
    const Json json = parse_shallow(number, 0);
    return json.is_number() ? Ordered(json) : Ordered(text);
  }

  std::size_t count_ = 0;
};

}  // namespace

Ordered read_sweep_file(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) throw user_error("cannot read " + file + ": " + error.message());
  if (size > most_bytes) throw user_error(file + " is larger than 1 MiB");
  const std::string text = make_posix_file_system()->read(file);
  try {
    const auto documents = YAML::LoadAll(text);
    if (documents.size() != 1) {
      throw user_error("it has " + std::to_string(documents.size()) + " documents");
    }
    return Reader().value(documents[0]);
  } catch (const YAML::Exception& broken) {
    throw user_error(file + " is no YAML: " + broken.what());
  } catch (const Error& broken) {
    throw user_error(file + ": " + broken.what());
  }
}

}  // namespace tune
