// The header of a file of tensors: any bytes are refused with a sentence, or are tensors that lie
// one behind the other from the header to the file's end, and can be written as they were read.
#include <cstdint>
#include <string>

#include "trainable/blobs_header.h"
#include "tuner/base/error.h"

namespace {

using tune::ensure;
namespace blobs = tune::blobs;

void view_experiment(const blobs::Header& header, std::uint64_t header_end,
                     std::uint64_t file_bytes) {
  std::uint64_t end = header_end;
  std::vector<blobs::Declared> declared;
  for (const auto& tensor : header.tensors) {
    ensure(tensor.offset == end, "no holes and no overlaps");
    ensure(blobs::bytes_of(tensor.dtype, tensor.shape) == tensor.bytes,
           "sizes are those of shapes");
    ensure(blobs::is_utf8(tensor.name), "names are UTF-8");
    end += tensor.bytes;
    declared.push_back(
        {std::string(tensor.name), tensor.dtype, {tensor.shape.begin(), tensor.shape.end()}});
  }
  ensure(end == file_bytes, "nothing is left over");
  const auto index = blobs::index_names(header.tensors);
  ensure(index.size() == header.tensors.size(), "all names are found");
  const auto layout = blobs::lay_out(declared, header.metadata);
  const auto again = blobs::parse_header(
      layout.text, blobs::length_bytes + layout.text.size() + layout.data_bytes);
  ensure(again.tensors.size() == declared.size(), "what was written is read");
  ensure(again.metadata == header.metadata, "and so is the metadata");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte says how much data follows on the header.
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::uint64_t header_end = blobs::length_bytes + text.size();
  const std::uint64_t file_bytes = header_end + data[0];
  blobs::Header header;
  try {
    header = blobs::parse_header(text, file_bytes);
  } catch (const blobs::Error& error) {
    ensure(*error.what() != '\0', "a refusal is said in words");
    return 0;
  }
  view_experiment(header, header_end, file_bytes);
  return 0;
}
