// Frames of the wire between a driver and its agents: any bytes, in pieces, are messages or refused
// in words; a message that is taken is said again as the same bytes. The first byte chooses the
// pieces.
#include <cstdint>
#include <string>
#include <string_view>

#include "tuner/base/error.h"
#include "tuner/cluster/messages.h"

namespace {

void hear(std::string_view text) {
  try {
    const tune::Message message = tune::parse_message(text);
    std::string again;
    tune::append_frame(again, {}, message);
    // Not of the bytes that came: a map may come in another order, a command with blanks.
    std::string once_more;
    constexpr std::size_t before = 4 + 13;
    tune::append_frame(once_more, {}, tune::parse_message(std::string_view(again).substr(before)));
    tune::ensure(again == once_more, "a message is heard as it was said");
  } catch (const tune::WireError& error) {
    tune::ensure(*error.what() != '\0', "what is refused has a reason");
  }
  (void)tune::version_in(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  hear(bytes);
  tune::FrameReader reader;
  if (data[0] % 2 == 1) reader.expect_large();
  const std::size_t piece = 1 + data[0] / 2;
  try {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(bytes.substr(at, piece));
      while (const auto frame = reader.next()) hear(frame->message);
    }
  } catch (const tune::WireError&) {
    // Its connection is closed.
  }
  return 0;
}
