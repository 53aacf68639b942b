// The data set out of the rows that the build made of digits.txt.
#include "apps/examples/digits/digits.h"

#include <iterator>
#include <numeric>
#include <string_view>

#include "apps/examples/digits/random.h"

namespace digits {
namespace {

constexpr std::string_view rows[] = {
#include "digits_rows.inc"
};
static_assert(std::size(rows) == image_count);

constexpr std::size_t label_position = pixel_count + 1;

int pixel_value(char letter) { return letter <= '9' ? letter - '0' : letter - 'a' + 10; }

}  // namespace

DataSet load_digits() {
  DataSet data{Eigen::MatrixXd(pixel_count, image_count), std::vector<int>(image_count)};
  for (int column = 0; column < image_count; ++column) {
    const std::string_view row = rows[column];
    for (int pixel = 0; pixel < pixel_count; ++pixel)
      data.images(pixel, column) = static_cast<double>(pixel_value(row[pixel])) / darkest_pixel;
    data.labels[column] = row[label_position] - '0';
  }
  return data;
}

DataSet select(const DataSet& data, const std::vector<int>& indices) {
  const auto count = static_cast<Eigen::Index>(indices.size());
  DataSet selected{Eigen::MatrixXd(data.images.rows(), count), std::vector<int>(indices.size())};
  for (Eigen::Index column = 0; column < count; ++column) {
    selected.images.col(column) = data.images.col(indices[column]);
    selected.labels[column] = data.labels[indices[column]];
  }
  return selected;
}

Split split_quarter(int count, std::uint64_t seed) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  Random(seed).shuffle(order);
  const auto boundary = order.begin() + count / 4;
  return {{boundary, order.end()}, {order.begin(), boundary}};
}

}  // namespace digits
