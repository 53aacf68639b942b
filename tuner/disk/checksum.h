// XXH3-64 as 16 hexadecimal digits, of a text or of pieces. Finds damage, not malice.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace tune {

using ChecksumDigits = std::array<char, 16>;

ChecksumDigits checksum(std::string_view text);

/// The checksum of what comes in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::string_view piece);
  std::string digits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tune
