// Interned JSON texts: very many texts that mostly differ only in their values, such as the configs
// of all trials, share the rest of the text.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace tune {

/// A text, stored whole or as a shared shape and its own values.
class InternedJson {
 public:
  InternedJson() = default;
  InternedJson(std::string_view text) : own_(text) {}
  InternedJson& operator=(std::string_view text) {
    shape_ = nullptr;
    own_ = text;
    return *this;
  }

  std::string text() const;
  bool empty() const { return shape_ == nullptr && own_.empty(); }
  bool operator==(std::string_view other) const { return text() == other; }
  /// What it keeps for itself.
  std::size_t own_bytes() const { return own_.size(); }

 private:
  friend class JsonInterner;
  const std::string* shape_ = nullptr;  ///< with a gap for each value
  std::string own_;                     ///< the values, in order; without a shape the whole text
};

/// The shapes of texts. Must outlive those that it has made compact, their copies too.
class JsonInterner {
 public:
  /// Changes how `text` is kept, not what it is. It stays whole if it holds control characters, as
  /// no JSON in one line needs, or if there are very many shapes already.
  void make_compact(InternedJson& text);

 private:
  static constexpr std::size_t most_bytes = 1 << 20;

  std::set<std::string, std::less<>> shapes_;
  std::size_t bytes_ = 0;  ///< of `shapes_`
  std::string shape_;      ///< of the text at hand
  std::string values_;
};

}  // namespace tune
