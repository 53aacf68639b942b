// Named tensors in files of the safetensors format: written piece by piece, read lazily, one or
// some of many. docs/blobs.md is the guide.
// A tensor is a name, a type, a shape and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tune::blobs {

/// What is wrong with a file, a name or a request, as a sentence that names the file.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The types of the format. Bytes are little-endian, elements in C order.
enum class Dtype : std::uint8_t {
  BOOL,
  F4,  ///< several in a byte, as are F6_E2M3 and F6_E3M2: the whole tensor is whole bytes
  F6_E2M3,
  F6_E3M2,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  F8_E4M3FNUZ,
  F8_E5M2FNUZ,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  F64,
  I64,
  U64,
  C64,
};
std::string_view to_string(Dtype dtype);
unsigned bits(Dtype dtype);  ///< of one element

/// The Dtype of elements of the C++ type `T`.
template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return Dtype::BOOL;
  else if constexpr (std::is_same_v<T, float>)
    return Dtype::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Dtype::F64;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return Dtype::I8;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return Dtype::U8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return Dtype::I16;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return Dtype::U16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return Dtype::I32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return Dtype::U32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return Dtype::I64;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return Dtype::U64;
  else
    static_assert(sizeof(T) == 0, "the format has no such type: write its bytes");
}

using Metadata = std::map<std::string, std::string>;

/// A tensor that is to be written. An empty shape is a single number.
struct Declared {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::uint64_t> shape;
};

/// Writes one file. All tensors are declared first; then their bytes come, whole or in pieces, in
/// any order between tensors, so that never more than a piece has to be in memory. Everything goes
/// to a file beside `path` that `finish` renames: under `path` there is a whole file or what was
/// there before. Nothing is synced to disk: in a checkpoint the driver does that.
class Writer {
 public:
  /// Error if two have one name, a name is not UTF-8 or is "__metadata__", sizes overflow, or the
  /// file cannot be made.
  Writer(const std::filesystem::path& path, std::vector<Declared> tensors,
         const Metadata& metadata = {});
  /// Removes what was written if `finish` has not returned.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// The next bytes of the tensor `name`. Error if there is no such tensor, for more bytes than it
  /// has, and if they cannot be written.
  void write(std::string_view name, std::span<const std::byte> bytes);
  /// The next elements: a vector, an array, a span. Error too if the tensor has another type.
  template <std::ranges::contiguous_range Elements>
  requires(!std::is_same_v<std::ranges::range_value_t<Elements>, std::byte>) void write(
      std::string_view name, const Elements& elements) {
    require_dtype(name, dtype_of<std::ranges::range_value_t<Elements>>());
    write(name, std::as_bytes(std::span(elements)));
  }

  /// Puts the file in its place. Error if a tensor lacks bytes, or if that does not succeed.
  void finish();

 private:
  struct Extent {
    Dtype dtype;
    std::uint64_t next, end;  ///< where in the file
  };
  Extent& extent_of(std::string_view name);
  void require_dtype(std::string_view name, Dtype dtype);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  [[noreturn]] void fail(const std::string& sentence) const;

  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  std::map<std::string, Extent, std::less<>> extents_;
};

/// A tensor in a file, or in one of several that are read as one. The text that it points to
/// belongs to its Reader.
struct Tensor {
  std::string_view name;
  Dtype dtype = Dtype::F32;
  std::span<const std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< of its first byte, from the beginning of the file
  std::uint64_t bytes = 0;
  std::uint32_t file = 0;  ///< index in `Reader::files`
};

/// What was asked for, and what of it there is.
struct Selection {
  std::vector<const Tensor*> tensors;
  std::vector<std::string> missing;     ///< names that no tensor has; patterns that fit none
  std::vector<std::string> unexpected;  ///< tensors that were not asked for
};

struct Hashed;

enum class Strictness {
  strict,   ///< a missing or unexpected name is an Error that lists them
  lenient,  ///< they are listed in the answer
};

/// Whether `name` fits `pattern`, in which `*` stands for any characters, dots too, and `?` for
/// any one byte.
bool fits(std::string_view pattern, std::string_view name);

/// The files `*.safetensors` of a directory, sorted, without hidden ones. Error if it cannot be
/// read.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory);

/// Reads one file, or all files `*.safetensors` of a directory as one set of names. The headers are
/// read and checked as a whole when it is made; tensors are read when they are asked for. Files
/// stay open: one that is deleted meanwhile can still be read.
class Reader {
 public:
  /// Error if a file is not as the format demands, is a link or no regular file, if a name is in
  /// two files, and if a directory has no such file.
  explicit Reader(const std::filesystem::path& file_or_directory);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  /// File by file, in the order of their bytes.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<std::filesystem::path>& files() const { return paths_; }
  /// What `__metadata__` says, of all files together; of two values for a key, the last file's.
  const Metadata& metadata() const { return metadata_; }

  const Tensor* find(std::string_view name) const;  ///< null: there is none
  const Tensor& at(std::string_view name) const;    ///< Error: there is none

  /// Tensors whose names fit one of the patterns.
  Selection select(const std::vector<std::string>& patterns,
                   Strictness strictness = Strictness::strict) const;
  /// Tensors with just these names, as a model wants them.
  Selection match(const std::vector<std::string>& names,
                  Strictness strictness = Strictness::strict) const;

  /// The tensor's bytes as they lie in the file, which is mapped and not read. They are valid as
  /// long as this object, and aligned as the file has them (a Writer's are). Whoever shortens the
  /// file meanwhile ends the process by SIGBUS; committed checkpoints are never changed.
  std::span<const std::byte> view(const Tensor& tensor) const;
  /// Copies of its bytes, from its byte `from` on. Error if they cannot be read, also because the
  /// file was shortened: no signal.
  void read(const Tensor& tensor, std::span<std::byte> into, std::uint64_t from = 0) const;
  /// A copy of all elements. Error if it has another type.
  template <class T>
  std::vector<T> read(const Tensor& tensor) const {
    static_assert(!std::is_same_v<T, bool>, "read booleans as std::uint8_t");
    require_dtype(tensor, dtype_of<T>(), std::is_same_v<T, std::uint8_t>);
    std::vector<T> elements(tensor.bytes / sizeof(T));
    read(tensor, std::as_writable_bytes(std::span<T>(elements)));
    return elements;
  }

 private:
  struct File;
  void open(const std::filesystem::path& path);
  void require_dtype(const Tensor& tensor, Dtype dtype, bool or_bool) const;
  [[noreturn]] void fail(const std::string& sentence) const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> paths_;
  std::vector<File> files_;
  std::vector<Tensor> tensors_;
  std::vector<Hashed> by_name_;
  Metadata metadata_;
};

}  // namespace tune::blobs
