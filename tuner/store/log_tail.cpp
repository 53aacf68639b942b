#include "tuner/store/log_tail.h"

#include <algorithm>
#include <fstream>

namespace tune {

std::string last_line(const std::filesystem::path& file, std::size_t max_bytes) {
  constexpr std::streamoff window_bytes = 4096;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg();
  const std::streamoff start = std::max<std::streamoff>(0, size - window_bytes);
  std::string text(static_cast<std::size_t>(size - start), '\0');
  in.seekg(start);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const auto newline = text.find_last_of('\n', end);
  const auto begin = newline == std::string::npos ? 0 : newline + 1;
  return text.substr(begin, std::min(end + 1 - begin, max_bytes));
}

}  // namespace tune
