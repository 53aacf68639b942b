#include "tuner/store/log_tail.h"

#include <algorithm>
#include <fstream>

namespace tune {

std::string log_tail(const std::filesystem::path& file, std::uint64_t begin) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg();
  // Whoever has cut the file meanwhile has left only what is newer.
  std::streamoff start = static_cast<std::streamoff>(begin);
  if (start > size) start = 0;
  start = std::max(start, size - static_cast<std::streamoff>(tail_bytes));
  std::string text(static_cast<std::size_t>(size - start), '\0');
  in.seekg(start);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  std::size_t at = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (std::size_t lines = 0; lines < tail_lines; ++lines) {
    if (at == 0) return text;
    at = text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
  }
  return text.substr(at + 1);
}

std::string last_line(const std::string& text, std::size_t max_bytes) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const auto newline = text.find_last_of('\n', end);
  const auto begin = newline == std::string::npos ? 0 : newline + 1;
  return text.substr(begin, std::min(end + 1 - begin, max_bytes));
}

}  // namespace tune
