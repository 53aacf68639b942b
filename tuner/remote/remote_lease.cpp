// Acquires, renews, confirms and releases the lease object: write, then read back, then trust it.
#include "tuner/remote/remote_lease.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/disk/lease.h"

namespace tune {

namespace {

std::string name_of(const RemoteLease& lease) {
  return "pid " + std::to_string(lease.pid) + " on host " + clean_text(lease.host);
}

}  // namespace

RemoteLeaseHolder::RemoteLeaseHolder(RemoteStore& store, UploadMemory& memory, Seconds lease_s)
    : store_(store), memory_(memory), lease_s_(std::clamp(lease_s, 0.0, most_lease_s)) {}

std::optional<StateMarkerName> RemoteLeaseHolder::newest_state() {
  std::optional<StateMarkerName> newest;
  for (const auto& [name, bytes] : store_.list("state", false)) {
    const auto parsed = parse_state_marker_name(name);
    // An empty one was never written: the driver before died there.
    if (parsed && bytes > 0 && (!newest || *newest < *parsed)) newest = parsed;
  }
  return newest;
}

/// If what is on the remote is not what this directory goes on from.
void RemoteLeaseHolder::refuse_other_state(const std::optional<StateMarkerName>& newest) {
  if (!newest) return;
  const auto& identity = memory_.identity();
  const auto text =
      store_.get_text(state_marker_name(newest->session, newest->number), most_state_marker_bytes);
  const auto marker = text ? parse_state_marker(*text, *newest) : std::nullopt;
  const std::string& root = store_.root();
  if (marker && identity.experiment != marker->experiment) {
    throw RemoteTakenOver(root + " holds another experiment of this name: go on with that (tune " +
                          "resume --remote " + root + "), or use another name or remote");
  }
  const auto& state = memory_.state();
  if (state && *newest > StateMarkerName{state->session, state->number}) {
    throw RemoteTakenOver(
        "the experiment on " + root + " has gone on elsewhere since it was put " +
        "there from this directory, or taken from there: go on where it was, or " +
        "with tune resume --remote " + root + " in a new directory");
  }
}

/// An empty mount point takes everything, and has nothing of what it was given.
void RemoteLeaseHolder::require_something(bool is_there) {
  const bool was_put_up = memory_.state() || !memory_.identity().owner.empty();
  if (is_there || !was_put_up) return;
  throw RemoteError(
      RemoteError::Kind::unreachable,
      "nothing is on " + store_.root() + " of the experiment that was put there: " +
          "is it mounted, is it the right place? If it was removed for good, remove " +
          "the directory remote/ of the experiment, and all is put up again");
}

/// The one object that is written over. On a disk rclone does so in place: whoever reads it at that
/// moment gets a part of it, or an error.
std::optional<std::string> RemoteLeaseHolder::read() {
  constexpr int most_tries = 5;
  for (int tries = 1;; ++tries) {
    const bool is_last = tries == most_tries;
    try {
      auto text = store_.get_text(lease_name, most_lease_bytes);
      if (is_last || !text || parse_remote_lease(*text)) return text;
    } catch (const RemoteError& error) {
      if (is_last || error.kind() != RemoteError::Kind::damaged) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50 * tries));
  }
}

void RemoteLeaseHolder::refuse(const RemoteLease& other) {
  is_held_ = false;
  throw RemoteTakenOver("the experiment on " + store_.root() + " was taken over by " +
                        name_of(other) + ": go on with it there; what this directory has since " +
                        "then is not on the remote");
}

void RemoteLeaseHolder::acquire(bool takes_state) {
  const auto identity = memory_.identity();
  // First: whoever lists is told why that is refused, and who asks for one object is not.
  const auto newest = newest_state();
  const auto text = read();
  const auto lease = text ? parse_remote_lease(*text) : std::nullopt;
  require_something(text || newest);
  const bool is_own = lease && !identity.owner.empty() && lease->owner == identity.owner;
  if (!is_own && !takes_state) refuse_other_state(newest);
  if (text && !is_own && !(lease && lease->is_released)) {
    const Seconds now = seconds_since_boot();
    if (text != watched_) {
      has_seen_renewal_ = watched_.has_value();
      watched_ = text;
      watched_since_ = now;
    }
    const Seconds silent_s = now - watched_since_;
    const Seconds whole_s = lease ? lease->lease_s : lease_s_;
    if (silent_s < whole_s) {
      throw RemoteLeaseHeld(
          (lease ? name_of(*lease) : "somebody whose lease cannot be read") + " drives the " +
              "experiment on " + store_.root() +
              (has_seen_renewal_
                   ? " and was alive just now: it is waited for until it ends; it has been"
                   : ", or has died:") +
              " silent for " + std::to_string(static_cast<long>(silent_s)) + " s of the " +
              std::to_string(static_cast<long>(whole_s)) + " s after which it counts as dead",
          silent_s);
    }
  }
  const std::int64_t last_session =
      std::max({newest ? newest->session : 0, identity.session, lease ? lease->session : 0});
  if (last_session >= most_session) {
    throw user_error("the experiment on " + store_.root() + " has session " +
                     std::to_string(last_session) + ", which no driver has come to: somebody " +
                     "else writes there");
  }
  own_ = {.experiment = identity.experiment.empty() ? random_name() : identity.experiment,
          .owner = random_name(),
          .session = last_session + 1,
          .host = this_identity().host,
          .pid = this_identity().pid,
          .lease_s = lease_s_};
  has_written_ = true;
  write(false);
  if ((text || newest) && !is_own) {
    // Somebody who looked at the same time has written by now, or sees this. A state without a
    // lease is mostly one whose lease was being written: on a disk, rclone removes what it is
    // stopped in.
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  }
  const auto again = read();
  const auto now_there = again ? parse_remote_lease(*again) : std::nullopt;
  if (!now_there || now_there->owner != own_.owner) {
    watched_.reset();
    has_written_ = false;
    throw RemoteLeaseHeld("somebody else has taken the experiment on " + store_.root() +
                              " at this moment" +
                              (now_there ? ": " + name_of(*now_there) : std::string()),
                          0);
  }
  memory_.set_identity({own_.experiment, own_.owner, own_.session});
  is_held_ = true;
}

void RemoteLeaseHolder::write(bool is_released) {
  own_.time = unix_now();
  own_.is_released = is_released;
  ++own_.renewals;
  store_.put_text(to_text(own_), lease_name);
  renewed_at_ = seconds_since_boot();
}

void RemoteLeaseHolder::renew() {
  if (!is_held_ || seconds_since_boot() - renewed_at_ < lease_s_ / renewals_in_lease) return;
  confirm();
  write(false);
}

void RemoteLeaseHolder::confirm() {
  const auto text = read();
  const auto there = text ? parse_remote_lease(*text) : std::nullopt;
  if (there && there->owner != own_.owner) refuse(*there);
  // What was under way as the disk was taken away may be in its place by now.
  if (!text) require_something(store_.list("", false).contains("experiment.json"));
}

void RemoteLeaseHolder::release() noexcept {
  is_held_ = false;
  if (std::exchange(has_written_, false)) release_of(own_.owner);
}

void RemoteLeaseHolder::release_left() noexcept {
  if (!memory_.identity().owner.empty()) release_of(memory_.identity().owner);
}

void RemoteLeaseHolder::release_of(const std::string& owner) noexcept {
  try {
    const auto text = read();
    const auto there = text ? parse_remote_lease(*text) : std::nullopt;
    if (!there || there->is_released || there->owner != owner) return;
    own_ = *there;
    write(true);
  } catch (const std::exception&) {
    // Whoever comes next waits for the whole lease.
  }
}

}  // namespace tune
