// The records of TensorBoard's event files: made from results and configs, and found again in
// bytes. Written by hand: a handful of protobuf's fields, in frames with checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tuner/base/clock.h"
#include "tuner/model/result.h"

namespace tune::tensorboard {

/// CRC-32C, as of RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

// Each appends one whole record. Times are Unix times.

/// With which a file begins: what it is.
void append_file_version(std::string& out, Seconds time);

/// A reader drops what it has of steps from `first_step` on. Its first one in a directory it takes
/// for a start only, so each file needs one.
void append_restart(std::string& out, Seconds time, std::int64_t first_step);

/// Of the tab HParams: the config, with dotted names for what is nested. Numbers, strings and
/// booleans stay what they are, lists are JSON text, null is left out.
void append_session_start(std::string& out, Seconds time, const std::string& config);
void append_session_end(std::string& out, Seconds time, bool has_succeeded);

/// The numbers of a result, at its iteration and time, as 32-bit floats: what is beyond them is an
/// infinity. Names of the driver's own fields are left out, and those that TensorBoard keeps for
/// the tab HParams. Nothing is appended if no number is left.
void append_scalars(std::string& out, const Result& result);

enum class Kind {
  scalars,
  session_end,
  other,
};

struct Record {
  std::size_t size = 0;  ///< with its frame
  Kind kind = Kind::other;
  Seconds time = 0;
  std::int64_t step = 0;
};

/// So many bytes say how long a record is.
constexpr std::size_t record_head_bytes = 12;

/// How long the record is with which `bytes` begin, those of at least its head; nothing if there is
/// none.
std::optional<std::uint64_t> record_size(std::string_view bytes);

/// The record with which `bytes` begin; nothing if it is torn or none.
std::optional<Record> read_record(std::string_view bytes);

}  // namespace tune::tensorboard
