// Settings of the whole process that executors need while they live.
#pragma once

#include <sys/resource.h>

namespace tune {

/// The first of these in the process takes it over, the last gives everything back as it was:
/// - what trials leave behind becomes this process's child, not init's (a subreaper);
/// - writing to who has gone, or beyond the limit of a file's size, is an error, not the end
///   (SIGPIPE, SIGXFSZ);
/// - exit codes are kept (SIGCHLD is not ignored, and what handler there was is not called);
/// - as many descriptors are allowed as there may be: each trial takes two.
/// From any thread.
class ProcessWide {
 public:
  ProcessWide();
  ~ProcessWide();
  ProcessWide(const ProcessWide&) = delete;
  ProcessWide& operator=(const ProcessWide&) = delete;

  /// What limit the process had before: programs that it starts are to find the user's own, since
  /// some cannot work with a large one (select, or a loop that closes all).
  rlimit descriptors_before() const { return descriptors_before_; }

 private:
  rlimit descriptors_before_{};
};

}  // namespace tune
