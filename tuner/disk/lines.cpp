// A line that is too long is passed over to its end, and never kept.
#include "tuner/disk/lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/disk/regular_file.h"

namespace tune {

namespace {

constexpr std::size_t block_bytes = 64 << 10;

/// Calls `use` with consecutive pieces of the file until it answers false; false if there is none.
bool read_blocks(const std::string& path, const std::function<bool(std::string_view)>& use) {
  const FileDescriptor file(open_regular(path, O_RDONLY));
  if (!file) return false;
  std::array<char, block_bytes> block;
  for (;;) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("cannot read", path, errno);
    if (count == 0 || !use({block.data(), static_cast<std::size_t>(count)})) return true;
  }
}

}  // namespace

LinesRead read_lines(const std::string& path, std::size_t most_bytes,
                     const std::function<void(const FileLine&)>& use) {
  LinesRead read;
  std::string begun;  // of a line that goes on in the next block
  std::uint64_t number = 1;
  bool is_too_long = false;
  const auto go_on = [&](std::string_view part) {
    is_too_long = is_too_long || begun.size() + part.size() > most_bytes;
    if (!is_too_long) begun += part;
  };
  const auto end_line = [&](bool is_ended) {
    if (is_too_long) {
      ++read.too_long;
    } else {
      use({begun, number, is_ended});
    }
    ++number;
    is_too_long = false;
    begun.clear();
  };
  read.is_there = read_blocks(path, [&](std::string_view block) {
    for (auto end = block.find('\n'); end != block.npos; end = block.find('\n')) {
      go_on(block.substr(0, end));
      end_line(true);
      block.remove_prefix(end + 1);
    }
    go_on(block);
    return true;
  });
  if (!begun.empty() || is_too_long) end_line(false);
  return read;
}

std::vector<std::string> first_lines(const std::string& path, std::size_t count,
                                     std::size_t most_bytes) {
  std::vector<std::string> lines;
  std::string begun;
  std::size_t bytes = 0;
  try {
    (void)read_blocks(path, [&](std::string_view block) {
      for (auto end = block.find('\n'); end != block.npos && lines.size() < count;
           end = block.find('\n')) {
        bytes += begun.size() + end;
        if (bytes > most_bytes) return false;
        lines.push_back(begun.append(block.substr(0, end)));
        begun.clear();
        block.remove_prefix(end + 1);
      }
      begun += block;
      return lines.size() < count && bytes + begun.size() <= most_bytes;
    });
  } catch (const Error&) {
  }
  return lines;
}

std::optional<std::string> read_small(const std::string& path, std::size_t most_bytes) {
  std::string text;
  try {
    const bool is_there = read_blocks(path, [&](std::string_view block) {
      text += block;
      return text.size() <= most_bytes;
    });
    return is_there && text.size() <= most_bytes ? std::optional(std::move(text)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace tune
