// Splits JSON texts into a shape, which is shared, and its values, which are kept for each text.
#include "tuner/base/interned_text.h"

#include <algorithm>

namespace tune {

namespace {

constexpr char gap = '\1';
constexpr char end_of_value = '\2';

bool is_control(char c) { return static_cast<unsigned char>(c) < ' '; }

/// How far the string that begins at `begin` goes.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t i = begin + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

/// Takes values out of `text`. What is taken for one need not be right, it goes back to its place:
/// only how much two texts share depends on it.
void split(std::string_view text, std::string& shape, std::string& values) {
  constexpr std::string_view structure = "{}[],: ";
  bool after_colon = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    std::size_t end = i + 1;
    bool is_value = false;
    if (c == '"') {
      end = end_of_string(text, i);
      is_value = after_colon;  // others are keys, or few
    } else if (structure.find(c) == std::string_view::npos) {
      end = std::min(text.find_first_of("{}[],: \"", i), text.size());
      is_value = true;
    }
    const std::string_view token = text.substr(i, end - i);
    if (is_value) {
      shape += gap;
      values.append(token) += end_of_value;
    } else {
      shape += token;
    }
    if (c != ' ') after_colon = c == ':';
    i = end;
  }
}

}  // namespace

std::string InternedJson::text() const {
  if (shape_ == nullptr) return own_;
  std::string text;
  text.reserve(shape_->size() + own_.size());
  std::string_view values = own_;
  std::string_view shape = *shape_;
  for (;;) {
    const std::size_t at = shape.find(gap);
    text += shape.substr(0, at);
    if (at == std::string_view::npos) return text;
    shape.remove_prefix(at + 1);
    const std::size_t end = values.find(end_of_value);
    text += values.substr(0, end);
    values.remove_prefix(end + 1);
  }
}

void JsonInterner::make_compact(InternedJson& text) {
  if (text.shape_ != nullptr || text.own_.empty()) return;
  if (std::any_of(text.own_.begin(), text.own_.end(), is_control)) return;
  shape_.clear();
  values_.clear();
  split(text.own_, shape_, values_);
  auto known = shapes_.find(shape_);
  if (known == shapes_.end()) {
    if (bytes_ + shape_.size() > most_bytes) return;
    bytes_ += shape_.size();
    known = shapes_.insert(shape_).first;
  }
  text.shape_ = &*known;
  text.own_ = std::string(values_);  // without spare room
}

}  // namespace tune
