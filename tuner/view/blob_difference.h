// How far two tensors are apart.
#pragma once

#include <cstdint>

#include "trainable/blobs.h"

namespace tune {

struct BlobDifference {
  bool is_same = true;       ///< byte by byte
  bool has_numbers = false;  ///< false: the same, or of a type whose elements are no whole bytes
  double max_abs = 0;        ///< the largest |b - a|
  double relative_l2 = 0;    ///< |b - a| / |a|, by Euclid; infinite if a is 0 everywhere
  std::uint64_t nans_before = 0, nans_after = 0;  ///< such elements are in neither of the two
};

/// Of tensors of one type and shape, read in pieces. blobs::Error if they cannot be read.
BlobDifference difference(const blobs::Reader& before, const blobs::Tensor& a,
                          const blobs::Reader& after, const blobs::Tensor& b);

}  // namespace tune
