// Why a policy decided as it did about a result (the numbers it compared), for people who ask
// later.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tune {

/// A JSON object of numbers and texts, as in {"rung":16,"score":0.61,"cutoff":0.72,"of":23}. It
/// stands in the record of the result and nowhere else: nothing is ever decided by it.
class Rationale {
 public:
  /// `name` is made of small letters, digits and underscores, and is not "metrics"; else
  /// std::invalid_argument.
  Rationale& add(std::string_view name, double value);
  Rationale& add(std::string_view name, std::string_view text);
  template <std::integral Number>
  Rationale& add(std::string_view name, Number value) {
    return add_integer(name, static_cast<std::int64_t>(value));
  }

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }  ///< empty if there is nothing in it

  /// For people: "rung 16, score 0.61, cutoff 0.72".
  std::string words() const;

  /// It has this member, and no other.
  bool is_only(std::string_view name) const;

  /// From the `text` of a recorded one.
  static Rationale recorded(std::string text) {
    Rationale why;
    why.text_ = std::move(text);
    return why;
  }

 private:
  Rationale& add_integer(std::string_view name, std::int64_t value);
  void begin(std::string_view name);

  std::string text_;
};

}  // namespace tune
