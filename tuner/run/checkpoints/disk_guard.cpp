// Asks for free space on a worker thread, caches the answer for seconds, and says when launches are
// held up.
#include "tuner/run/checkpoints/disk_guard.h"

#include <limits>
#include <optional>

#include "tuner/base/byte_size.h"

namespace tune {

namespace {

/// A trial that was just launched writes little at first; space does not vanish faster.
constexpr Seconds known_for_s = 5;
constexpr Seconds said_again_after_s = 600;

}  // namespace

DiskGuard::DiskGuard(FileSystem& files, Workers& workers, const EventCommitter& committer,
                     CallbackList& callbacks, std::filesystem::path directory,
                     std::uint64_t min_free_bytes)
    : files_(files),
      workers_(workers),
      committer_(committer),
      callbacks_(callbacks),
      directory_(std::move(directory)),
      min_free_bytes_(min_free_bytes) {}

bool DiskGuard::allows_launch() {
  if (min_free_bytes_ == 0) return true;
  const bool is_known = was_asked_ && committer_.steady() < asked_at_ + known_for_s;
  if (!asking_ && !is_known) ask();
  return !asking_ && !is_low_;
}

std::string DiskGuard::waits_for() const {
  if (!is_low_) return "";
  return "disk space (" + show_byte_size(free_bytes_) + " of " + show_byte_size(min_free_bytes_) +
         ")";
}

Seconds DiskGuard::deadline() const {
  const bool waits = is_low_ && !asking_;
  return waits ? asked_at_ + known_for_s : std::numeric_limits<Seconds>::infinity();
}

void DiskGuard::ask() {
  asking_ = true;
  workers_.post(
      Lane::prompt,
      [this]() -> std::optional<std::uint64_t> {
        try {
          return files_.free_bytes(directory_);
        } catch (const Error&) {
          return std::nullopt;  // whoever writes there will say what is wrong
        }
      },
      [this](std::optional<std::uint64_t> free_bytes) {
        asking_ = false;
        was_asked_ = true;
        asked_at_ = committer_.steady();
        add(free_bytes.value_or(min_free_bytes_));
      });
}

void DiskGuard::add(std::uint64_t free_bytes) {
  const bool was_low = is_low_;
  free_bytes_ = free_bytes;
  is_low_ = free_bytes < min_free_bytes_;
  const std::string place = show_byte_size(free_bytes) + " free in " + directory_.native();
  if (is_low_ && (!was_low || asked_at_ >= said_at_ + said_again_after_s)) {
    said_at_ = asked_at_;
    callbacks_.notice((was_low ? "still only " : "only ") + place + ", less than min_free_bytes (" +
                      show_byte_size(min_free_bytes_) +
                      "): no trial is launched until there is more; those that run go on");
  } else if (was_low && !is_low_) {
    callbacks_.notice("there is room again, " + place + ": trials are launched again");
  }
}

}  // namespace tune
