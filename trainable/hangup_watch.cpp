// Waits in poll for a hangup, in a thread that no signal reaches.
#include "trainable/hangup_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <system_error>

namespace tune {
namespace {

void wait_for(pollfd* fds, nfds_t count, int timeout_ms) {
  while (::poll(fds, count, timeout_ms) < 0 && errno == EINTR) {
  }
}

}  // namespace

HangupWatch::HangupWatch(int socket_fd) : over_fd_(::eventfd(0, EFD_CLOEXEC)) {
  if (over_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  // The program's signal handlers shall run where its author expects them: not in our thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, socket_fd] { watch(socket_fd); });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(over_fd_);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HangupWatch::~HangupWatch() {
  ::eventfd_write(over_fd_, 1);
  thread_.join();
  ::close(over_fd_);
}

void HangupWatch::watch(int socket_fd) const {
  pollfd fds[] = {{socket_fd, POLLRDHUP, 0}, {over_fd_, POLLIN, 0}};
  wait_for(fds, 2, -1);
  if (fds[1].revents == 0) wait_for(&fds[1], 1, hangup_grace_ms);
  if (fds[1].revents != 0) return;
  std::fputs("tune: the driver is gone, and this program was busy: it ends here\n", stderr);
  ::_exit(exit_driver_gone);
}

}  // namespace tune
