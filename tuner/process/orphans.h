// Finds the processes that a dead driver left running, by a variable in their environment, and ends
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/disk/liveness.h"

namespace tune {

/// Which driver process of which experiment has launched a process: the value of TUNE_SESSION in
/// its environment, which is inherited by whatever it starts. It holds no path, since an
/// experiment's directory may move.
struct SessionMark {
  std::int64_t experiment = 0;  ///< microseconds of Unix time at which the experiment first started
  ProcessIdentity driver;
};

std::string to_text(const SessionMark& mark);
/// Nothing if the text is no mark.
std::optional<SessionMark> parse_session_mark(std::string_view text);

/// A process that the journal has seen start and not end.
struct RecordedProcess {
  std::string trial;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
};

/// Kills whatever an earlier, dead driver of this experiment has left on this host, and waits until
/// it is gone, since it may hold devices. Nothing without the mark is touched: not the process that
/// has got a recorded pid since; nor what a driver may have started that lives, or of which that
/// cannot be seen from here. Returns sentences for the user: what was ended, what could not be,
/// and which recorded process was left alone though it looks like the one that was recorded.
/// `self`: this driver, which lives.
std::vector<std::string> end_orphans(const SessionMark& self,
                                     const std::vector<RecordedProcess>& recorded,
                                     Seconds patience_s = 30);

/// Kills whatever has this process as `driver` in its mark, and waits until it is gone.
void end_launched_by(const ProcessIdentity& launcher, Seconds patience_s = 5);

/// In the environment of what is no trial's: what it belongs to ("the searcher's program").
inline constexpr const char* part_variable = "TUNE_PART";

/// Kills whatever has `word` in its TUNE_LAUNCH (subreaper.h), reaps what of it is this process's
/// child, and waits until it is gone.
void end_launched(std::string_view word, Seconds patience_s = 5);

}  // namespace tune
