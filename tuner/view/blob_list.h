// Tensors as the commands show them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trainable/blobs.h"
#include "trainable/values.h"

namespace tune {

std::string shape_of(const blobs::Tensor& tensor);  ///< "[2,3]"

/// `name`, `dtype`, `shape`, `bytes`.
Json blob_json(const blobs::Tensor& tensor);

/// A checkpoint's tensors, sorted by name, each with its `file`; none if it has no such files.
/// blobs::Error if one cannot be read.
Json blobs_json(const std::filesystem::path& checkpoint);

/// A row for each of `blobs`, which is of blobs_json, behind the words in `head`.
void add_blob_rows(const std::vector<std::string>& head, const Json& blobs,
                   std::vector<std::vector<std::string>>& rows);

}  // namespace tune
