// Writes the files of trials on a thread of its own, so that a hook does not wait for a disk; it
// waits only where more is queued than memory_limit_bytes (backpressure).
// It is given paths, headers and rows of text.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "callbacks/row_files.h"
#include "callbacks/trial_files.h"
#include "tuner/base/clock.h"

namespace tune {

struct FileWriterOptions {
  RowFormat format = RowFormat::text;
  /// Given one sentence for the user, from the writer's thread or the caller's.
  std::function<void(std::string)> notice;
  /// Rows that would make the queue longer than this are left out, with one notice.
  std::size_t memory_limit_bytes = 64 << 20;
  /// A file that cannot be written when it has to be settled, or when its rows would be left out,
  /// is given up for another one, `stand_in_of`. One notice says so.
  bool has_stand_ins = false;
  /// A limit like that of memory, for one file that cannot be written.
  std::size_t memory_limit_of_failing_file_bytes = 1 << 20;
  Seconds flush_period_s = 0.1;       ///< rows reach the kernel at most this much later
  std::size_t flush_bytes = 1 << 20;  ///< or when this many wait
  Seconds retry_period_s = 1;         ///< of a file that could not be written
};

/// What takes the place of a file in a trial's directory that cannot be written, beside that
/// directory: /e/trial_00003.result.json that of /e/trial_00003/result.json. If both have a row of
/// an iteration, this one's counts.
std::string stand_in_of(const std::string& path);

/// Operations on one file are carried out in their order. A file that cannot be written (a full
/// disk, no permission) is named in one notice, its rows are kept and tried again; all other files
/// go on. From any thread.
class FileWriter {
 public:
  explicit FileWriter(FileWriterOptions options);
  /// `files` does what is to be done, instead of RowFiles; the format counts for nothing.
  FileWriter(FileWriterOptions options, std::unique_ptr<TrialFiles> files);
  /// Writes what can be written; what cannot is lost, and a notice says so.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// An earlier driver has given the file up. Before any operation on it.
  void give_up(const std::string& path);

  // As in TrialFiles; `row` is one row.
  void append(const std::string& path, std::string_view header, std::string_view row);
  /// Waits while the queue is full and gets shorter: for the time before a run, when there is no
  /// hurry.
  void mend(const std::string& path, std::string_view header, std::string_view row);
  void cut(const std::string& path, std::int64_t last_kept);
  void replace(const std::string& path, std::string_view content);

  /// Returns when all operations before it have been tried.
  void flush();

  /// Returns when all operations before it are on disk, be it in a stand-in. Error (machine) if
  /// some cannot be, or rows were left out: then the files do not hold what they were given; or it
  /// was told to stop meanwhile.
  void flush_durable(const std::stop_token& stop = {});

  /// Rows and contents that were left out, so far.
  std::uint64_t dropped() const;

 private:
  enum class Kind { append, mend, cut, replace };
  struct Operation {
    Kind kind;
    std::int64_t iteration = 0;  ///< cut: last kept; mend: of the last row
    std::string header;
    std::string bytes;
    std::uint64_t rows = 0;
  };
  struct Queue {
    std::vector<Operation> operations;
    std::size_t bytes = 0;
  };
  using Time = std::chrono::steady_clock::time_point;
  using Queues = std::unordered_map<std::string, Queue>;

  void put(const std::string& path, Kind kind, std::int64_t iteration, std::string_view header,
           std::string_view bytes);
  void flush(bool settling);
  bool has_room(const std::string& path, Kind kind, std::size_t bytes);
  /// Whether so much waits for a failing file that it is given up, if it may be.
  bool is_pressing(std::size_t bytes) const;
  void run();
  void take_due(Queues& due);
  bool carry_out(const std::string& path, Queue& queue, bool may_give_up);
  void carry_out_in(const std::string& file, std::vector<Operation>& operations);
  bool turn_to_stand_in(const std::string& path, std::vector<Operation>& operations,
                        const std::string& reason);
  void complete(std::vector<std::string>& written);
  void put_back(const std::string& path, Queue&& queue);
  void report(const std::string& path, const std::string& reason);
  void tell(const std::string& sentence) const;

  const FileWriterOptions options_;
  const std::unique_ptr<TrialFiles> files_;   ///< the thread's
  std::unordered_set<std::string> reported_;  ///< the thread's
  std::unordered_set<std::string> given_up_;  ///< the thread's, once there were operations

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable progress_;
  Queues queues_;
  std::unordered_map<std::string, Time> retries_;  ///< files that failed: when next to try
  std::size_t bytes_ = 0;                          ///< in queues_ and with the thread
  std::size_t new_bytes_ = 0;                      ///< put since the thread last looked
  std::unordered_set<std::string> unsynced_;       ///< written since `flush_durable`
  std::uint64_t turns_ = 0;                        ///< of the thread
  std::uint64_t dropped_ = 0;
  bool overflow_reported_ = false;
  bool flushing_durable_ = false;  ///< the next flush is flush_durable's
  std::uint64_t flushes_wanted_ = 0;
  std::uint64_t flushes_done_ = 0;
  bool ending_ = false;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace tune
