// `tune status --follow`: shows an experiment again and again, until its driver has ended.
#pragma once

#include <functional>
#include <string>

namespace tune {

/// One look at an experiment.
struct StatusFrame {
  std::string screen;      ///< for a terminal: lines
  std::string line;        ///< for a pipe, without the time of day
  bool is_data = false;    ///< `line` is for programs: it stands alone, on a terminal too
  std::string key;         ///< the line without what changes by itself as time goes by
  bool is_driven = false;  ///< it may become another one
  int exit_code = 0;       ///< if it is the last one
};

/// Redraws the screen in place on a terminal; in a pipe prints a line for each change, and one a
/// minute without any. Answers with the exit code of the last frame.
int follow_status(const std::function<StatusFrame()>& view);

}  // namespace tune
