// XXH3-64, compiled in from its header (XXH_INLINE_ALL is set by the build).
#include "tuner/disk/checksum.h"

#include <xxhash.h>

#include <cstdint>

namespace tune {

namespace {

ChecksumDigits to_digits(std::uint64_t hash) {
  ChecksumDigits digits{};
  for (std::size_t i = digits.size(); i-- > 0; hash >>= 4)
    digits[i] = "0123456789abcdef"[hash & 15];
  return digits;
}

}  // namespace

struct Checksum::State {
  XXH3_state_t xxh;
};

ChecksumDigits checksum(std::string_view text) {
  return to_digits(XXH3_64bits(text.data(), text.size()));
}

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Checksum::~Checksum() = default;

void Checksum::add(std::string_view piece) {
  XXH3_64bits_update(&state_->xxh, piece.data(), piece.size());
}

std::string Checksum::digits() const {
  const ChecksumDigits digits = to_digits(XXH3_64bits_digest(&state_->xxh));
  return {digits.begin(), digits.end()};
}

}  // namespace tune
