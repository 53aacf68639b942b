// The table of dtypes, UTF-8 checks, and the layout of tensors that a Writer is going to write.
#include "trainable/blobs_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>

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

// Without a way out of the loop it is done many bytes at a time.
bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  }
  return text + "]";
}

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

std::optional<Dtype> dtype_named(std::string_view name) {
  for (const auto& known : dtypes) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

unsigned bits(Dtype dtype) { return dtypes[static_cast<std::size_t>(dtype)].bits; }

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  if (is_ascii(text)) return true;
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

std::optional<std::uint64_t> bytes_of(Dtype dtype, std::span<const std::uint64_t> shape) {
  std::uint64_t product = 1;
  for (const std::uint64_t dimension : shape) {
    if (__builtin_mul_overflow(product, dimension, &product)) return std::nullopt;
  }
  if (__builtin_mul_overflow(product, std::uint64_t{bits(dtype)}, &product)) return std::nullopt;
  return product % 8 == 0 ? std::optional(product / 8) : std::nullopt;
}

std::string type_text(Dtype dtype, std::span<const std::uint64_t> shape) {
  return std::string(to_string(dtype)) + " " + shape_text(shape);
}

std::vector<Hashed> index_names(const std::vector<Tensor>& tensors) {
  // Sorted into about as many drawers as there are names, by the upper bits, then within each.
  const unsigned bits = std::bit_width(tensors.size());
  const auto drawer = [&](std::size_t hash) { return hash >> 1 >> (63 - bits); };
  std::vector<std::size_t> hashes(tensors.size());
  std::vector<std::uint32_t> begins((std::size_t{1} << bits) + 1);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    hashes[i] = std::hash<std::string_view>{}(tensors[i].name);
    ++begins[drawer(hashes[i]) + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<Hashed> index(tensors.size());
  std::vector<std::uint32_t> next = begins;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    index[next[drawer(hashes[i])]++] = {hashes[i], static_cast<std::uint32_t>(i)};
  }
  const auto is_before = [&](const Hashed& a, const Hashed& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return tensors[a.tensor].name < tensors[b.tensor].name;
  };
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    if (begins[i + 1] - begins[i] < 2) continue;
    std::sort(index.begin() + begins[i], index.begin() + begins[i + 1], is_before);
  }
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
