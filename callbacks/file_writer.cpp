// The writer's thread and its queue of operations for each file: bounded memory (backpressure),
// retries, and a stand-in for a file that keeps failing.
#include "callbacks/file_writer.h"

#include <cstdio>
#include <iterator>
#include <utility>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/process/quiet_thread.h"

namespace tune {

namespace {

/// What an operation takes besides its bytes, roughly: queues of many small ones count too.
constexpr std::size_t operation_bytes = 256;
constexpr std::size_t max_reported_files = 20;
/// A failing file is tried again at once, and given up, when this part of what may wait for it
/// does.
constexpr std::size_t part_that_may_wait = 4;

std::chrono::steady_clock::duration duration(Seconds seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

std::string stand_in_of(const std::string& path) {
  std::string stand_in = path;
  stand_in[stand_in.rfind('/')] = '.';
  return stand_in;
}

FileWriter::FileWriter(FileWriterOptions options)
    : FileWriter(options, std::make_unique<RowFiles>(options.format)) {}

FileWriter::FileWriter(FileWriterOptions options, std::unique_ptr<TrialFiles> files)
    : options_(std::move(options)), files_(std::move(files)) {
  thread_ = start_quiet_thread([this] { run(); });
}

FileWriter::~FileWriter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_one();
  thread_.join();
  std::uint64_t lost = 0;
  for (const auto& [path, queue] : queues_) {
    for (const auto& operation : queue.operations) lost += operation.rows;
  }
  if (lost > 0) {
    tell(std::to_string(lost) + " rows of " + std::to_string(queues_.size()) +
         " files could not be written, among them " + queues_.begin()->first);
  }
}

void FileWriter::give_up(const std::string& path) { given_up_.insert(path); }

void FileWriter::append(const std::string& path, std::string_view header, std::string_view row) {
  put(path, Kind::append, 0, header, row);
}

void FileWriter::mend(const std::string& path, std::string_view header, std::string_view row) {
  const auto iteration = files_->iteration_of(row);
  ensure(iteration.has_value(), "a row to mend a file with begins with its iteration");
  put(path, Kind::mend, *iteration, header, row);
}

void FileWriter::cut(const std::string& path, std::int64_t last_kept) {
  put(path, Kind::cut, last_kept, {}, {});
}

void FileWriter::replace(const std::string& path, std::string_view content) {
  put(path, Kind::replace, 0, {}, content);
}

/// With the lock held. A cut takes no room: without it, rows would stand twice.
bool FileWriter::has_room(const std::string& path, Kind kind, std::size_t bytes) {
  if (kind == Kind::cut) return true;
  if (bytes_ + bytes > options_.memory_limit_bytes) return false;
  if (!retries_.contains(path)) return true;
  return queues_[path].bytes + bytes <= options_.memory_limit_of_failing_file_bytes;
}

bool FileWriter::is_pressing(std::size_t bytes) const {
  return options_.has_stand_ins &&
         bytes > options_.memory_limit_of_failing_file_bytes / part_that_may_wait;
}

void FileWriter::put(const std::string& path, Kind kind, std::int64_t iteration,
                     std::string_view header, std::string_view bytes) {
  bool wake = false;
  bool overflow = false;
  {
    std::unique_lock lock(mutex_);
    if (kind == Kind::mend) {
      const std::size_t more = bytes.size() + operation_bytes;
      // One turn may have begun before this row, and a second one that changes nothing tells that
      // the files fail.
      const auto patience = turns_ + 2;
      progress_.wait(
          lock, [&] { return bytes_ + more <= options_.memory_limit_bytes || turns_ > patience; });
    }
    if (!has_room(path, kind, bytes.size() + operation_bytes)) {
      ++dropped_;
      overflow = !retries_.contains(path) && !std::exchange(overflow_reported_, true);
    } else {
      Queue& queue = queues_[path];
      Operation* last = queue.operations.empty() ? nullptr : &queue.operations.back();
      const bool joins =
          last != nullptr && last->kind == kind && last->header == header &&
          (kind == Kind::append || (kind == Kind::mend && last->iteration < iteration));
      std::size_t more = bytes.size();
      if (kind == Kind::replace && last != nullptr && last->kind == kind) {
        bytes_ -= last->bytes.size();
        queue.bytes -= last->bytes.size();
        last->bytes = bytes;
      } else if (joins) {
        last->bytes += bytes;
        last->iteration = iteration;
        ++last->rows;
      } else {
        more += operation_bytes;
        const std::uint64_t rows = kind == Kind::cut ? 0 : 1;
        queue.operations.push_back(
            {kind, iteration, std::string(header), std::string(bytes), rows});
      }
      queue.bytes += more;
      wake = new_bytes_ == 0 ||
             (new_bytes_ < options_.flush_bytes && new_bytes_ + more >= options_.flush_bytes);
      new_bytes_ += more;
      bytes_ += more;
      const auto retry = retries_.find(path);
      if (retry != retries_.end() && is_pressing(queue.bytes)) {
        retry->second = {};
        wake = true;
      }
    }
  }
  if (wake) work_.notify_one();
  if (overflow) {
    tell("the disk does not keep up: rows are being left out, the first of them of " + path);
  }
}

void FileWriter::flush() { flush(false); }

void FileWriter::flush(bool settling) {
  std::unique_lock lock(mutex_);
  flushing_durable_ = flushing_durable_ || settling;
  const auto wanted = ++flushes_wanted_;
  work_.notify_one();
  progress_.wait(lock, [&] { return flushes_done_ >= wanted; });
}

void FileWriter::flush_durable(const std::stop_token& stop) {
  flush(true);
  std::unordered_set<std::string> written;
  {
    const std::lock_guard lock(mutex_);
    if (!retries_.empty()) {
      throw machine_error("some files of trials cannot be written, among them " +
                          retries_.begin()->first);
    }
    if (dropped_ > 0) {
      throw machine_error(std::to_string(dropped_) +
                          " rows of trials' files were left out; the next resume adds them");
    }
    written.swap(unsynced_);
  }
  try {
    sync_files({written.begin(), written.end()}, stop);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    unsynced_.merge(written);
    throw;
  }
}

std::uint64_t FileWriter::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void FileWriter::run() {
  std::unique_lock lock(mutex_);
  const auto urgent = [this] { return ending_ || flushes_wanted_ > flushes_done_; };
  for (;;) {
    work_.wait(lock, [&] { return urgent() || bytes_ > 0; });
    work_.wait_for(lock, duration(options_.flush_period_s),
                   [&] { return urgent() || new_bytes_ >= options_.flush_bytes; });
    const bool last_turn = ending_;
    const auto flushes = flushes_wanted_;
    const bool completes = urgent();
    const bool settles = std::exchange(flushing_durable_, false) || ending_;
    Queues due;
    take_due(due);
    new_bytes_ = 0;
    lock.unlock();
    std::vector<std::string> failed;
    std::vector<std::string> written;
    for (auto& [path, queue] : due) {
      if (!carry_out(path, queue, settles || is_pressing(queue.bytes))) failed.push_back(path);
      const std::string file = given_up_.contains(path) ? stand_in_of(path) : path;
      for (auto& name : files_->written(file)) written.push_back(std::move(name));
    }
    if (completes) complete(written);
    lock.lock();
    for (auto& [path, queue] : due) {
      bytes_ -= queue.bytes;
      retries_.erase(path);
    }
    unsynced_.insert(written.begin(), written.end());
    for (const auto& path : failed) put_back(path, std::move(due[path]));
    flushes_done_ = flushes;
    ++turns_;
    progress_.notify_all();
    if (last_turn) return;
  }
}

/// With the lock held.
void FileWriter::take_due(Queues& due) {
  if (retries_.empty() || ending_ || flushes_wanted_ > flushes_done_) {
    due.swap(queues_);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  for (auto queue = queues_.begin(); queue != queues_.end();) {
    const auto retry = retries_.find(queue->first);
    const auto next = std::next(queue);
    if (retry == retries_.end() || retry->second <= now) due.insert(queues_.extract(queue));
    queue = next;
  }
}

/// Without the lock. If the file fails, `queue` keeps what is still to do.
bool FileWriter::carry_out(const std::string& path, Queue& queue, bool may_give_up) {
  auto& operations = queue.operations;
  const bool is_given_up = given_up_.contains(path);
  try {
    carry_out_in(is_given_up ? stand_in_of(path) : path, operations);
    return true;
  } catch (const std::exception& error) {
    if (!is_given_up && may_give_up && options_.has_stand_ins &&
        turn_to_stand_in(path, operations, error.what())) {
      return operations.empty();
    }
    report(path, error.what());
  }
  return false;
}

/// Takes out of `operations` what is done.
void FileWriter::carry_out_in(const std::string& file, std::vector<Operation>& operations) {
  std::size_t done = 0;
  const auto take_out = [&] {
    operations.erase(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(done));
  };
  try {
    for (auto& operation : operations) {
      switch (operation.kind) {
        case Kind::append:
          files_->append(file, operation.header, operation.bytes);
          break;
        case Kind::mend:
          files_->mend(file, operation.header, operation.bytes);
          break;
        case Kind::cut:
          files_->cut(file, operation.iteration);
          break;
        case Kind::replace:
          files_->replace(file, operation.bytes);
          break;
      }
      ++done;
    }
  } catch (...) {
    take_out();
    throw;
  }
  take_out();
}

/// True if the file is given up. If its stand-in cannot be written either, nothing has changed.
bool FileWriter::turn_to_stand_in(const std::string& path, std::vector<Operation>& operations,
                                  const std::string& reason) {
  const std::string stand_in = stand_in_of(path);
  const auto before = operations;
  try {
    carry_out_in(stand_in, operations);
  } catch (const std::exception&) {
    if (files_->remove_if_empty(stand_in)) {
      operations = before;
      return false;
    }
  }
  given_up_.insert(path);
  tell(reason + "; the run goes on, and from now on what belongs there goes to " + stand_in);
  return true;
}

/// What rows still wait for columns of their own gets them.
void FileWriter::complete(std::vector<std::string>& written) {
  for (const auto& path : files_->incomplete()) {
    try {
      files_->complete(path);
      written.push_back(path);
    } catch (const std::exception& error) {
      report(path, error.what());
    }
  }
}

/// With the lock held.
void FileWriter::put_back(const std::string& path, Queue&& queue) {
  Queue& waiting = queues_[path];
  const std::size_t newer = waiting.bytes;
  auto& operations = queue.operations;
  std::move(waiting.operations.begin(), waiting.operations.end(), std::back_inserter(operations));
  waiting.operations = std::move(operations);
  waiting.bytes = 0;
  for (const auto& operation : waiting.operations) {
    waiting.bytes += operation.bytes.size() + operation_bytes;
  }
  bytes_ = bytes_ - newer + waiting.bytes;
  retries_[path] = std::chrono::steady_clock::now() + duration(options_.retry_period_s);
}

void FileWriter::report(const std::string& path, const std::string& reason) {
  if (reported_.size() > max_reported_files || !reported_.insert(path).second) return;
  if (reported_.size() > max_reported_files) {
    tell("more files cannot be written, which are not named any more");
    return;
  }
  tell(reason + "; the run goes on, and writing this file is tried again");
}

void FileWriter::tell(const std::string& sentence) const {
  if (options_.notice) {
    options_.notice(sentence);
  } else {
    std::fprintf(stderr, "tune: %s\n", clean_text(sentence).c_str());
  }
}

}  // namespace tune
