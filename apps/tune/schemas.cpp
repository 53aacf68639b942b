// Looks up the schemas that are compiled in, and expands their "$ref" and "optional".
#include "apps/tune/schemas.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "apps/tune/embedded_texts.h"
#include "apps/tune/exit_codes.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"

namespace tune {

namespace {

constexpr const char* draft = "http://json-schema.org/draft-07/schema#";

/// Of docs/schemas: files that begin so are parts of several schemas.
bool is_part(std::string_view name) { return name.starts_with('_'); }

const char* find_text(std::string_view name) {
  const auto found = std::find_if(std::begin(embedded_texts), std::end(embedded_texts),
                                  [&](const EmbeddedText& one) { return name == one.name; });
  return found == std::end(embedded_texts) ? nullptr : found->text;
}

/// The schema that a file of docs/schemas stands for. There, {"$ref": FILE} is that file's content,
/// over which wins what stands beside it; and all fields are required but those that are
/// "optional".
Json whole_schema(const Json& json) {
  if (json.is_array()) {
    Json list = Json::array();
    for (const Json& item : json) list.push_back(whole_schema(item));
    return list;
  }
  if (!json.is_object()) return json;
  const std::string file = json.value("$ref", std::string());
  Json schema = file.empty() ? Json::object() : whole_schema(Json::parse(find_text(file)));
  for (const auto& [name, value] : json.items()) {
    if (name != "$ref" && name != "optional") schema[name] = whole_schema(value);
  }
  if (const auto fields = json.find("properties"); fields != json.end()) {
    Json required = Json::array();
    for (const auto& [name, field] : fields->items()) {
      if (!field.value("optional", false)) required.push_back(name);
    }
    schema["required"] = std::move(required);
  }
  return schema;
}

Json exit_codes_schema() {
  Json codes = Json::array();
  for (const ExitCodeText& one : exit_codes()) {
    codes.push_back({{"const", one.code}, {"title", one.name}, {"description", one.meaning}});
  }
  return {{"title", "exit codes"}, {"type", "integer"}, {"oneOf", codes}};
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names = {"exit-codes"};
  for (const EmbeddedText& one : embedded_texts) {
    if (!is_part(one.name) && one.name != std::string_view("SKILL")) names.emplace_back(one.name);
  }
  return names;
}

Json schema_of(const std::string& name) {
  const auto names = schema_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw user_error(unknown_name("schema", name, names));
  }
  if (name == "spec") return Json::parse(find_text(name));
  Json schema =
      name == "exit-codes" ? exit_codes_schema() : whole_schema(Json::parse(find_text(name)));
  schema["$schema"] = draft;
  return schema;
}

std::string skill_text() { return find_text("SKILL"); }

}  // namespace tune
