#include "trainable/blobs_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace tune::blobs {

namespace {

struct Named {
  std::string_view name;
  Dtype dtype;
  unsigned bits;
};
constexpr std::array<Named, 22> dtypes = {{{"BOOL", Dtype::BOOL, 8},
                                           {"F4", Dtype::F4, 4},
                                           {"F6_E2M3", Dtype::F6_E2M3, 6},
                                           {"F6_E3M2", Dtype::F6_E3M2, 6},
                                           {"U8", Dtype::U8, 8},
                                           {"I8", Dtype::I8, 8},
                                           {"F8_E5M2", Dtype::F8_E5M2, 8},
                                           {"F8_E4M3", Dtype::F8_E4M3, 8},
                                           {"F8_E8M0", Dtype::F8_E8M0, 8},
                                           {"F8_E4M3FNUZ", Dtype::F8_E4M3FNUZ, 8},
                                           {"F8_E5M2FNUZ", Dtype::F8_E5M2FNUZ, 8},
                                           {"I16", Dtype::I16, 16},
                                           {"U16", Dtype::U16, 16},
                                           {"F16", Dtype::F16, 16},
                                           {"BF16", Dtype::BF16, 16},
                                           {"I32", Dtype::I32, 32},
                                           {"U32", Dtype::U32, 32},
                                           {"F32", Dtype::F32, 32},
                                           {"F64", Dtype::F64, 64},
                                           {"I64", Dtype::I64, 64},
                                           {"U64", Dtype::U64, 64},
                                           {"C64", Dtype::C64, 64}}};

constexpr bool is_by_number() {
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (static_cast<std::size_t>(dtypes[i].dtype) != i) return false;
  }
  return true;
}
static_assert(is_by_number());

/// How many bytes; nothing if that is no number of 64 bits, or no whole one.
std::optional<std::uint64_t> bytes_of(Dtype dtype, std::span<const std::uint64_t> shape) {
  std::uint64_t product = 1;
  for (const std::uint64_t dimension : shape) {
    if (__builtin_mul_overflow(product, dimension, &product)) return std::nullopt;
  }
  if (__builtin_mul_overflow(product, std::uint64_t{bits(dtype)}, &product)) return std::nullopt;
  return product % 8 == 0 ? std::optional(product / 8) : std::nullopt;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  }
  return text + "]";
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

/// One pass over one header. Only what the format knows is taken, so nothing is nested deeper than
/// its three levels, and nothing recurses.
class Parser {
 public:
  Parser(std::string text, std::uint64_t file_bytes)
      : data_begin_(length_bytes + text.size()), data_bytes_(file_bytes - data_begin_) {
    header_.text = std::make_unique<const std::string>(std::move(text));
    at_ = header_.text->data();
    end_ = at_ + header_.text->size();
  }

  Header parse() {
    if (at_ == end_ || *at_ != '{') fail("it does not begin with '{'");
    if (!is_utf8(*header_.text)) fail("it is not UTF-8");
    // Where there is none at all, no string has to be looked through for one.
    has_control_ = std::any_of(at_, end_, [](char c) { return is_control(c); });
    bool has_metadata = false;
    each_member([&](std::string_view name) {
      if (name != metadata_key) {
        parse_tensor(name);
        return;
      }
      if (has_metadata) fail("it has __metadata__ twice");
      has_metadata = true;
      parse_metadata();
    });
    skip_blanks();
    if (at_ != end_) fail("something follows on its closing '}'");
    place();
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("its header cannot be read: " + what);
  }
  [[noreturn]] void fail(std::string_view tensor, const std::string& what) const {
    throw Error("its header is wrong: tensor " + in_quotes(tensor) + " " + what);
  }

  static bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool take(char c) {
    skip_blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  void require(char c) {
    if (take(c)) return;
    const std::string wanted = std::string("'") + c + "' should stand ";
    if (at_ == end_) fail(wanted + "where it ends");
    fail(wanted + "at its byte " + std::to_string(at_ - header_.text->data()));
  }

  template <class F>
  void each_member(const F& member) {
    require('{');
    if (take('}')) return;
    do {
      const std::string_view name = parse_string();
      require(':');
      member(name);
    } while (take(','));
    require('}');
  }

  std::string_view parse_string() {
    require('"');
    const char* const begin = at_;
    const auto* quote = static_cast<const char*>(std::memchr(at_, '"', rest()));
    if (quote == nullptr) fail("a string does not end");
    const auto length = static_cast<std::size_t>(quote - begin);
    if (std::memchr(begin, '\\', length) != nullptr) return parse_escaped();
    if (has_control_ && std::any_of(begin, quote, is_control)) {
      fail("a string has a control character that is not escaped");
    }
    at_ = quote + 1;
    return {begin, length};
  }

  std::string_view parse_escaped() {
    std::string text;
    while (true) {
      if (at_ == end_) fail("a string does not end");
      const char c = *at_++;
      if (c == '"') break;
      if (is_control(c)) fail("a string has a control character that is not escaped");
      if (c == '\\') {
        parse_escape(text);
      } else {
        text += c;
      }
    }
    return header_.unescaped.emplace_back(std::move(text));
  }

  void parse_escape(std::string& text) {
    static constexpr std::string_view letters = "\"\\/bfnrt";
    static constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (at_ == end_) fail("a string does not end");
    const char c = *at_++;
    if (const auto place = letters.find(c); place != std::string_view::npos) {
      text += meanings[place];
      return;
    }
    if (c != 'u') fail("a string has an escape that JSON does not know");
    std::uint32_t code = parse_four_digits();
    if (code >= 0xD800 && code < 0xDC00 && rest() >= 2 && at_[0] == '\\' && at_[1] == 'u') {
      at_ += 2;
      const std::uint32_t low = parse_four_digits();
      if (low < 0xDC00 || low > 0xDFFF) fail("a string has half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xD800 && code <= 0xDFFF) {
      fail("a string has half of a surrogate pair");
    }
    append_utf8(text, code);
  }

  std::uint32_t parse_four_digits() {
    if (rest() < 4) fail("a string does not end");
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      static constexpr std::string_view digits = "0123456789abcdef0123456789ABCDEF";
      const auto place = digits.find(*at_++);
      if (place == std::string_view::npos) fail("a string has an escape that JSON does not know");
      code = code * 16 + static_cast<std::uint32_t>(place % 16);
    }
    return code;
  }

  std::uint64_t parse_number(std::string_view tensor) {
    skip_blanks();
    const char* const begin = at_;
    std::uint64_t number = 0;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
      if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
          __builtin_add_overflow(number, static_cast<std::uint64_t>(*at_ - '0'), &number)) {
        fail(tensor, "has a number of more than 64 bits");
      }
      ++at_;
    }
    const bool is_more =
        at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E' || *at_ == '-' || *at_ == '+');
    if (at_ == begin || is_more || (*begin == '0' && at_ - begin > 1)) {
      fail(tensor, "has something else where a whole number from 0 on should stand");
    }
    return number;
  }

  void parse_metadata() {
    each_member([&](std::string_view key) {
      skip_blanks();
      if (at_ == end_ || *at_ != '"') {
        fail("__metadata__ has " + in_quotes(key) + ", which is no string");
      }
      const auto added = header_.metadata.emplace(key, parse_string());
      if (!added.second) fail("__metadata__ has " + in_quotes(key) + " twice");
    });
  }

  void parse_tensor(std::string_view name) {
    if (header_.tensors.size() == std::numeric_limits<std::uint32_t>::max()) {
      fail("it has too many tensors");
    }
    Tensor tensor;
    tensor.name = name;
    const std::size_t first = header_.dimensions.size();
    std::uint64_t end = 0;
    bool has_dtype = false, has_shape = false, has_offsets = false;
    const auto once = [&](bool& has, std::string_view field) {
      if (std::exchange(has, true)) fail(name, "has " + in_quotes(field) + " twice");
    };
    each_member([&](std::string_view field) {
      if (field == "dtype") {
        once(has_dtype, field);
        tensor.dtype = parse_dtype(name);
      } else if (field == "shape") {
        once(has_shape, field);
        parse_shape(name, first);
      } else if (field == "data_offsets") {
        once(has_offsets, field);
        require('[');
        tensor.offset = parse_number(name);
        require(',');
        end = parse_number(name);
        require(']');
      } else {
        fail(name, "has " + in_quotes(field) + ", which the format does not know");
      }
    });
    if (!has_dtype || !has_shape || !has_offsets) {
      fail(name, "has not all of dtype, shape and data_offsets");
    }
    const std::span<const std::uint64_t> shape(header_.dimensions.data() + first,
                                               header_.dimensions.size() - first);
    const auto bytes = bytes_of(tensor.dtype, shape);
    const std::string what = std::string(to_string(tensor.dtype)) + " " + shape_text(shape);
    if (!bytes) fail(name, "is " + what + ", which is no number of bytes");
    if (end < tensor.offset) fail(name, "ends before it begins");
    if (end - tensor.offset != *bytes) {
      fail(name, "is " + what + " of " + std::to_string(*bytes) + " bytes, and has " +
                     std::to_string(end - tensor.offset));
    }
    if (end > data_bytes_) {
      fail(name, "ends at byte " + std::to_string(end) + " of the data, which is " +
                     std::to_string(data_bytes_) + " bytes long");
    }
    tensor.bytes = *bytes;
    ranks_.push_back(static_cast<std::uint32_t>(shape.size()));
    header_.tensors.push_back(tensor);
  }

  Dtype parse_dtype(std::string_view tensor) {
    const std::string_view name = parse_string();
    if (name == to_string(last_dtype_)) return last_dtype_;
    for (const auto& known : dtypes) {
      if (known.name == name) return last_dtype_ = known.dtype;
    }
    fail(tensor, "is of the type " + in_quotes(name) + ", which is not known");
  }

  void parse_shape(std::string_view tensor, std::size_t first) {
    require('[');
    if (take(']')) return;
    do {
      if (header_.dimensions.size() - first == max_dimensions) {
        fail(tensor, "has more than " + std::to_string(max_dimensions) + " dimensions");
      }
      header_.dimensions.push_back(parse_number(tensor));
    } while (take(','));
    require(']');
  }

  /// Gives tensors their shapes, and their order, in which each has to begin where the one before
  /// has ended.
  void place() {
    const std::uint64_t* dimension = header_.dimensions.data();
    for (std::size_t i = 0; i < header_.tensors.size(); ++i) {
      header_.tensors[i].shape = {dimension, ranks_[i]};
      dimension += ranks_[i];
    }
    const auto is_before = [](const Tensor& a, const Tensor& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
    };
    auto& tensors = header_.tensors;
    if (!std::is_sorted(tensors.begin(), tensors.end(), is_before)) {
      std::stable_sort(tensors.begin(), tensors.end(), is_before);
    }
    std::uint64_t end = 0;
    for (Tensor& tensor : tensors) {
      if (tensor.offset < end) fail(tensor.name, "begins within the one before it");
      if (tensor.offset > end) {
        fail(tensor.name, "begins " + std::to_string(tensor.offset - end) +
                              " bytes behind the end of the one before it");
      }
      end += tensor.bytes;
      tensor.offset += data_begin_;
    }
    if (end != data_bytes_) {
      throw Error(std::to_string(data_bytes_ - end) + " bytes follow on its last tensor");
    }
  }

  std::size_t rest() const { return static_cast<std::size_t>(end_ - at_); }

  std::uint64_t data_begin_, data_bytes_;
  Header header_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool has_control_ = false;
  Dtype last_dtype_ = Dtype::F32;
  std::vector<std::uint32_t> ranks_;
};

std::string escaped(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

void require_utf8(std::string_view text, const std::string& what) {
  if (!is_utf8(text)) throw Error(what + " is not UTF-8");
}

}  // namespace

std::string_view to_string(Dtype dtype) { return dtypes[static_cast<std::size_t>(dtype)].name; }

unsigned bits(Dtype dtype) { return dtypes[static_cast<std::size_t>(dtype)].bits; }

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  if (std::all_of(at, end, [](unsigned char c) { return c < 0x80; })) return true;
  while (at != end) {
    const unsigned char c = *at++;
    if (c < 0x80) continue;
    const int more = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : 3;
    if (c < 0xC2 || c > 0xF4 || end - at < more) return false;
    // What may follow on the first byte: no overlong form, no surrogate, nothing over U+10FFFF.
    const unsigned low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    const unsigned high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (at[0] < low || at[0] > high) return false;
    for (int i = 1; i < more; ++i) {
      if (at[i] < 0x80 || at[i] > 0xBF) return false;
    }
    at += more;
  }
  return true;
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t longest = 100;
  if (name.size() <= longest) return "'" + std::string(name) + "'";
  return "'" + std::string(name.substr(0, longest)) + "...'";
}

Header parse_header(std::string text, std::uint64_t file_bytes) {
  return Parser(std::move(text), file_bytes).parse();
}

std::vector<Hashed> index_names(const std::vector<Tensor>& tensors) {
  std::vector<Hashed> index(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    index[i] = {std::hash<std::string_view>{}(tensors[i].name), static_cast<std::uint32_t>(i)};
  }
  std::sort(index.begin(), index.end(), [&](const Hashed& a, const Hashed& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int order = tensors[a.tensor].name.compare(tensors[b.tensor].name);
    return order != 0 ? order < 0 : a.tensor < b.tensor;
  });
  return index;
}

Layout lay_out(const std::vector<Declared>& declared, const Metadata& metadata) {
  std::vector<std::size_t> order(declared.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bits(declared[a].dtype) > bits(declared[b].dtype);
  });
  Layout layout;
  layout.begin.resize(declared.size());
  layout.bytes.resize(declared.size());
  std::string& text = layout.text;
  text = "{";
  if (!metadata.empty()) {
    text += escaped(metadata_key) + ":{";
    for (const auto& [key, value] : metadata) {
      require_utf8(key, "a key of the metadata");
      require_utf8(value, "the metadata's " + in_quotes(key));
      if (text.back() != '{') text += ',';
      text += escaped(key) + ":" + escaped(value);
    }
    text += '}';
  }
  for (const std::size_t i : order) {
    const Declared& one = declared[i];
    require_utf8(one.name, "the name of tensor " + std::to_string(i));
    if (one.name == metadata_key) throw Error("no tensor can be called __metadata__");
    if (one.shape.size() > max_dimensions) {
      throw Error("tensor " + in_quotes(one.name) + " has more than " +
                  std::to_string(max_dimensions) + " dimensions");
    }
    const auto bytes = bytes_of(one.dtype, one.shape);
    std::uint64_t end = 0;
    if (!bytes || __builtin_add_overflow(layout.data_bytes, *bytes, &end)) {
      throw Error("tensor " + in_quotes(one.name) + " is " + std::string(to_string(one.dtype)) +
                  " " + shape_text(one.shape) + ", which is no number of bytes");
    }
    layout.begin[i] = layout.data_bytes;
    layout.bytes[i] = *bytes;
    if (text.size() > 1) text += ',';
    text += escaped(one.name) + R"(:{"dtype":")" + std::string(to_string(one.dtype)) +
            R"(","shape":)" + shape_text(one.shape) + R"(,"data_offsets":[)" +
            std::to_string(layout.data_bytes) + "," + std::to_string(end) + "]}";
    layout.data_bytes = end;
  }
  text += '}';
  text.append((8 - (length_bytes + text.size()) % 8) % 8, ' ');
  if (text.size() > max_header_bytes) {
    throw Error("the header has " + std::to_string(text.size()) + " bytes, more than the " +
                std::to_string(max_header_bytes) + " that readers take");
  }
  return layout;
}

}  // namespace tune::blobs
