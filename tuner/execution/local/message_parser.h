// Parses a line from a trainable into an event of its launch.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "tuner/execution/reactor.h"

namespace tune {

/// Reads docs/protocol.md's messages from the trainable. Keeps buffers between lines.
class MessageParser {
 public:
  /// Bytes that must be readable behind a line; what they hold does not matter.
  static constexpr std::size_t padding_bytes = 64;

  MessageParser();
  ~MessageParser();

  /// Greeted, Refused, Reported, SaveAnswered or Faulted. Anything that is not the protocol is a
  /// fault that quotes the beginning of the line. `line` is without its newline.
  Wakeup parse(LaunchId launch, std::string_view line);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

/// At most the first 100 bytes of `line` in quotes; what is not printable ASCII is shown as '?'.
std::string quote_beginning(std::string_view line);

}  // namespace tune
