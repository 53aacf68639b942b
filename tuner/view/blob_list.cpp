// Tensors as JSON and as rows of a table.
#include "tuner/view/blob_list.h"

#include <algorithm>

namespace tune {

std::string shape_of(const blobs::Tensor& tensor) {
  return Json(std::vector(tensor.shape.begin(), tensor.shape.end())).dump();
}

Json blob_json(const blobs::Tensor& tensor) {
  return {{"name", std::string(tensor.name)},
          {"dtype", std::string(to_string(tensor.dtype))},
          {"shape", std::vector(tensor.shape.begin(), tensor.shape.end())},
          {"bytes", tensor.bytes}};
}

Json blobs_json(const std::filesystem::path& checkpoint) {
  Json list = Json::array();
  if (blobs::files_in(checkpoint).empty()) return list;
  const blobs::Reader reader(checkpoint);
  std::vector<const blobs::Tensor*> sorted;
  for (const auto& tensor : reader.tensors()) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const auto* tensor : sorted) {
    Json one = blob_json(*tensor);
    one["file"] = reader.files()[tensor->file].filename().string();
    list.push_back(std::move(one));
  }
  return list;
}

void add_blob_rows(const std::vector<std::string>& head, const Json& blobs,
                   std::vector<std::vector<std::string>>& rows) {
  for (const Json& blob : blobs) {
    auto& row = rows.emplace_back(head);
    row.push_back(blob.at("name"));
    row.push_back(blob.at("dtype"));
    row.push_back(blob.at("shape").dump());
    row.push_back(blob.at("bytes").dump());
  }
}

}  // namespace tune
