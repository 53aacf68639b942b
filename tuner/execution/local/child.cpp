// Non-blocking calls on the process's socket and pidfd, made when Asio says that they are ready.
#include "tuner/execution/local/child.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "tuner/execution/plain/open_files.h"
#include "tuner/process/process_stat.h"
#include "tuner/process/system_clock.h"

namespace tune {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

constexpr std::size_t share_messages = 64;
constexpr std::size_t share_bytes = 1024 * 1024;
constexpr std::size_t kept_buffer_bytes = 64 * 1024;

/// More than a socket holds. Bounded, since what the process left behind may write on until `reap`.
constexpr std::size_t drained_bytes = 4 * 1024 * 1024;

// Between looks at whether what was killed is gone.
constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{250};

/// So long helpers have to end by themselves once a plain program has.
constexpr std::chrono::milliseconds helpers_end{100};
constexpr int most_doublings = 8;

/// A program that saves by itself has begun to, so long after its result.
constexpr Seconds time_to_begin_s = 1;

/// It is given so much where nothing tells yet which result its saves have: the next results and
/// saves may.
constexpr int most_seconds_to_leave = 10;

/// A start that is worth a remark.
constexpr Seconds slow_start_s = 1;

/// Between looks at what a plain program has printed.
constexpr std::chrono::milliseconds read_period{20};

void release_if_large(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kept_buffer_bytes) buffer.shrink_to_fit();
}

}  // namespace

Child::Child(ChildrenShared& shared, LaunchId launch, Spawned spawned, Plain plain)
    : shared_(shared),
      launch_(launch),
      process_(std::move(spawned.process)),
      start_ticks_(spawned.start_ticks),
      stderr_begin_(spawned.stderr_begin),
      socket_(shared.context),
      exit_watch_(shared.context),
      linger_(shared.context),
      plain_(std::move(plain)),
      next_read_(shared.context) {
  socket_.assign(spawned.socket.get());
  spawned.socket.release();
  exit_watch_.assign(process_.pidfd());
}

void Child::start(std::uint16_t port) {
  shared_.happened.emplace_back(
      Launched{launch_, process_.pid(), start_ticks_, stderr_begin_, port});
  wait_for_input();
  wait_for_exit();
  if (!is_plain()) return;
  say_plainly();
  read_logs_later();
}

void Child::signal(int signal) {
  is_told_to_stop_ = false;
  is_plain() && signal != SIGKILL ? signal_leader(signal) : process_.signal(signal);
  if (!is_plain()) return;
  plain_.session->leave();
  say_plainly();
}

void Child::handle(const protocol::Command& command) {
  if (std::holds_alternative<protocol::Stop>(command)) {
    const bool is_told_again = std::exchange(is_told_to_stop_, true);
    if (!is_told_again) return has_run_to_end() ? offer_rest() : ask_to_leave();
    plain_.session->leave();  // nobody wants the rest
    return say_plainly();
  }
  plain_.session->on_command(command);
  say_plainly();
}

/// What has ended before it was signalled has not ended of that.
void Child::signal_leader(int signal) {
  if (!signalled_ns_ && !process_.ended()) signalled_ns_ = unix_ns();
  process_.signal_leader(signal);
}

/// By itself, and with success.
bool Child::has_run_to_end() const {
  const auto status = status_ ? status_ : process_.ended();
  return status && status->signal == 0 && status->exit_code == 0 && !signalled_ns_;
}

/// Of one that was told to stop, once all of it is gone.
void Child::offer_rest() {
  if (is_all_gone_ && is_told_to_stop_ && has_run_to_end() && plain_.session->stay()) {
    shared_.happened.emplace_back(RanToEnd{launch_});
  }
  say_plainly();
}

/// Whoever saves by itself does so soon after a result: it leaves once it has. That it prints the
/// next one meanwhile does not cut its time: what it saves then has both of them.
void Child::ask_to_leave() {
  if (!plain_.saves) return signal(SIGTERM);
  if (!plain_.save_signal && plain_.checkpoint_exit_code) {
    // It says by its exit code that it has saved, and has a handler: that is what saves.
    const auto stat = read_process_stat(process_.pid());
    if (stat && stat->handles(SIGTERM)) plain_.save_signal = SIGTERM;
  }
  if (plain_.save_signal) {
    told_to_save_ns_ = unix_ns();
    return signal(*plain_.save_signal);
  }
  if (plain_.session->has_checkpoint_of_last()) return signal(SIGTERM);
  plain_.session->leave();
  is_to_leave_ = true;
  seconds_to_leave_ = 1;
  shared_.watch->quiesce(launch_, time_to_begin_s);
}

void Child::find(std::vector<SavedFiles> found, CheckpointWatch::News news) {
  const auto self = shared_from_this();
  using News = CheckpointWatch::News;
  if (news == News::restless) {
    shared_.happened.emplace_back(LaunchAdvisory{
        launch_, LaunchAdvisory::What::restless,
        "has been writing to " + found.front().files.place().string() +
            " for a while, and it is no checkpoint before nothing is changed for a second, nor "
            "open "
            "for writing: "
            "a file that is renamed to its name is one at once, and so is a directory with a new "
            "\"complete\"; what else is written there needs another pattern in \"checkpoints\" "
            "(docs/plain.md)"});
    return;
  }
  if (news == News::last) plain_.session->expect_end();
  bool has_saved = false;
  for (SavedFiles& each : found) {
    const std::int64_t changed_ns = each.files.changed_ns();
    has_saved = has_saved || (told_to_save_ns_ && changed_ns >= *told_to_save_ns_);
    if (signalled_ns_) each.told_s = static_cast<double>(*signalled_ns_) * 1e-9;
    plain_.session->find(std::move(each), signalled_ns_ && changed_ns >= *signalled_ns_);
  }
  if (is_to_leave_ && !has_saved) {
    has_saved = has_saved_last() || (news == News::quiesced && !waits_for_order());
  }
  if (news == News::last) {
    plain_.session->end(*status_);
    is_all_gone_ = true;
    return offer_rest();
  }
  if (has_saved) leave();
  say_plainly();
}

bool Child::has_saved_last() const {
  return plain_.session->has_checkpoint_of_last() && !plain_.session->is_order_awaited();
}

void Child::leave() {
  if (plain_.save_signal != SIGTERM) signal_leader(SIGTERM);
  told_to_save_ns_.reset();
  is_to_leave_ = false;
}

/// Whether it is given another second.
bool Child::waits_for_order() {
  const bool may_wait = seconds_to_leave_ < most_seconds_to_leave;
  if (!may_wait || !plain_.session->is_order_awaited()) return false;
  ++seconds_to_leave_;
  shared_.watch->quiesce(launch_, time_to_begin_s);
  return true;
}

/// By looking, since not every file system tells of writes by another process; a look costs one
/// system call a log.
void Child::read_logs_later() {
  next_read_.expires_after(plain_.session->may_have_more() ? std::chrono::milliseconds(0)
                                                           : read_period);
  next_read_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (error) return;
    self->is_to_read_ = self->read_batch_ == self->shared_.batch;
    self->is_to_read_ ? self->shared_.paused.push_back(self) : self->read_logs();
  });
}

/// Once in each batch, however much one prints.
void Child::read_logs() {
  read_batch_ = shared_.batch;
  plain_.session->read();
  plain_.session->remark(
      std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - began_).count(),
      shared_.happened);
  say_plainly();
  // What it saved before a result is known to be of that once no other save can be.
  if (is_to_leave_ && has_saved_last()) leave();
  read_logs_later();
}

/// Passes on what there is to say now; after the last of it, the end.
void Child::say_plainly() {
  const auto self = shared_from_this();  // the end may be the last that is known of it
  plain_.session->say(shared_.happened);
  if (is_all_gone_ && !plain_.session->has_more()) finish();
}

void Child::queue(std::string_view lines) {
  if (socket_.is_open()) outbox_.append(lines);
}

void Child::flush() {
  if (write_pending_) return;
  while (sent_ < outbox_.size() && socket_.is_open()) {
    const ssize_t count = ::send(socket_.native_handle(), outbox_.data() + sent_,
                                 outbox_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      write_pending_ = true;
      socket_.async_wait(Descriptor::wait_write,
                         [self = shared_from_this()](boost::system::error_code error) {
                           self->write_pending_ = false;
                           if (!error) self->flush();
                         });
      return;
    } else if (errno != EINTR) {
      break;  // nobody listens; reading will find that out, after what was said before
    }
  }
  sent_ = 0;
  release_if_large(outbox_);
}

void Child::resume() {
  if (std::exchange(is_to_read_, false)) {
    if (exit_watch_.is_open()) read_logs();
    return;
  }
  if (socket_.is_open() && !faulted_) wait_for_input();
}

void Child::close() {
  socket_.close();
  if (exit_watch_.is_open()) exit_watch_.release();
  linger_.cancel();
  next_read_.cancel();
  process_.signal(SIGKILL);
  if (plain_.saves) shared_.watch->forget(launch_);
  shared_.adopted.ended(launch_);
}

bool Child::is_gone() {
  return process_.ended() && process_.clear() &&
         shared_.adopted.left_of(launch_) != Subreaper::Left::some;
}

void Child::wait_for_input() {
  socket_.async_wait(Descriptor::wait_read,
                     [self = shared_from_this()](boost::system::error_code error) {
                       if (!error) self->receive();
                     });
}

void Child::receive() {
  if (!socket_.is_open()) return;
  if (!receive_once() && errno != EAGAIN) return disconnect();
  if (faulted_) return;
  if (over_share()) {
    shared_.paused.push_back(shared_from_this());
  } else {
    wait_for_input();
  }
}

/// Takes what one call gives. False, with errno, if it gave nothing; errno 0 at the end.
bool Child::receive_once() {
  auto& block = shared_.block;
  const std::size_t room = block.size() - MessageParser::padding_bytes;
  ssize_t count = -1;
  do {
    count = ::recv(socket_.native_handle(), block.data(), room, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count == 0) errno = 0;
  if (count <= 0) return false;
  take({block.data(), static_cast<std::size_t>(count)});
  return true;
}

void Child::take(std::string_view bytes) {
  if (batch_ != shared_.batch) {
    batch_ = shared_.batch;
    messages_in_batch_ = 0;
    bytes_in_batch_ = 0;
  }
  bytes_in_batch_ += bytes.size();
  for (auto end = bytes.find('\n'); end != bytes.npos && !faulted_; end = bytes.find('\n')) {
    if (partial_.empty()) {
      take_line(bytes.substr(0, end));
    } else {
      partial_.append(bytes.substr(0, end));
      const std::size_t length = partial_.size();
      partial_.append(MessageParser::padding_bytes, ' ');
      take_line(std::string_view(partial_).substr(0, length));
      release_if_large(partial_);
    }
    bytes.remove_prefix(end + 1);
  }
  if (faulted_) return;
  partial_.append(bytes);  // copied, since the block is the next child's too
  if (partial_.size() >= protocol::max_line_bytes) {
    fault_for_length(partial_);
    release_if_large(partial_);
  }
}

void Child::take_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == line.npos) return;
  if (line.size() >= protocol::max_line_bytes) return fault_for_length(line);
  ++messages_in_batch_;
  shared_.happened.push_back(shared_.parser.parse(launch_, line));
  faulted_ = std::holds_alternative<Faulted>(shared_.happened.back());
  if (std::exchange(looks_at_start_, false)) remark_start();
}

/// Once for all: what one has loaded, the others have.
void Child::remark_start() {
  const Seconds took_s =
      std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - began_).count();
  if (took_s < slow_start_s || shared_.start_is_remarked) return;
  const auto packages = python_packages(process_.pid());
  if (packages.empty()) return;
  shared_.start_is_remarked = true;
  std::string names;
  for (const std::string& name : packages) names += (names.empty() ? "\"" : ", \"") + name + "\"";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", took_s);
  shared_.happened.emplace_back(LaunchAdvisory{
      launch_, LaunchAdvisory::What::slow_start,
      std::string("took ") + text + " s to start, and has loaded " + names +
          ": with \"preload\": [" + names +
          "] in the spec's \"trainable\" they are loaded once for all trials (docs/preload.md)"});
}

void Child::fault_for_length(std::string_view line) {
  static_assert(protocol::max_line_bytes == 16 * 1024 * 1024);
  faulted_ = true;
  shared_.happened.emplace_back(Faulted{
      launch_, "not the protocol: a line longer than 16 MiB, beginning " + quote_beginning(line)});
}

void Child::disconnect() {
  socket_.close();
  shared_.happened.emplace_back(Disconnected{launch_});
}

bool Child::over_share() {
  return batch_ == shared_.batch &&
         (messages_in_batch_ >= share_messages || bytes_in_batch_ >= share_bytes);
}

void Child::wait_for_exit() {
  exit_watch_.async_wait(Descriptor::wait_read,
                         [self = shared_from_this()](boost::system::error_code error) {
                           if (!error) self->on_exit_ready();
                         });
}

void Child::on_exit_ready() {
  if (!exit_watch_.is_open()) return;
  status_ = process_.ended();
  if (!status_) return look_again();  // readiness may be spurious, or a debugger reaps first
  if (leaves_time_to_end()) return;
  drain();
  exit_watch_.release();
  if (announces_end_ && socket_.is_open()) shared_.happened.emplace_back(Disconnected{launch_});
  socket_.close();
  shared_.adopted.ended(launch_);
  shared_.leaving.push_back(shared_from_this());
  settle_soon(shared_);
}

/// What a plain program has left running is ended. Whoever started it in the background is to hear
/// of that; helpers that end with it, such as Python's, are given the time for that.
bool Child::leaves_time_to_end() {
  if (!is_plain() || !has_run_to_end()) return false;
  const std::size_t running = shared_.adopted.running_of(launch_);
  if (running == 0) return false;
  if (std::exchange(has_left_time_, true)) {
    plain_.session->note_left_running(running);
    if (plain_.saves) cut_off_ = being_saved();
    return false;
  }
  linger_.expires_after(helpers_end);
  linger_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (!error) self->on_exit_ready();
  });
  return true;
}

std::set<std::filesystem::path> Child::being_saved() const {
  std::set<std::filesystem::path> names;
  const std::vector<OpenFile> open = open_files(process_.pid());
  for (const CheckpointFiles& files : look_at_checkpoints(plain_.root, plain_.pattern)) {
    if (!being_written(open, files).empty()) names.insert(files.name);
  }
  return names;
}

void Child::settle_soon(ChildrenShared& shared) {
  if (std::exchange(shared.to_settle, true)) return;
  asio::post(shared.context, [&shared] {
    shared.to_settle = false;
    for (const auto& child : shared.leaving) child->process_.clear();
    // Afterwards: whoever was reaped just now may have left children.
    shared.adopted.look();
    for (const auto& child : std::vector(shared.leaving)) child->conclude();
  });
}

/// What was killed takes a while to be gone, longest if it holds a GPU's memory; until then its
/// devices are nobody else's.
void Child::conclude() {
  const bool is_cleared = process_.is_cleared();
  const auto left = shared_.adopted.left_of(launch_);
  const bool only_others = process_.is_reaped() && left == Subreaper::Left::others;
  if (!only_others && (!is_cleared || left == Subreaper::Left::some)) return look_again();
  linger_.cancel();
  shared_.adopted.forget(launch_);
  std::erase(shared_.leaving, shared_from_this());
  if (!is_plain()) return finish();
  next_read_.cancel();
  if (!plain_.saves) return find({}, CheckpointWatch::News::last);
  const bool has_ended_well =
      status_->signal == 0 &&
      (status_->exit_code == 0 || status_->exit_code == plain_.checkpoint_exit_code);
  shared_.watch->end(launch_, has_ended_well, std::exchange(cut_off_, {}));
}

void Child::finish() {
  is_all_gone_ = false;
  shared_.happened.emplace_back(Exited{launch_, status_->exit_code, status_->signal});
  shared_.gone(launch_);
}

void Child::look_again() {
  linger_.expires_after(
      std::min(longest_pause, shortest_pause * (1 << std::min(looks_++, most_doublings))));
  linger_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (error) return;
    self->status_ ? settle_soon(self->shared_) : self->on_exit_ready();
  });
}

void Child::drain() {
  if (!socket_.is_open()) return;
  const std::size_t room = shared_.block.size() - MessageParser::padding_bytes;
  for (std::size_t taken = 0; taken < drained_bytes && !faulted_; taken += room) {
    if (!receive_once()) return;
  }
}

}  // namespace tune
