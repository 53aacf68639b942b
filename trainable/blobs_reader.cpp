// Maps safetensors files (mmap), finds tensors by name or pattern, and reads ranges of them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "trainable/blobs_header.h"

namespace tune::blobs {

namespace fs = std::filesystem;

namespace {

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(path.string() + " " + what);
}

/// All of `into` from byte `from` of the file. Error if it has fewer.
void read_all(int fd, const fs::path& path, std::span<std::byte> into, std::uint64_t from) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "cannot be read: " + reason(errno));
    if (got == 0) fail(path, "has become shorter since it was opened");
    into = into.subspan(static_cast<std::size_t>(got));
    from += static_cast<std::uint64_t>(got);
  }
}

std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    // Hidden ones are being written: see Writer.
    if (path.extension() == ".safetensors" && path.filename().native().front() != '.') {
      found.push_back(path);
    }
  }
  if (error) blobs::fail(directory, "cannot be read: " + error.message());
  std::sort(found.begin(), found.end());
  return found;
}

/// An open file, mapped as a whole.
struct Reader::File {
  File() = default;
  File(File&& other) noexcept { *this = std::move(other); }
  File& operator=(File&& other) noexcept {
    std::swap(fd, other.fd);
    std::swap(bytes, other.bytes);
    std::swap(map, other.map);
    std::swap(header, other.header);
    return *this;
  }
  ~File() {
    if (map != nullptr) ::munmap(const_cast<std::byte*>(map), bytes);
    if (fd >= 0) ::close(fd);
  }

  int fd = -1;
  std::uint64_t bytes = 0;
  const std::byte* map = nullptr;
  Header header;  ///< without its tensors, which the Reader has
};

Reader::Reader(const fs::path& file_or_directory) : path_(file_or_directory) {
  std::error_code ignored;
  if (fs::is_directory(path_, ignored)) {
    paths_ = files_in(path_);
    if (paths_.empty()) fail("has no file *.safetensors");
  } else {
    paths_ = {path_};
  }
  files_.reserve(paths_.size());
  for (const auto& path : paths_) open(path);
  by_name_ = index_names(tensors_);
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    const Tensor& a = tensors_[by_name_[i - 1].tensor];
    const Tensor& b = tensors_[by_name_[i].tensor];
    if (a.name != b.name) continue;
    if (a.file == b.file) fail("has the tensor " + in_quotes(a.name) + " twice");
    fail("has the tensor " + in_quotes(a.name) + " twice: in " +
         paths_[a.file].filename().string() + " and in " + paths_[b.file].filename().string());
  }
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

void Reader::open(const fs::path& path) {
  File file;
  // A FIFO is not waited for.
  file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file.fd < 0 && errno == ELOOP) blobs::fail(path, "is a symbolic link and no file");
  if (file.fd < 0) blobs::fail(path, "cannot be opened: " + reason(errno));
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) blobs::fail(path, "cannot be read: " + reason(errno));
  if (!S_ISREG(status.st_mode)) blobs::fail(path, "is no regular file");
  file.bytes = static_cast<std::uint64_t>(status.st_size);

  // Nothing is read by this. Where a file system cannot, `view` says so.
  void* const map = ::mmap(nullptr, file.bytes, PROT_READ, MAP_SHARED, file.fd, 0);
  if (map != MAP_FAILED) file.map = static_cast<const std::byte*>(map);

  std::array<unsigned char, length_bytes> prefix{};
  if (file.bytes < prefix.size()) {
    blobs::fail(path,
                "is no safetensors file: it has only " + std::to_string(file.bytes) + " bytes");
  }
  read_all(file.fd, path, std::as_writable_bytes(std::span(prefix)), 0);
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i-- > 0;) length = length << 8 | prefix[i];
  if (length > file.bytes - prefix.size()) {
    blobs::fail(path, "is no safetensors file, or cut off: its header is said to have " +
                          std::to_string(length) + " bytes, and the file has " +
                          std::to_string(file.bytes));
  }
  if (length > max_header_bytes) {
    blobs::fail(path, "has a header of " + std::to_string(length) + " bytes, more than " +
                          std::to_string(max_header_bytes));
  }
  std::string text(length, '\0');
  read_all(file.fd, path, std::as_writable_bytes(std::span(text)), prefix.size());
  try {
    file.header = parse_header(std::move(text), file.bytes);
  } catch (const Error& error) {
    throw Error(path.string() + " is no sound safetensors file: " + error.what());
  }

  const auto index = static_cast<std::uint32_t>(files_.size());
  for (Tensor& tensor : file.header.tensors) tensor.file = index;
  if (tensors_.empty()) {
    tensors_ = std::move(file.header.tensors);
  } else {
    tensors_.insert(tensors_.end(), file.header.tensors.begin(), file.header.tensors.end());
  }
  for (auto& [key, value] : file.header.metadata) metadata_[key] = std::move(value);
  files_.push_back(std::move(file));
}

const Tensor* Reader::find(std::string_view name) const {
  const std::size_t hash = std::hash<std::string_view>{}(name);
  auto place =
      std::lower_bound(by_name_.begin(), by_name_.end(), hash,
                       [](const Hashed& one, std::size_t wanted) { return one.hash < wanted; });
  for (; place != by_name_.end() && place->hash == hash; ++place) {
    if (tensors_[place->tensor].name == name) return &tensors_[place->tensor];
  }
  return nullptr;
}

const Tensor& Reader::at(std::string_view name) const {
  const Tensor* const found = find(name);
  if (found == nullptr) fail("has no tensor " + in_quotes(name));
  return *found;
}

bool fits(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, in_name = 0;
  // Where to go on if what follows on the last '*' does not fit: that takes one byte more.
  std::size_t star = std::string_view::npos, after = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after = in_name;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in_name])) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++after;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

Selection Reader::select(const std::vector<std::string>& patterns, Strictness strictness) const {
  Selection selection;
  std::vector<bool> has_fitted(patterns.size());
  for (const Tensor& tensor : tensors_) {
    bool is_wanted = false;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!fits(patterns[i], tensor.name)) continue;
      has_fitted[i] = is_wanted = true;
    }
    if (is_wanted) selection.tensors.push_back(&tensor);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (!has_fitted[i]) selection.missing.push_back(patterns[i]);
  }
  if (strictness == Strictness::strict && !selection.missing.empty()) {
    fail("has no tensor that fits " + joined(selection.missing));
  }
  return selection;
}

Selection Reader::match(const std::vector<std::string>& names, Strictness strictness) const {
  Selection selection;
  const std::set<std::string_view> wanted(names.begin(), names.end());
  for (const Tensor& tensor : tensors_) {
    if (wanted.contains(tensor.name)) {
      selection.tensors.push_back(&tensor);
    } else {
      selection.unexpected.emplace_back(tensor.name);
    }
  }
  for (const std::string_view name : wanted) {
    if (find(name) == nullptr) selection.missing.emplace_back(name);
  }
  if (strictness == Strictness::strict &&
      (!selection.missing.empty() || !selection.unexpected.empty())) {
    std::string what;
    if (!selection.missing.empty()) what = "lacks " + joined(selection.missing);
    if (!selection.unexpected.empty()) {
      what += what.empty() ? "has " : ", and has ";
      what += joined(selection.unexpected) + ", which nobody has asked for";
    }
    fail(what);
  }
  return selection;
}

std::span<const std::byte> Reader::view(const Tensor& tensor) const {
  const File& file = files_.at(tensor.file);
  if (tensor.bytes == 0) return {};
  if (file.map == nullptr) blobs::fail(paths_[tensor.file], "cannot be mapped: read it");
  return {file.map + tensor.offset, tensor.bytes};
}

void Reader::read(const Tensor& tensor, std::span<std::byte> into, std::uint64_t from) const {
  if (from > tensor.bytes || into.size() > tensor.bytes - from) {
    fail("has " + std::to_string(tensor.bytes) + " bytes of " + in_quotes(tensor.name) +
         ", and others were asked for");
  }
  read_all(files_.at(tensor.file).fd, paths_[tensor.file], into, tensor.offset + from);
}

void Reader::require_dtype(const Tensor& tensor, Dtype dtype, bool or_bool) const {
  if (tensor.dtype == dtype || (or_bool && tensor.dtype == Dtype::BOOL)) return;
  fail("has " + in_quotes(tensor.name) + " as " + std::string(to_string(tensor.dtype)) +
       ", not as " + std::string(to_string(dtype)));
}

void Reader::fail(const std::string& sentence) const { blobs::fail(path_, sentence); }

}  // namespace tune::blobs
