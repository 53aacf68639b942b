// Files of named tensors, right ones and wrong ones, in a directory of their own.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "trainable/blobs.h"

namespace tune {

class BlobDirectory {
 public:
  BlobDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "blobs-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path = name;
  }
  ~BlobDirectory() { std::filesystem::remove_all(path); }
  BlobDirectory(const BlobDirectory&) = delete;
  BlobDirectory& operator=(const BlobDirectory&) = delete;

  std::filesystem::path put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }

  std::filesystem::path path;
};

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file with this header, which is said to have `length` bytes, and this data.
inline std::string blob_file(const std::string& header, const std::string& data,
                             std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes + header + data;
}
inline std::string blob_file(const std::string& header, const std::string& data) {
  return blob_file(header, data, header.size());
}

/// What is said about it; "" if it can be read.
inline std::string refusal_of(const std::filesystem::path& file) {
  try {
    blobs::Reader reader(file);
    return "";
  } catch (const blobs::Error& error) {
    return error.what();
  }
}

}  // namespace tune
