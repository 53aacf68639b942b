// The header of a safetensors file: its text there and back.
// Of the file it is given only the size.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/blobs.h"

namespace tune::blobs {

/// The length of the header's text comes first, in so many bytes, little-endian.
inline constexpr std::uint64_t length_bytes = 8;
/// Of the text, as in the reference implementation.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;
inline constexpr std::size_t max_dimensions = 64;
inline constexpr std::string_view metadata_key = "__metadata__";

/// A checked header. Names and shapes of `tensors` point into the rest, which stays where it is
/// when the object moves.
struct Header {
  std::vector<Tensor> tensors;  ///< in the order of their bytes, without holes from the first on
  Metadata metadata;
  std::unique_ptr<const std::string> text;
  std::deque<std::string> unescaped;      ///< names that do not stand in `text` as they are
  std::vector<std::uint64_t> dimensions;  ///< of all shapes
};

/// The header in `text`, of a file of `file_bytes`. Error, a sentence without the file's name, if
/// it is not just as the format demands: tensors that overlap or leave holes, sizes that are not
/// those of the shape or the file. Whether a name stands twice, index_names tells.
Header parse_header(std::string text, std::uint64_t file_bytes);

/// A tensor by the hash of its name.
struct Hashed {
  std::size_t hash;
  std::uint32_t tensor;  ///< index
};
/// Sorted by hash, then by name: those of one name are neighbours.
std::vector<Hashed> index_names(const std::vector<Tensor>& tensors);

struct Layout {
  std::string text;                         ///< padded: data begins at a multiple of 8 in the file
  std::vector<std::uint64_t> begin, bytes;  ///< of each declared, from the first byte of data
  std::uint64_t data_bytes = 0;
};
/// The file for what is `declared`. Tensors of wide types come first: so each is aligned. Error, a
/// sentence, for what no header can say.
Layout lay_out(const std::vector<Declared>& declared, const Metadata& metadata);

std::optional<Dtype> dtype_named(std::string_view name);
/// How many bytes; nothing if that is no number of 64 bits, or no whole one.
std::optional<std::uint64_t> bytes_of(Dtype dtype, std::span<const std::uint64_t> shape);
/// "F32 [2,3]"
std::string type_text(Dtype dtype, std::span<const std::uint64_t> shape);

/// Whether it is UTF-8, without surrogates and overlong forms.
bool is_utf8(std::string_view text);

/// In quotes, and cut if it is long.
std::string in_quotes(std::string_view name);

}  // namespace tune::blobs
