// The data set of this example: handwritten digits, and its split into two parts (see DATA.md).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace digits {

inline constexpr int image_count = 1797;
inline constexpr int pixel_count = 64;  ///< 8 rows of 8
inline constexpr int class_count = 10;
inline constexpr int darkest_pixel = 16;

/// Images and what they show.
struct DataSet {
  Eigen::MatrixXd images;   ///< one image a column, pixels row by row, each 0 (paper) .. 1 (ink)
  std::vector<int> labels;  ///< 0 .. 9, one a column
};

/// All 1,797 images. They are part of the program: no file is read.
DataSet load_digits();

/// The images of `data` at `indices`, in that order.
DataSet select(const DataSet& data, const std::vector<int>& indices);

/// Indices into a data set; each is in exactly one part.
struct Split {
  std::vector<int> train;
  std::vector<int> validation;
};

/// A random quarter (rounded down) of 0 .. `count` - 1 for validation, the others to train on.
/// Depends on `seed` alone.
Split split_quarter(int count, std::uint64_t seed);

}  // namespace digits
