// The wire between a driver and its agents: messages, and the frames that carry them. Who speaks is
// known by then (tls.h); what is said is checked all the same.
// A frame: u32 bytes behind it, u8 version of the wire, u64 session, u32 attempt, then the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "tuner/execution/kept_launch.h"
#include "tuner/model/resources.h"

namespace tune {

/// What is not of the wire; a phrase.
class WireError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::uint8_t wire_version = 1;
/// Of one that has joined: a result has up to 16 MiB of text, and as much again in numbers.
inline constexpr std::size_t most_frame_bytes = std::size_t{128} << 20;
/// Until then.
inline constexpr std::size_t most_first_frame_bytes = std::size_t{256} << 10;

// An agent to its driver.

/// First of all. `version` is its first member in each version.
struct Join {
  std::string version;  ///< of tune: both must be of the same
  NodeResources node;
  /// A file in the experiment's directory (cluster_files.h) that this agent has made there, with
  /// `proof` in it: so both see one directory.
  std::string file;
  std::string proof;
  /// It was an agent of a driver that has died, and hands over what it has kept: once welcome, it
  /// says a KeptLaunch for each launch, and HandedOver.
  bool is_back = false;
};
/// Something of a launch.
struct Happened {
  LaunchEvent event;
};
/// It has been told to leave by somebody else; what ran there has ended.
struct Left {
  std::string reason;  ///< a phrase
};
/// That was all that it has kept.
struct HandedOver {};
/// It lives, and asks for its lease to go on. The first one is 1.
struct Renewal {
  std::uint64_t number = 0;
};

/// Whoever has started it will end it soon, and gives it time until then: Slurm before a job is
/// preempted or over. It goes on until it is told to leave.
struct Warned {
  std::string reason;  ///< a sentence
};

// A driver to an agent.

struct Welcome {
  Seconds lease_s = 0;        ///< from the saying of its Join, and of what is heard of it since
  std::uint32_t attempt = 0;  ///< of all frames from now on, in both directions
};
/// It does not join.
struct TurnedAway {
  std::string reason;  ///< a sentence
};
struct Launch {
  LaunchId launch{};
  LaunchSpec spec;
};
struct Told {
  LaunchId launch{};
  std::string line;  ///< a command, as its trainable gets it
};
struct Signalled {
  LaunchId launch{};
  std::int32_t signal = 0;
};
/// The driver lives, and has heard the agent's renewals up to this one: its lease lasts from when
/// it has *said* that. So the driver, which has heard it later, never takes it for over too early,
/// whichever way the words between them are lost or late.
struct Renewed {
  std::uint64_t number = 0;
};
/// The run is over.
struct Leave {};

using Message = std::variant<Join, Happened, Left, Renewal, KeptLaunch, HandedOver, Welcome,
                             TurnedAway, Launch, Told, Signalled, Renewed, Leave, Warned>;

/// Of which driver's session a frame is, and of which connection in it: what was said in another
/// one counts no more. A Join is of attempt 0.
struct FrameId {
  std::uint64_t session = 0;
  std::uint32_t attempt = 0;
  bool operator==(const FrameId&) const = default;
};

void append_frame(std::string& out, FrameId id, const Message& message);

struct Frame {
  FrameId id;
  std::string_view message;  ///< valid until the reader is fed
};

/// Throws WireError.
Message parse_message(std::string_view message);
/// Of a Join of any version of tune; nothing if it is none.
std::optional<std::string> version_in(std::string_view message);

/// Cuts what comes in pieces into frames.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  /// The next one that is whole. Throws WireError for one that is too large, or of another wire;
  /// nothing that comes behind it means anything.
  std::optional<Frame> next();
  /// The other side has joined.
  void expect_large() { most_bytes_ = most_frame_bytes; }

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  ///< of what has not been given
  std::size_t most_bytes_ = most_first_frame_bytes;
};

}  // namespace tune
