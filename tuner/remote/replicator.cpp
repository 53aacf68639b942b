// The replicator's thread: the order of work in a round, exponential backoff, and the wait at the
// end of a run.
#include "tuner/remote/replicator.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/disk/liveness.h"
#include "tuner/remote/checkpoint_fetches.h"
#include "tuner/remote/checkpoint_uploads.h"
#include "tuner/remote/overlap.h"
#include "tuner/remote/rcd.h"
#include "tuner/remote/remote_lease.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/small_files.h"
#include "tuner/remote/state_replicator.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

namespace {

using Kind = RemoteError::Kind;
using Steady = std::chrono::steady_clock;

/// From the begin of one upload of the state to the next: with the time that one takes, a remote is
/// at most 10 s behind.
constexpr Seconds state_period_s = 5;
/// The same once a checkpoint is up.
constexpr Seconds state_after_checkpoint_s = 2;
/// Files of trials go up again so often, and so seldom that they take a twentieth of the time.
constexpr Seconds files_period_s = 60;
constexpr double files_cost_factor = 19;
constexpr Seconds most_backoff_s = 30;
constexpr int most_doublings = 6;
/// In one round.
constexpr Seconds most_removing_s = 3;
constexpr Seconds status_period_s = 1;
/// A run does not wait longer for its remote before it begins.
constexpr Seconds open_limit_s = 15;
constexpr Seconds held_wait_s = 0.5;
constexpr Seconds say_every_s = 10;
/// A fetch that takes longer is said.
constexpr Seconds fetch_patience_s = 10;
/// A store is slow, and not silent, for so long.
constexpr Seconds open_patience_s = 3;
/// At the end, with a store that may not answer.
constexpr Seconds release_limit_s = 2;
/// Faults of this machine's disk pass where a snapshot took over meanwhile: said when they stay.
constexpr int faults_until_said = 3;

std::chrono::duration<double> seconds(Seconds s) { return std::chrono::duration<double>(s); }

Seconds backoff_s(int failures) {
  return std::min(most_backoff_s,
                  0.5 * static_cast<double>(1 << std::min(failures, most_doublings)));
}

}  // namespace

/// What the thread works with; made anew when rclone has died.
class Replicator::Session {
 public:
  explicit Session(Replicator& replicator)
      : replicator_(replicator),
        memory_(replicator.files_, replicator.options_.directory, replicator.root_),
        rcd_(replicator.options_.config.bytes_per_s, replicator.stop_),
        store_(rcd_, replicator.files_, replicator.root_,
               remote_directory(replicator.options_.directory)),
        lease_(store_, memory_, replicator.options_.lease_s),
        state_(replicator.files_, replicator.options_.directory, store_, memory_),
        checkpoints_(replicator.files_, replicator.options_.directory, store_, memory_),
        fetches_(replicator.files_, replicator.options_.directory, store_, memory_) {
    store_.check_name();
    const std::lock_guard lock(replicator_.mutex_);
    replicator_.plan_.remember(memory_.checkpoints());
    if (memory_.state()) replicator_.shared_.state_time = memory_.state()->time;
  }
  ~Session() {
    checkpoints_.abandon();
    fetches_.abandon();
  }

  bool is_alive() const { return rcd_.is_alive(); }
  /// Whether all that was tried last was put up.
  bool is_well() const { return failed_checkpoints_ == 0; }
  void release() {
    rcd_.allow(release_limit_s);
    lease_.release();
  }

  /// Error (user) if that is refused for good, or for now.
  void acquire() {
    lease_.acquire();
    has_begun_state_ = false;
    for (const auto& directory : std::set<std::string>(memory_.begun())) left_.push_back(directory);
  }

  /// One round of everything that is due; answers how long nothing is.
  Seconds round() {
    if (!lease_.is_held()) acquire();
    lease_.renew();
    bool has_begun = false;
    bool is_finishing = false;
    {
      const std::lock_guard lock(replicator_.mutex_);
      has_begun = replicator_.shared_.has_begun;
      is_finishing = replicator_.plan_.is_finishing();
    }
    if (!has_begun) return 0.05;
    remember_evicted();
    // What is to be put up does not wait for ever for what is to go.
    const Seconds began = seconds_since_boot();
    while (!left_.empty() && seconds_since_boot() < began + most_removing_s) {
      checkpoints_.remove(left_.back());
      left_.pop_back();
    }
    const bool is_fetching = fetch_checkpoints();
    const bool is_busy = upload_checkpoints();
    const Seconds now = seconds_since_boot();
    // Last, so that it holds all that comes before it.
    const bool is_last = is_finishing && !is_busy && is_well();
    if (is_last || now >= state_due_) upload_state(is_last);
    if (is_last) {
      const std::lock_guard lock(replicator_.mutex_);
      replicator_.shared_.is_done = replicator_.plan_.is_complete();
    }
    if (is_busy || is_fetching) return 0.02;
    return std::clamp(state_due_ - seconds_since_boot(), 0.05, 1.0);
  }

 private:
  /// A power cut may have taken the end of what is remembered. Of what is nowhere else nothing may
  /// be removed for that.
  void remember_evicted() {
    if (std::exchange(has_remembered_, true)) return;
    const std::lock_guard lock(replicator_.mutex_);
    for (const auto& [checkpoint, directory] : replicator_.plan_.evicted()) {
      std::erase(left_, directory);
      const auto known = memory_.checkpoints().find(checkpoint);
      const bool is_known = known != memory_.checkpoints().end() && known->second == directory;
      if (is_known && !memory_.begun().contains(directory)) continue;
      memory_.commit(checkpoint, directory);
      replicator_.plan_.restore(checkpoint, directory);
    }
  }

  /// Whether more of that is to be done at once. What the remote does not give holds up no upload.
  bool fetch_checkpoints() {
    const auto next = replicator_.plan()->next_fetch();
    if (!next) {
      fetches_.abandon();
      return false;
    }
    if (seconds_since_boot() < fetch_due_) return false;
    const CheckpointRef checkpoint = fetches_.under_way().value_or(*next);
    try {
      const auto look = fetches_.under_way() ? fetches_.look() : fetches_.begin(checkpoint);
      if (look == CheckpointFetches::FetchState::coming) {
        say_if_slow(checkpoint);
        return true;
      }
      const bool is_lost = look == CheckpointFetches::FetchState::lost;
      replicator_.plan()->note_fetched(
          checkpoint, is_lost ? "it is not whole on " + replicator_.root_ + " any more" : "");
      failed_fetches_ = 0;
      return true;
    } catch (const Error& error) {
      if (replicator_.stop_) throw;
      replicator_.plan()->note_fetch_failure(checkpoint, error.what());
      fetch_due_ = seconds_since_boot() + backoff_s(++failed_fetches_);
      return false;
    }
  }

  void say_if_slow(CheckpointRef checkpoint) {
    const Seconds now = seconds_since_boot();
    if (fetching_ != checkpoint) {
      fetching_ = checkpoint;
      say_slow_at_ = now + fetch_patience_s;
    } else if (now >= say_slow_at_) {
      say_slow_at_ = std::numeric_limits<Seconds>::infinity();
      replicator_.plan()->note_slow_fetch(checkpoint);
    }
  }

  /// Whether more of that is to be done at once.
  bool upload_checkpoints() {
    if (const auto current = checkpoints_.under_way()) {
      if (!replicator_.plan()->is_wanted(*current)) {
        checkpoints_.abandon();
        replicator_.plan()->note_nothing_under_way();
        note_begun();
      } else if (view_experiment(*current)) {
        failed_checkpoints_ = 0;
        replicator_.plan()->note_up(*current, memory_.checkpoints().at(*current));
        // A checkpoint that no state knows is of no use.
        state_due_ = std::min(state_due_, state_began_ + state_after_checkpoint_s);
      }
      return true;
    }
    if (seconds_since_boot() < checkpoint_due_) return false;
    const auto next = replicator_.plan()->next_upload();
    if (!next) {
      failed_checkpoints_ = 0;
      return false;
    }
    try {
      checkpoints_.begin(*next);
    } catch (const RemoteError&) {
      throw;
    } catch (const UnfitCheckpoint& error) {
      replicator_.plan()->note_unfit(*next, error.what());
    } catch (const Error&) {
      // It was removed, or damaged: the state will say so.
      replicator_.plan()->note_lost(*next);
    }
    return true;
  }

  bool view_experiment(CheckpointRef current) {
    try {
      // A disk that was taken away leaves an empty place, which takes everything.
      return checkpoints_.look([this] { lease_.confirm(); });
    } catch (const Error& error) {
      replicator_.plan()->note_nothing_under_way();
      note_begun();
      if (!replicator_.plan()->is_wanted(current))
        return false;  // its files were removed while they went up
      const auto* remote = dynamic_cast<const RemoteError*>(&error);
      if (remote == nullptr || remote->kind() == Kind::abandoned) throw;
      // A store may have no room for this, and room for the state.
      replicator_.plan()->note_failure(error.what(), unix_now());
      checkpoint_due_ = seconds_since_boot() + backoff_s(++failed_checkpoints_);
      return false;
    }
  }

  /// What is there of a checkpoint that will never be whole.
  void note_begun() { left_.assign(memory_.begun().begin(), memory_.begun().end()); }

  void upload_state(bool is_last) {
    const Seconds began = seconds_since_boot();
    state_began_ = began;
    lease_.confirm();
    if (!has_begun_state_) state_.begin_session();
    has_begun_state_ = true;
    // Their records are in the journal by now, and so in what goes up.
    const std::vector<std::string> removals = replicator_.plan()->removals();
    const bool rebase = state_.wants_base() || is_last || began >= files_due_;
    state_.upload(rebase, unix_now());
    const Seconds state_is_up = seconds_since_boot();
    if (rebase) {
      upload_small_files(replicator_.files_, replicator_.options_.directory, store_, memory_);
      const Seconds took = seconds_since_boot() - state_is_up;
      files_due_ = began + std::max(files_period_s, files_cost_factor * took);
    }
    const Seconds files_are_up = seconds_since_boot();
    std::size_t removed = 0;
    while (removed < removals.size() &&
           (is_last || seconds_since_boot() < files_are_up + most_removing_s)) {
      checkpoints_.remove(removals[removed++]);
    }
    state_.remove_replaced();
    state_due_ = began + state_period_s;
    const std::lock_guard lock(replicator_.mutex_);
    replicator_.plan_.note_removed(removed);
    if (memory_.state()) replicator_.shared_.state_time = memory_.state()->time;
  }

  Replicator& replicator_;
  UploadMemory memory_;
  Rcd rcd_;
  RemoteStore store_;
  RemoteLeaseHolder lease_;
  StateReplicator state_;
  CheckpointUploads checkpoints_;
  CheckpointFetches fetches_;
  bool has_remembered_ = false;
  Seconds fetch_due_ = 0;
  std::optional<CheckpointRef> fetching_;
  Seconds say_slow_at_ = 0;
  int failed_fetches_ = 0;
  bool has_begun_state_ = false;
  std::vector<std::string> left_;  ///< directories that no marker makes whole
  int failed_checkpoints_ = 0;     ///< in a row
  Seconds checkpoint_due_ = 0;     ///< the next one, after one that failed
  Seconds state_began_ = 0;
  Seconds state_due_ = 0;
  Seconds files_due_ = 0;
};

Replicator::Replicator(FileSystem& files, Options options)
    : files_(files),
      options_(std::move(options)),
      root_(remote_below(options_.config.path, options_.name)),
      plan_(options_.config, root_) {
  if (const auto why = overlap(root_, options_.directory)) throw user_error(*why);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(mutex_);
  auto until = Steady::now() + seconds(open_limit_s);
  const auto is_over = [&] { return options_.is_over && options_.is_over(); };
  auto say_at = Steady::now() + seconds(open_patience_s);
  while (!shared_.is_open && !shared_.refusal && Steady::now() < until && !is_over()) {
    changed_.wait_for(lock, seconds(0.2));
    const auto now = Steady::now();
    if (shared_.is_waiting) until = now + seconds(open_limit_s);
    if (shared_.is_waiting || now < say_at || shared_.is_open || !options_.on_wait) continue;
    options_.on_wait(root_ + " has not answered yet; it is waited for, at most " +
                     std::to_string(static_cast<int>(open_limit_s)) + " s");
    say_at = until;
  }
  if (!shared_.refusal && is_over()) {
    stop_ = true;
    lock.unlock();
    changed_.notify_all();
    thread_.join();
    throw WaitInterrupted("interrupted while it waited for " + root_ + ": nothing was begun");
  }
  shared_.is_open = true;
  if (!shared_.refusal) return;
  const std::exception_ptr refusal = shared_.refusal;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(refusal);
}

Replicator::~Replicator() {
  stop_ = true;
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Replicator::is_open() const {
  const std::lock_guard lock(mutex_);
  return shared_.is_open;
}

void Replicator::run() {
  std::unique_ptr<Session> session;
  int failures_in_a_row = 0;
  Seconds status_due = 0;
  Seconds said_at = -say_every_s;
  while (!stop_) {
    Seconds wait_s = 0;
    bool is_held = false;
    try {
      if (session && !session->is_alive()) session.reset();
      if (!session) session = std::make_unique<Session>(*this);
      wait_s = session->round();
      if (session->is_well()) plan()->note_success(unix_now());
      failures_in_a_row = 0;
    } catch (const RemoteLeaseHeld& held) {
      // Nothing was begun yet: it is known soon whether that driver lives.
      is_held = !is_open();
      if (!is_held) plan()->note_failure(held.what(), unix_now());
      if (is_held && seconds_since_boot() - said_at >= say_every_s) {
        if (options_.on_wait) options_.on_wait(held.what());
        said_at = seconds_since_boot();
      }
      wait_s = held_wait_s;
    } catch (const Error& error) {
      ++failures_in_a_row;
      if (stop_) break;  // whatever was under way was given up
      const bool is_final = dynamic_cast<const RemoteTakenOver*>(&error) != nullptr;
      const bool is_remote = dynamic_cast<const RemoteError*>(&error) != nullptr;
      if (is_final || (error.fault() == Fault::user && !is_open())) {
        give_up(error);
        break;
      }
      // What is wrong with rclone itself is not wrong by chance.
      const bool is_plain = is_remote || error.fault() == Fault::user;
      if (is_plain || failures_in_a_row >= faults_until_said) {
        plan()->note_failure(error.what(), unix_now());
      }
      wait_s = backoff_s(failures_in_a_row);
    } catch (const std::exception& error) {
      ++failures_in_a_row;
      plan()->note_failure(std::string("an upload has failed: ") + error.what(), unix_now());
      wait_s = backoff_s(failures_in_a_row);
    }
    if (seconds_since_boot() >= status_due && is_open()) {
      write_status();
      status_due = seconds_since_boot() + status_period_s;
    }
    std::unique_lock lock(mutex_);
    shared_.is_waiting = is_held;
    if (!is_held && !shared_.is_open) {
      shared_.is_open = true;
      changed_.notify_all();
    }
    if (shared_.is_done) break;
    if (plan_.is_finishing()) wait_s = std::min(wait_s, 1.0);
    if (wait_s > 0 && !stop_) changed_.wait_for(lock, seconds(wait_s));
  }
  if (session) session->release();
  if (is_open()) write_status();
  const std::lock_guard lock(mutex_);
  shared_.has_ended = true;
  changed_.notify_all();
}

/// The loop is to end, or the constructor has not returned.
void Replicator::give_up(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (shared_.is_open) {
    plan_.note_taken_over(error.what());
  } else {
    shared_.refusal = std::current_exception();
  }
  changed_.notify_all();
}

void Replicator::begin(const std::vector<Known>& known) {
  const std::lock_guard lock(mutex_);
  plan_.begin(known);
  shared_.has_begun = true;
  changed_.notify_all();
}

void Replicator::expect(CheckpointRef checkpoint, bool is_best) {
  plan()->expect(checkpoint, is_best);
}

void Replicator::committed(CheckpointRef checkpoint) {
  plan()->committed(checkpoint);
  changed_.notify_all();
}

void Replicator::dropped(TrialId trial, const std::vector<int>& indices) {
  plan()->dropped(trial, indices);
  changed_.notify_all();
}

bool Replicator::needs(CheckpointRef checkpoint) const {
  const std::lock_guard lock(mutex_);
  return plan_.needs(checkpoint);
}

std::optional<RemotePlace> Replicator::place(CheckpointRef checkpoint) const {
  const std::lock_guard lock(mutex_);
  return plan_.place(checkpoint);
}

void Replicator::fetch(CheckpointRef checkpoint) {
  plan()->fetch(checkpoint);
  changed_.notify_all();
}

CheckpointReplicator::News Replicator::take_news() { return plan()->take_news(); }

std::string Replicator::waiting() const {
  const std::lock_guard lock(mutex_);
  return plan_.waiting();
}

void Replicator::write_status() noexcept {
  Json json;
  {
    const std::lock_guard lock(mutex_);
    if (shared_.refusal) return;  // nothing was made yet, and nothing stays behind
    json = plan_.status();
    json["time"] = unix_now();
    json["state_time"] = shared_.state_time == 0 ? Json() : Json(shared_.state_time);
    json["all_up"] = shared_.is_done && !plan_.has_unfit();
  }
  try {
    files_.make_directories(remote_directory(options_.directory));
    files_.replace(remote_directory(options_.directory) / "status.json",
                   json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const std::exception&) {
    // A status that cannot be written is shown as an old one.
  }
}

std::string Replicator::finish(Seconds limit_s, Seconds patience_s,
                               const std::function<bool()>& is_over) {
  std::unique_lock lock(mutex_);
  plan_.finish();
  changed_.notify_all();
  const Seconds began = seconds_since_boot();
  Seconds well_at = began;
  while (!shared_.has_ended) {
    const Seconds now = seconds_since_boot();
    if (plan_.is_reachable()) well_at = now;
    if (now - began >= limit_s || now - well_at >= patience_s || (is_over && is_over())) break;
    changed_.wait_for(lock, seconds(0.1));
  }
  const std::string why = plan_.last_error();
  const std::string left =
      shared_.is_done && !plan_.has_unfit()
          ? ""
          : plan_.left() + " could not be put on " + root_ + (why.empty() ? "" : ": " + why);
  lock.unlock();
  stop_ = true;
  changed_.notify_all();
  thread_.join();
  return left;
}

}  // namespace tune
