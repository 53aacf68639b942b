// Scans, appends to and truncates TensorBoard's event files; a torn record at the end is cut off,
// as in a write-ahead log.
#include "callbacks/event_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>

#include "callbacks/tensorboard_event.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

using tensorboard::Kind;
using tensorboard::Record;

constexpr std::size_t scan_block_bytes = 256 << 10;
constexpr int number_digits = 6;
constexpr int last_number = 999'999;

/// Of the files' names, all but the number.
std::string prefix_of(const std::string& path) {
  const std::string end = '/' + std::string(event_file_name);
  return (path.ends_with(end) ? path : path + end) + '.';
}

std::string folder_of(const std::string& path) {
  const std::string prefix = prefix_of(path);
  return prefix.substr(0, prefix.rfind('/'));
}

std::string event_file(const std::string& path, int number) {
  const std::string digits = std::to_string(number);
  return prefix_of(path) + std::string(number_digits - digits.size(), '0') + digits;
}

/// The numbers of the files there are, the newest first.
std::vector<int> numbers_of(const std::string& path) {
  const std::string prefix = prefix_of(path).substr(folder_of(path).size() + 1);
  std::vector<int> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(path), error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != prefix.size() + number_digits || !name.starts_with(prefix)) continue;
    const std::string digits = name.substr(prefix.size());
    const bool is_number =
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number && std::stoi(digits) > 0) numbers.push_back(std::stoi(digits));
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

/// Goes through the records of a file, up to the first that is torn or none.
class EventScan {
 public:
  explicit EventScan(const PosixFile& file, std::uint64_t offset = 0)
      : file_(file), read_to_(offset) {}

  bool next() {
    at_ += record.size;
    record = {};
    if (!has(tensorboard::record_head_bytes)) return false;
    const auto size = tensorboard::record_size(rest());
    if (!size || !has(*size)) return false;
    const auto found = tensorboard::read_record(rest());
    if (!found) return false;
    record = *found;
    return true;
  }

  /// Where the one at hand begins; after the last one: where that ends.
  std::uint64_t offset() const { return read_to_ - buffer_.size() + at_; }
  std::string_view bytes() const { return rest().substr(0, record.size); }

  Record record;

 private:
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  bool has(std::uint64_t size) {
    if (rest().size() >= size) return true;
    if (size > file_.size()) return false;
    buffer_.erase(0, std::exchange(at_, 0));
    const auto more = std::max<std::uint64_t>(scan_block_bytes, size - buffer_.size());
    const std::string block = file_.read(read_to_, more);
    read_to_ += block.size();
    buffer_ += block;
    return buffer_.size() >= size;
  }

  const PosixFile& file_;
  std::uint64_t read_to_;
  std::string buffer_;
  std::size_t at_ = 0;
};

bool is_kept(const Record& record, std::int64_t last_kept) {
  if (record.kind == Kind::session_end) return false;
  return record.kind != Kind::scalars || record.step <= last_kept;
}

}  // namespace

std::int64_t last_step_in(const std::string& path) {
  for (const int number : numbers_of(path)) {
    const PosixFile file(event_file(path, number), PosixFile::Mode::existing);
    if (!file.is_open()) continue;
    std::int64_t last = 0;
    EventScan scan(file);
    while (scan.next()) {
      if (scan.record.kind == Kind::scalars) last = scan.record.step;
    }
    if (last > 0) return last;
  }
  return 0;
}

bool ends_with(const std::string& path, std::string_view bytes) {
  const std::vector<int> numbers = numbers_of(path);
  if (numbers.empty()) return false;
  const PosixFile file(event_file(path, numbers.front()), PosixFile::Mode::existing);
  if (!file.is_open() || file.size() < bytes.size()) return false;
  return file.read(file.size() - bytes.size(), bytes.size()) == bytes;
}

std::optional<std::int64_t> EventFiles::iteration_of(std::string_view row) const {
  const auto record = tensorboard::read_record(row);
  if (!record || record->kind != Kind::scalars) return std::nullopt;
  return record->step;
}

/// Looks at the files, once. A torn record at their end goes.
EventFiles::Series& EventFiles::look(const std::string& path) {
  const auto known = series_.find(path);
  if (known != series_.end()) return known->second;
  Series series;
  for (const int number : numbers_of(path)) {
    const std::string name = event_file(path, number);
    PosixFile file(name, PosixFile::Mode::existing);
    if (!file.is_open()) continue;
    const auto size = file.size();
    EventScan scan(file);
    while (scan.next()) {
      if (scan.record.kind == Kind::session_end) series.has_end = true;
      if (scan.record.kind == Kind::scalars) series.last_step = scan.record.step;
    }
    if (scan.offset() < size) {
      file.truncate(scan.offset());
      written_.push_back(name);
    }
    // One that nothing was ever written to is as good as none.
    if (size > 0) series.newest = std::max(series.newest, number);
    if (series.last_step > 0) break;
  }
  return series_[path] = std::move(series);
}

/// At the end of the files, or in a new one.
void EventFiles::write(const std::string& path, Series& series, std::string_view rows) {
  if (rows.empty()) return;
  if (!series.is_closed) {
    const std::string name = event_file(path, series.newest);
    PosixFile file(name, PosixFile::Mode::create);
    const auto size = file.size();
    if (size >= series.size) {
      // What a write has left that failed, and could not be taken back.
      if (size > series.size) file.truncate(series.size);
      file.append(rows);
      series.size += rows.size();
      written_.push_back(name);
      return;
    }
    series.is_closed = true;  // somebody has taken it away
  }
  const auto first = tensorboard::read_record(rows);
  ensure(first.has_value(), "what is added to an event file is a record");
  std::string content;
  tensorboard::append_file_version(content, first->time);
  tensorboard::append_restart(content, first->time, series.last_step + 1);
  content.append(series.header).append(rows);
  for (int number = series.newest + 1; number <= last_number; ++number) {
    const std::string name = event_file(path, number);
    PosixFile file(name, PosixFile::Mode::create);
    if (file.size() > 0) continue;
    file.append(content);
    written_.push_back(name);
    series.newest = number;
    series.is_closed = false;
    series.size = content.size();
    return;
  }
  throw machine_error("there are too many event files in " + folder_of(path));
}

void EventFiles::append(const std::string& path, std::string_view header, std::string_view rows) {
  Series& series = look(path);
  if (!header.empty()) series.header = header;
  std::int64_t last_step = series.last_step;
  bool ends = false;
  std::string_view rest = rows;
  while (const auto record = tensorboard::read_record(rest)) {
    if (record->kind == Kind::scalars) last_step = record->step;
    ends = record->kind == Kind::session_end;
    if (ends && series.has_end) break;
    rest.remove_prefix(record->size);
  }
  write(path, series, rows.substr(0, rows.size() - rest.size()));
  series.last_step = last_step;
  series.has_end = ends;
  if (ends) series_.erase(path);
}

void EventFiles::cut(const std::string& path, std::int64_t last_kept) {
  Series& series = look(path);
  series.mended.reset();
  cut(path, series, last_kept);
}

void EventFiles::cut(const std::string& path, Series& series, std::int64_t last_kept) {
  if (series.last_step <= last_kept && !series.has_end) return;
  series.is_closed = true;
  std::int64_t last_step = 0;
  for (int number = series.newest; number > 0 && last_step == 0; --number) {
    const std::string name = event_file(path, number);
    PosixFile file(name, PosixFile::Mode::existing);
    if (!file.is_open()) continue;
    EventScan scan(file);
    while (scan.next() && is_kept(scan.record, last_kept)) {
      if (scan.record.kind == Kind::scalars) last_step = scan.record.step;
    }
    if (scan.offset() == file.size()) continue;
    file.truncate(scan.offset());
    written_.push_back(name);
  }
  series.last_step = last_step;
  series.has_end = false;
}

/// So many bytes of `rows` stand in the files already, behind what was mended before.
std::size_t EventFiles::already_there(const std::string& path, Series& series,
                                      std::string_view rows) {
  const auto first = tensorboard::read_record(rows);
  if (!first) return 0;
  int number = series.newest;
  std::uint64_t offset = 0;
  if (series.mended) {
    std::tie(number, offset) = *series.mended;
  } else {
    // The last file that has something of before.
    for (; number > 1; --number) {
      const PosixFile file(event_file(path, number), PosixFile::Mode::existing);
      if (!file.is_open()) continue;
      EventScan scan(file);
      while (scan.next() && scan.record.kind != Kind::scalars) {
      }
      if (scan.record.kind == Kind::scalars && scan.record.step < first->step) break;
    }
  }
  std::size_t there = 0;
  for (number = std::max(number, 1); number <= series.newest; ++number, offset = 0) {
    const PosixFile file(event_file(path, number), PosixFile::Mode::existing);
    if (!file.is_open()) continue;
    EventScan scan(file, offset);
    while (scan.next()) {
      if (scan.record.kind != Kind::scalars) continue;
      if (!series.mended && scan.record.step < first->step) continue;
      if (there == rows.size() || !rows.substr(there).starts_with(scan.bytes())) return there;
      there += scan.bytes().size();
      series.mended = {number, scan.offset() + scan.bytes().size()};
      series.mended_step = scan.record.step;
    }
  }
  return there;
}

void EventFiles::mend(const std::string& path, std::string_view header, std::string_view rows) {
  const auto first = iteration_of(rows);
  ensure(first.has_value(), "rows to mend a file with are records of scalars");
  Series& series = look(path);
  if (!header.empty()) series.header = header;
  // A trial that was rewound: what stands behind is of before that, and it may pass it again.
  if (series.mended && *first <= series.mended_step) {
    series.mended.reset();
    cut(path, series, *first - 1);
  }
  rows.remove_prefix(already_there(path, series, rows));
  if (rows.empty()) return;
  cut(path, series, series.mended ? series.mended_step : *first - 1);
  write(path, series, rows);
  while (const auto record = tensorboard::read_record(rows)) {
    series.last_step = series.mended_step = record->step;
    rows.remove_prefix(record->size);
  }
  series.mended = {series.newest, series.size};
}

void EventFiles::replace(const std::string& path, std::string_view content) {
  const std::string name = event_file(path, 0);
  // By its name, TensorBoard must not take it for an event file.
  if (replace_file(name, folder_of(path) + "/.hparams.tmp", content)) written_.push_back(name);
}

bool EventFiles::remove_if_empty(const std::string& path) {
  try {
    for (const int number : numbers_of(path)) {
      const std::string name = event_file(path, number);
      const PosixFile file(name, PosixFile::Mode::existing);
      if (file.is_open() && file.size() > 0) return false;
      if (file.is_open()) std::remove(name.c_str());
    }
    if (folder_of(path) == path) ::rmdir(path.c_str());
  } catch (const Error&) {
  }
  series_.erase(path);
  return true;
}

std::vector<std::string> EventFiles::written(const std::string&) {
  return std::exchange(written_, {});
}

}  // namespace tune
