// Writes a safetensors file under a hidden name at precomputed offsets, and renames it into place.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "trainable/blobs_header.h"

namespace tune::blobs {

static_assert(std::endian::native == std::endian::little,
              "elements are written as they lie in memory, and the format is little-endian");

Writer::Writer(const std::filesystem::path& path, std::vector<Declared> tensors,
               const Metadata& metadata)
    : path_(path) {
  Layout layout;
  try {
    layout = lay_out(tensors, metadata);
  } catch (const Error& error) {
    fail(std::string("cannot be written: ") + error.what());
  }
  const std::uint64_t data = length_bytes + layout.text.size();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::uint64_t begin = data + layout.begin[i];
    const Extent place{tensors[i].dtype, begin, begin + layout.bytes[i]};
    if (!extents_.emplace(std::move(tensors[i].name), place).second) {
      fail("cannot be written: two of its tensors have one name");
    }
  }

  // Hidden, so that no Reader takes it for one of the directory's files.
  static std::atomic<unsigned> count = 0;
  const std::string name = "." + path.filename().string() + ".tmp-" + std::to_string(::getpid());
  do {
    temporary_ = path.parent_path() / (name + "-" + std::to_string(++count));
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) fail("cannot be written: " + std::generic_category().message(errno));

  std::array<std::byte, length_bytes> prefix{};
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    prefix[i] = static_cast<std::byte>(layout.text.size() >> (8 * i) & 0xFF);
  }
  try {
    write_at(0, prefix);
    write_at(prefix.size(), std::as_bytes(std::span(layout.text)));
  } catch (...) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
    throw;
  }
}

Writer::~Writer() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void Writer::write(std::string_view name, std::span<const std::byte> bytes) {
  Extent& place = extent_of(name);
  if (bytes.size() > place.end - place.next) {
    fail("takes " + std::to_string(place.end - place.next) + " more bytes of " + in_quotes(name) +
         ", got " + std::to_string(bytes.size()));
  }
  write_at(place.next, bytes);
  place.next += bytes.size();
}

void Writer::finish() {
  if (fd_ < 0) fail("is finished already");
  for (const auto& [name, place] : extents_) {
    if (place.next != place.end) {
      fail("lacks the last " + std::to_string(place.end - place.next) + " bytes of " +
           in_quotes(name));
    }
  }
  // Some file systems say only now that there was no room.
  const bool is_closed = ::close(std::exchange(fd_, -1)) == 0;
  if (is_closed && ::rename(temporary_.c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  ::unlink(temporary_.c_str());
  fail("cannot be written: " + std::generic_category().message(error));
}

Writer::Extent& Writer::extent_of(std::string_view name) {
  if (fd_ < 0) fail("is finished already");
  const auto place = extents_.find(name);
  if (place == extents_.end()) fail("was not said to have a tensor " + in_quotes(name));
  return place->second;
}

void Writer::require_dtype(std::string_view name, Dtype dtype) {
  const Dtype declared = extent_of(name).dtype;
  if (declared == dtype) return;
  fail("was said to have " + in_quotes(name) + " as " + std::string(to_string(declared)) +
       ", not as " + std::string(to_string(dtype)));
}

void Writer::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot be written: " + std::generic_category().message(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void Writer::fail(const std::string& sentence) const {
  throw Error(path_.string() + " " + sentence);
}

}  // namespace tune::blobs
