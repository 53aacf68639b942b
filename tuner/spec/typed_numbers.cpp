// A SAX handler that keeps the texts of numbers as they stand in the JSON.
#include "tuner/spec/typed_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/json_text.h"
#include "tuner/space/domain.h"

namespace tune {

namespace {

constexpr std::string_view space_key = "param_space";
constexpr std::size_t most_of_one_name = 10'000;

/// Sees the numbers as they stand in the text.
class NumberTexts : public nlohmann::json_sax<Json> {
 public:
  explicit NumberTexts(TypedNumbers& typed) : typed_(typed) {}

  bool number_float(double value, const std::string& text) override {
    constexpr std::size_t below_name = 2;  // in the param space, in its object
    if (keys_.size() < below_name || keys_[0] != space_key || is_bound()) return true;
    // As it would be written anyway: with its point, if it is no whole number.
    if (Json(value).dump() == text && value != std::trunc(value)) return true;
    std::vector<std::string>& texts = typed_[keys_[1]];
    if (texts.size() < most_of_one_name) texts.push_back(text);
    return true;
  }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(std::string& name) override {
    keys_.back() = name;
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  /// Of what is drawn between bounds, nobody has typed the number that comes of it.
  bool is_bound() const {
    const std::vector<std::string>& domains = domain_names();
    return std::any_of(keys_.begin() + 2, keys_.end(), [&](const std::string& key) {
      return key != "choice" && key != "grid_search" &&
             std::find(domains.begin(), domains.end(), key) != domains.end();
    });
  }

  TypedNumbers& typed_;
  std::vector<std::string> keys_;  ///< of the objects around the number
};

}  // namespace

void add_typed_numbers(std::string_view spec_text, TypedNumbers& typed) {
  TypedNumbers found;
  NumberTexts texts(found);
  const bool is_json = Json::sax_parse(spec_text, &texts, Json::input_format_t::json,
                                       /*strict=*/true, /*ignore_comments=*/true);
  if (!is_json) return;
  for (const auto& [name, more] : found) {
    std::vector<std::string>& known = typed[name];
    for (const std::string& text : more) {
      if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
    }
  }
}

void add_typed_numbers_of_space(std::string_view text, TypedNumbers& typed) {
  add_typed_numbers(std::string("{\"").append(space_key).append("\": ").append(text) + "\n}",
                    typed);
}

void add_typed_numbers_of_value(const std::string& name, std::string_view text,
                                TypedNumbers& typed) {
  if (with_digits_around_point(text)) {
    typed[name].emplace_back(text);
    return;
  }
  const std::string key = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
  add_typed_numbers_of_space("{" + key + ": " + std::string(text) + "\n}", typed);
}

}  // namespace tune
