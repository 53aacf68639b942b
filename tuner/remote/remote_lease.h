// Who may write to an experiment on a remote. Stores behind rclone know no compare-and-set: of two
// that try at the same instant the later write wins, and both look again. What keeps a loser from
// harm is that nothing is ever written over, and that what counts has a higher session.
// Never compares clocks of two hosts.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tuner/base/clock.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

/// Another driver has the lease; says for how long no renewal has been seen.
class RemoteLeaseHeld : public Error {
 public:
  RemoteLeaseHeld(const std::string& sentence, Seconds silence_s)
      : Error(Fault::user, sentence), silent_s(silence_s) {}
  Seconds silent_s;
};

/// Another driver has taken the experiment over, or it is another experiment: this driver must
/// never write to it again.
class RemoteTakenOver : public Error {
 public:
  explicit RemoteTakenOver(const std::string& sentence) : Error(Fault::user, sentence) {}
};

class RemoteLeaseHolder {
 public:
  /// `lease_s`: others take over once they have seen nothing for so long.
  RemoteLeaseHolder(RemoteStore& store, UploadMemory& memory, Seconds lease_s);

  /// Takes it if nobody has it, it was given back, or it is that of an earlier driver of this very
  /// directory; else RemoteLeaseHeld, until it has not been renewed for its whole length between
  /// the first call and this one. RemoteTakenOver if the remote has another experiment, or one that
  /// has gone on elsewhere since it was here; not if `takes_state`: then what is there is taken
  /// before anything is put there.
  void acquire(bool takes_state = false);

  /// To be called now and then; renews it when that is due. RemoteTakenOver if another
  /// has it. RemoteError, of both, also if nothing is there of what was put there.
  void renew();
  /// The same look without renewing it: before anything that counts is put there.
  void confirm();
  void release() noexcept;
  /// The same for a lease that an earlier holder had from this very directory.
  void release_left() noexcept;

  bool is_held() const { return is_held_; }

 private:
  void require_something(bool is_there);
  void refuse_other_state(const std::optional<StateMarkerName>& newest);
  std::optional<StateMarkerName> newest_state();
  std::optional<std::string> read();
  void write(bool is_released);
  void release_of(const std::string& owner) noexcept;
  [[noreturn]] void refuse(const RemoteLease& other);

  RemoteStore& store_;
  UploadMemory& memory_;
  const Seconds lease_s_;
  RemoteLease own_;
  bool is_held_ = false;
  bool has_written_ = false;  ///< and perhaps not come to know that it has it
  Seconds renewed_at_ = 0;
  std::optional<std::string> watched_;  ///< what the object held at the first look
  Seconds watched_since_ = 0;
  bool has_seen_renewal_ = false;
};

}  // namespace tune
