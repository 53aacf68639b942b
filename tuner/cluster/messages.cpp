// Frames around messages; what is in these is codec.h's.
#include "tuner/cluster/messages.h"

#include <cstring>

#include "tuner/cluster/codec.h"

namespace tune {

namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t header_bytes = 1 + 8 + 4;  ///< version, session, attempt

}  // namespace

void append_frame(std::string& out, FrameId id, const Message& message) {
  const std::size_t begin = out.size();
  codec::Encoder encoder(out);
  encoder.put(std::uint32_t{0});
  encoder.put(wire_version);
  encoder.put(id.session);
  encoder.put(id.attempt);
  encoder.put(message);
  const std::size_t bytes = out.size() - begin - length_bytes;
  if (bytes > most_frame_bytes) {
    out.resize(begin);
    throw WireError("what is to be said is too large");
  }
  const auto length = static_cast<std::uint32_t>(bytes);
  std::memcpy(out.data() + begin, &length, sizeof(length));
}

Message parse_message(std::string_view message) {
  codec::Decoder decoder(message);
  auto parsed = decoder.take<Message>();
  decoder.end();
  return parsed;
}

std::optional<std::string> version_in(std::string_view message) {
  try {
    codec::Decoder decoder(message);
    if (decoder.take<std::uint8_t>() != Message(Join()).index()) return std::nullopt;
    return decoder.take<std::string>();
  } catch (const WireError&) {
    return std::nullopt;
  }
}

void FrameReader::feed(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_ += bytes;
}

std::optional<Frame> FrameReader::next() {
  const std::string_view left = std::string_view(buffer_).substr(begin_);
  if (left.size() < length_bytes) return std::nullopt;
  codec::Decoder length(left.substr(0, length_bytes));
  const std::size_t bytes = length.take<std::uint32_t>();
  if (bytes > most_bytes_) throw WireError("a frame of " + std::to_string(bytes) + " bytes");
  if (bytes < header_bytes) throw WireError("a frame without a header");
  if (left.size() < length_bytes + bytes) return std::nullopt;
  codec::Decoder header(left.substr(length_bytes, header_bytes));
  const auto version = header.take<std::uint8_t>();
  if (version != wire_version) {
    throw WireError("version " + std::to_string(version) + " of the wire");
  }
  Frame frame;
  frame.id.session = header.take<std::uint64_t>();
  frame.id.attempt = header.take<std::uint32_t>();
  frame.message = left.substr(length_bytes + header_bytes, bytes - header_bytes);
  begin_ += length_bytes + bytes;
  return frame;
}

}  // namespace tune
