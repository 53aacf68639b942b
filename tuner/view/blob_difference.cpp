// Reads two tensors piece by piece as long doubles, for every dtype including the small floats, and
// sums up their differences.
#include "tuner/view/blob_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tune {

namespace {

using blobs::Dtype;

constexpr std::uint64_t piece_bytes = 1 << 20;

/// Wide enough for each integer of 64 bits, and for squares of each double.
using Number = long double;
using Decode = Number (*)(const std::byte*);

template <class T>
Number plain(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<Number>(value);
}

/// What the largest exponent of a small type of numbers means.
enum class Top {
  ieee,  ///< infinity and NaN
  fn,    ///< numbers, and NaN where all bits are set
  fnuz,  ///< numbers; the one NaN is where minus zero would be
};

Number small(std::uint32_t bits, int exponent_bits, int fraction_bits, int bias, Top top) {
  constexpr Number nan = std::numeric_limits<Number>::quiet_NaN();
  const auto fraction = bits & ((1U << fraction_bits) - 1);
  const auto most = (1U << exponent_bits) - 1;
  const auto exponent = bits >> fraction_bits & most;
  const bool is_negative = (bits >> (exponent_bits + fraction_bits)) != 0;
  if (top == Top::fnuz && is_negative && exponent == 0 && fraction == 0) return nan;
  if (top == Top::fn && exponent == most && fraction == (1U << fraction_bits) - 1) return nan;
  Number value = 0;
  if (top == Top::ieee && exponent == most) {
    if (fraction != 0) return nan;
    value = std::numeric_limits<Number>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<Number>(fraction), 1 - bias - fraction_bits);
  } else {
    value = std::ldexp(static_cast<Number>(fraction | 1U << fraction_bits),
                       static_cast<int>(exponent) - bias - fraction_bits);
  }
  return is_negative ? -value : value;
}

template <int exponent_bits, int fraction_bits, int bias, Top top>
Number small(const std::byte* bytes) {
  constexpr int width = (1 + exponent_bits + fraction_bits) / 8;
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes, width);
  return small(bits, exponent_bits, fraction_bits, bias, top);
}

Number power_of_two(const std::byte* bytes) {
  const auto bits = std::to_integer<int>(*bytes);
  return bits == 255 ? std::numeric_limits<Number>::quiet_NaN() : std::ldexp(Number{1}, bits - 127);
}

struct Elements {
  Decode decode = nullptr;  ///< null: they are no whole bytes
  std::size_t width = 1;    ///< of what is decoded; a complex number is two
};

Elements elements_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::BOOL:
    case Dtype::U8:
      return {plain<std::uint8_t>, 1};
    case Dtype::I8:
      return {plain<std::int8_t>, 1};
    case Dtype::I16:
      return {plain<std::int16_t>, 2};
    case Dtype::U16:
      return {plain<std::uint16_t>, 2};
    case Dtype::I32:
      return {plain<std::int32_t>, 4};
    case Dtype::U32:
      return {plain<std::uint32_t>, 4};
    case Dtype::I64:
      return {plain<std::int64_t>, 8};
    case Dtype::U64:
      return {plain<std::uint64_t>, 8};
    case Dtype::F32:
    case Dtype::C64:
      return {plain<float>, 4};
    case Dtype::F64:
      return {plain<double>, 8};
    case Dtype::F16:
      return {small<5, 10, 15, Top::ieee>, 2};
    case Dtype::BF16:
      return {small<8, 7, 127, Top::ieee>, 2};
    case Dtype::F8_E5M2:
      return {small<5, 2, 15, Top::ieee>, 1};
    case Dtype::F8_E4M3:
      return {small<4, 3, 7, Top::fn>, 1};
    case Dtype::F8_E5M2FNUZ:
      return {small<5, 2, 16, Top::fnuz>, 1};
    case Dtype::F8_E4M3FNUZ:
      return {small<4, 3, 8, Top::fnuz>, 1};
    case Dtype::F8_E8M0:
      return {power_of_two, 1};
    case Dtype::F4:
    case Dtype::F6_E2M3:
    case Dtype::F6_E3M2:
      return {};
  }
  return {};
}

class Pieces {
 public:
  Pieces(const blobs::Reader& before, const blobs::Tensor& a, const blobs::Reader& after,
         const blobs::Tensor& b)
      : before_(before), a_(a), after_(after), b_(b) {}

  /// Calls `each` with two equal pieces after the other, until it answers false.
  template <class F>
  void read(const F& each) {
    for (std::uint64_t at = 0; at < a_.bytes; at += piece_bytes) {
      const auto bytes = static_cast<std::size_t>(std::min(piece_bytes, a_.bytes - at));
      left_.resize(bytes);
      right_.resize(bytes);
      before_.read(a_, left_, at);
      after_.read(b_, right_, at);
      if (!each(left_, right_)) return;
    }
  }

 private:
  const blobs::Reader& before_;
  const blobs::Tensor& a_;
  const blobs::Reader& after_;
  const blobs::Tensor& b_;
  std::vector<std::byte> left_, right_;
};

}  // namespace

BlobDifference difference(const blobs::Reader& before, const blobs::Tensor& a,
                          const blobs::Reader& after, const blobs::Tensor& b) {
  BlobDifference found;
  Pieces pieces(before, a, after, b);
  using Piece = std::vector<std::byte>;
  pieces.read([&](const Piece& left, const Piece& right) {
    return found.is_same = std::memcmp(left.data(), right.data(), left.size()) == 0;
  });
  const Elements elements = elements_of(a.dtype);
  if (found.is_same || elements.decode == nullptr) return found;

  found.has_numbers = true;
  Number most = 0, squares = 0, squares_before = 0;
  pieces.read([&](const Piece& left, const Piece& right) {
    for (std::size_t at = 0; at < left.size(); at += elements.width) {
      const Number x = elements.decode(left.data() + at);
      const Number y = elements.decode(right.data() + at);
      found.nans_before += std::isnan(x) ? 1 : 0;
      found.nans_after += std::isnan(y) ? 1 : 0;
      if (std::isnan(x) || std::isnan(y)) continue;
      squares_before += x * x;
      if (x == y) continue;  // so are two equal infinities
      most = std::max(most, std::abs(y - x));
      squares += (y - x) * (y - x);
    }
    return true;
  });
  found.max_abs = static_cast<double>(most);
  if (squares > 0) {
    found.relative_l2 = std::isinf(squares) || squares_before == 0
                            ? std::numeric_limits<double>::infinity()
                            : static_cast<double>(std::sqrt(squares / squares_before));
  }
  return found;
}

}  // namespace tune
