// A one-pass parser for safetensors headers: no recursion and no intermediate JSON tree, since
// headers with a million tensors occur.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "trainable/blobs_header.h"

namespace tune::blobs {

namespace {

// Without a way out of the loop it is done many bytes at a time.
bool has_byte_below(std::string_view text, unsigned char least) {
  unsigned found = 0;
  for (const char c : text) found |= static_cast<unsigned char>(c) < least ? 1U : 0U;
  return found != 0;
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
    has_escape_ = header_.text->find('\\') != std::string::npos;
    has_control_ = has_byte_below(*header_.text, 0x20);
    // What one tensor takes at least, mostly.
    header_.tensors.reserve(header_.text->size() / 80);
    header_.dimensions.reserve(header_.text->size() / 40);
    ranks_.reserve(header_.text->size() / 80);
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
    refuse_instead_of(c);
  }

  [[noreturn]] void refuse_instead_of(char c) const {
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
    if (has_escape_ && std::memchr(begin, '\\', length) != nullptr) return parse_escaped();
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
    const auto what = [&] { return type_text(tensor.dtype, shape); };
    if (!bytes) fail(name, "is " + what() + ", which is no number of bytes");
    if (end < tensor.offset) fail(name, "ends before it begins");
    if (end - tensor.offset != *bytes) {
      fail(name, "is " + what() + " of " + std::to_string(*bytes) + " bytes, and has " +
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
    const auto dtype = dtype_named(name);
    if (!dtype) fail(tensor, "is of the type " + in_quotes(name) + ", which is not known");
    return last_dtype_ = *dtype;
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
  bool has_escape_ = false;
  bool has_control_ = false;
  Dtype last_dtype_ = Dtype::F32;
  std::vector<std::uint32_t> ranks_;
};

}  // namespace

Header parse_header(std::string text, std::uint64_t file_bytes) {
  return Parser(std::move(text), file_bytes).parse();
}

}  // namespace tune::blobs
