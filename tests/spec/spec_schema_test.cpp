// Holds docs/experiment.schema.json and docs/spec.md against the parser, so that neither can fall
// behind it.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/spec/spec_support.h"
#include "tests/support/catch.h"
#include "tuner/base/whole_number.h"
#include "tuner/spec/spec_fields.h"

using namespace tune;
using namespace tune::test;

namespace {

Json schema_json() { return read_json_file(source_directory() / "docs/experiment.schema.json"); }

/// `json` with 2 for 2.0: both are integers to a JSON schema, but not to this validator.
Json with_integers(Json json) {
  if (json.is_structured()) {
    for (Json& element : json) element = with_integers(element);
  } else if (json.is_number_float()) {
    if (const auto number = whole_number<std::int64_t>(json)) return *number;
  }
  return json;
}

/// What the schema has against `spec`; empty if nothing.
std::string refusal(const Json& spec) {
  const Json document = with_integers(spec);
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  static const Json json = schema_json();
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(Adapter(json), schema);
  valijson::ValidationResults results;
  valijson::Validator validator;
  if (validator.validate(schema, Adapter(document), &results)) return "";
  std::string text;
  for (const auto& error : results) {
    for (const std::string& step : error.context) text += step;
    text += ": " + error.description + "\n";
  }
  return text.empty() ? "refused" : text;
}

std::string read_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// The ```json blocks of docs/spec.md.
std::vector<Json> documented_json() {
  const std::string page = read_text(source_directory() / "docs/spec.md");
  const std::string fence = "```json\n";
  std::vector<Json> blocks;
  for (std::size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    const std::string block = page.substr(at, page.find("```", at) - at);
    blocks.push_back(Json::parse(block, nullptr, true, /*ignore_comments=*/true));
  }
  return blocks;
}

}  // namespace

TEST_CASE("The schema accepts every good spec, as written and with all defaults filled in",
          "[spec][schema]") {
  const auto files = good_files();
  CHECK(files.size() >= 5);
  for (const auto& file : files) {
    INFO(file);
    const Json json = read_json_file(file);
    CHECK(refusal(json) == "");
    std::vector<Problem> problems;
    CHECK(refusal(to_json(parse_spec(json, file.parent_path(), small_catalogue(), problems))) ==
          "");
  }
}

TEST_CASE("The schema refuses every bad spec that a schema can refuse, and no other",
          "[spec][schema]") {
  for (const BadSpec& bad : bad_specs()) {
    INFO(bad.spec.dump());
    CHECK((refusal(bad.spec) != "") == bad.schema_knows);
  }
}

namespace {

/// What the schema says of the object at `pointer`.
const Json& level_of(const Json& schema, const std::string& pointer) {
  std::string place;
  for (const char c : pointer) place += c == '/' ? std::string("/properties/") : std::string(1, c);
  return schema.at(Json::json_pointer(place));
}

}  // namespace

TEST_CASE("Schema and parser know the same fields at each level", "[spec][schema]") {
  const Json schema = schema_json();
  for (const auto& [pointer, fields] : spec_fields()) {
    INFO("level " << pointer);
    const Json& level = level_of(schema, pointer);
    CHECK(level.at("additionalProperties") == false);
    std::vector<std::string> in_schema;
    for (const auto& [name, property] : level.at("properties").items()) {
      in_schema.push_back(name);
      INFO(name);
      CHECK(property.contains("description"));
    }
    std::vector<std::string> in_parser = fields;
    std::sort(in_parser.begin(), in_parser.end());
    CHECK(in_schema == in_parser);
  }
}

TEST_CASE("The defaults in the schema are those of the parser", "[spec][schema]") {
  std::vector<Problem> problems;
  Json filled = to_json(parse_spec(with(Json::object()), "/", small_catalogue(), problems));
  filled["searcher"] = ExperimentSpec().searcher;  // "auto" has become another one
  const Json schema = schema_json();
  for (const auto& [pointer, fields] : spec_fields()) {
    const Json& level = level_of(schema, pointer);
    const Json::json_pointer place(pointer);
    if (!filled.contains(place)) continue;  // there by the user's wish alone
    const Json& values = filled.at(place);
    for (const auto& [name, property] : level.at("properties").items()) {
      INFO(pointer << "/" << name);
      if (property.contains("default")) CHECK(property.at("default") == values.at(name));
    }
  }
}

TEST_CASE("The page about the spec names every field, and its examples are good specs",
          "[spec][docs]") {
  const std::string page = read_text(source_directory() / "docs/spec.md");
  for (const auto& [pointer, fields] : spec_fields()) {
    for (const std::string& field : fields) {
      INFO(field);
      CHECK(page.find("`" + field + "`") != std::string::npos);
    }
  }
  std::size_t whole_specs = 0;
  for (const Json& block : documented_json()) {
    INFO(block.dump(2));
    const bool is_whole = block.contains("trainable");
    const bool is_stop_rule =
        block.contains("training_iteration") || block.contains("metric") || block.contains("type");
    whole_specs += is_whole;
    const Json spec = is_whole ? block : with({{is_stop_rule ? "stop" : "param_space", block}});
    std::vector<Problem> problems;
    parse_spec(spec, "/specs", small_catalogue(), problems);
    CHECK(problems.empty());
    CHECK(refusal(spec) == "");
  }
  CHECK(whole_specs == 4);
}
