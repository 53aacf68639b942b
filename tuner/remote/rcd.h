// rclone as a server of our own: `rclone rcd` on loopback, with a password that only the two know.
// It reaches every store; nothing of S3, its keys or its retries is known here.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "trainable/values.h"
#include "tuner/base/clock.h"
#include "tuner/base/error.h"
#include "tuner/process/helper_process.h"

namespace tune {

/// A request that failed: what the user is told is `what()`.
class RemoteError : public Error {
 public:
  enum class Kind {
    unreachable,  ///< refused, no such host, hanging, or answering 5xx: may pass
    denied,       ///< 401 or 403
    full,
    missing,    ///< no such object or directory
    misnamed,   ///< no such remote: passes by itself never
    damaged,    ///< what came is not what was sent
    too_large,  ///< more than was asked for: given up
    abandoned,  ///< nobody wants it any more
    other,
  };
  RemoteError(Kind kind, const std::string& sentence)
      : Error(kind == Kind::misnamed ? Fault::user : Fault::machine, sentence), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// What rclone's own words mean, in ours; `while_doing` begins the sentence.
RemoteError explain_remote(const std::string& while_doing, const std::string& words);

/// One thread at a time.
class Rcd {
 public:
  /// Starts it; Error (user) if there is no rclone, or one that is too old. `stop`: once it is
  /// true, whatever is waited for is RemoteError (abandoned).
  Rcd(std::optional<std::uint64_t> bytes_per_s, const std::atomic<bool>& stop);
  ~Rcd();
  Rcd(const Rcd&) = delete;
  Rcd& operator=(const Rcd&) = delete;

  /// Calls `method` as a job and waits for its end, at most `limit_s`, then stops it. RemoteError.
  Json run(const std::string& doing, const std::string& method, Json parameters, Seconds limit_s);

  /// Allows calls for so long from now on although `stop` is true: to give the lease back at the
  /// end.
  void allow(Seconds more_s);

  // The same in steps, for what takes long.
  using Job = std::int64_t;
  Job begin(const std::string& method, Json parameters);
  /// Its output once it has ended well. RemoteError if it has failed, or is not known any more.
  std::optional<Json> look(const std::string& doing, Job job);
  void stop(Job job) noexcept;
  /// Bytes that the job has moved by now.
  std::uint64_t moved_bytes(Job job);

  /// Whether the process lives; if not, nothing else works.
  bool is_alive() const;

 private:
  Json call(const std::string& method, const Json& parameters);
  void start(std::optional<std::uint64_t> bytes_per_s);
  void wait_for_end(Job job) noexcept;

  const std::atomic<bool>& stop_;
  std::string credentials_;
  std::optional<SideProgram> program_;
  std::uint16_t port_ = 0;
  Seconds allowed_until_ = 0;
};

}  // namespace tune
