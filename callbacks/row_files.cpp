// Appends rows, finds rows to cut from the end backwards, and rewrites a CSV file aside when its
// header grows.
#include "callbacks/row_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <utility>

#include "tuner/base/csv_text.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

constexpr std::size_t block_bytes = 64 << 10;
constexpr std::size_t piece_bytes = 1 << 20;
constexpr std::size_t max_known = 4096;
/// So often columns are added to a file as soon as they come.
constexpr int prompt_additions = 8;
/// What may wait of one file for columns.
constexpr std::size_t most_late_bytes = 1 << 20;

std::string aside(const std::string& path) { return path + ".tmp"; }

/// The first line, if it is whole.
std::optional<std::string> first_line(const PosixFile& file) {
  std::string line;
  const auto size = file.size();
  while (line.size() < size) {
    const auto from = line.size();
    line += file.read(from, block_bytes);
    const auto end = line.find('\n', from);
    if (end != std::string::npos) return line.substr(0, end);
    if (line.size() == from) break;
  }
  return std::nullopt;
}

std::string limited(const std::string& header) {
  auto columns = csv::split(header);
  if (columns.size() <= max_columns) return header;
  std::string line;
  for (std::size_t i = 0; i < max_columns; ++i) csv::append_cell(line, columns[i], i == 0);
  return line;
}

}  // namespace

std::optional<std::int64_t> row_iteration(RowFormat format, std::string_view row) {
  if (format == RowFormat::text) return std::nullopt;
  if (format == RowFormat::json) {
    constexpr std::string_view start = "{\"training_iteration\":";
    if (!row.starts_with(start)) return std::nullopt;
    row.remove_prefix(start.size());
  }
  std::int64_t iteration = 0;
  const char* const end = row.data() + row.size();
  const auto [stopped, error] = std::from_chars(row.data(), end, iteration);
  if (error != std::errc() || stopped == end || *stopped != ',') return std::nullopt;
  return iteration;
}

RowFiles::Known& RowFiles::known(const std::string& path) {
  if (known_.size() >= max_known) known_.clear();
  return known_[path];
}

bool RowFiles::Late::is_due(std::uint64_t file_size) const {
  return additions < prompt_additions || file_size >= 2 * size || bytes > most_late_bytes;
}

void RowFiles::keep_late(Late& late, std::string_view header, std::string_view rows) const {
  while (!rows.empty()) {
    const auto end = std::min(rows.find('\n'), rows.size() - 1) + 1;
    const std::string_view row = rows.substr(0, end);
    if (const auto iteration = row_iteration(format_, row)) {
      late.rows.push_back({*iteration, std::string(header), std::string(row)});
      late.bytes += header.size() + row.size();
    }
    rows.remove_prefix(end);
  }
}

/// Writes the file anew under `header`, which has more columns at its end. Late rows come in whole.
void RowFiles::widen(const std::string& path, const PosixFile& file, std::string_view old_header,
                     const std::string& header, Late& late) const {
  const std::string commas(csv::split(header).size() - csv::split(old_header).size(), ',');
  PosixFile wide(aside(path), PosixFile::Mode::fresh);
  std::string out = header + '\n';
  auto next = late.rows.begin();
  const auto add_line = [&](std::string_view line) {
    const auto iteration = next != late.rows.end() ? row_iteration(format_, line) : std::nullopt;
    while (iteration && next != late.rows.end() && next->iteration < *iteration) ++next;
    if (iteration && next != late.rows.end() && next->iteration == *iteration) {
      out += csv::moved(next->text, next->header, header);
      ++next;
    } else {
      out += line.substr(0, line.size() - 1);
      out += commas;
      out += '\n';
    }
  };
  std::string rest;  // of a line that goes on in the next piece
  for (std::uint64_t offset = old_header.size() + 1;;) {
    const std::string piece = file.read(offset, piece_bytes);
    if (piece.empty()) break;
    offset += piece.size();
    std::string_view left = piece;
    for (auto end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
      rest += left.substr(0, end + 1);
      add_line(rest);
      rest.clear();
      left.remove_prefix(end + 1);
    }
    rest += left;
    wide.append(out);
    out.clear();
  }
  wide.append(out + rest);
  put_in_place(aside(path), path);
  late.size = wide.size();
  late.rows.clear();
  late.bytes = 0;
  ++late.additions;
}

/// `rows` as they stand in the csv file, which gets the columns of `header` before, if it lacks
/// any: if that may not wait, or need not.
std::string RowFiles::fit(const std::string& path, std::string_view header, std::string_view rows,
                          bool at_once) {
  Known& file_known = known(path);
  PosixFile file(path, PosixFile::Mode::create);
  std::optional<std::string> line;
  if (file_known.header != header || file.size() < header.size()) {
    line = first_line(file);
  } else {
    line = file_known.header;
  }
  if (!line) {
    file.truncate(0);
    line = limited(std::string(header));
    file.append(*line + '\n');
  }
  if (*line != header) {
    Late& late = late_[path];
    const bool has_late = !late.rows.empty();
    const std::string wide = limited(csv::widened(has_late ? late.columns : *line, header));
    if (wide == *line) {
      // They stand in another order only.
    } else if (at_once || late.is_due(file.size())) {
      widen(path, file, *line, wide, late);
      file_known.mended_size = 0;
      line = wide;
    } else if (!has_late || wide != late.columns || csv::widened(*line, header) != *line) {
      keep_late(late, header, rows);
      late.columns = wide;
    }
  }
  file_known.header = *line;
  return *line == header ? std::string(rows) : csv::moved(rows, header, *line);
}

std::vector<std::string> RowFiles::incomplete() {
  std::erase_if(late_, [](const auto& entry) { return entry.second.rows.empty(); });
  std::vector<std::string> paths;
  for (const auto& [path, late] : late_) paths.push_back(path);
  return paths;
}

void RowFiles::complete(const std::string& path) {
  const auto found = late_.find(path);
  if (found == late_.end()) return;
  const PosixFile file(path, PosixFile::Mode::existing);
  const auto line = file.is_open() ? first_line(file) : std::nullopt;
  if (line) {
    const std::string wide = limited(csv::widened(*line, found->second.columns));
    if (wide != *line) widen(path, file, *line, wide, found->second);
    known_.erase(path);
  }
  late_.erase(found);
}

void RowFiles::append(const std::string& path, std::string_view header, std::string_view rows) {
  if (format_ != RowFormat::csv) {
    PosixFile(path, PosixFile::Mode::create).append(rows);
    return;
  }
  const auto found = known_.find(path);
  if (found != known_.end() && found->second.header == header) {
    PosixFile file(path, PosixFile::Mode::create);
    if (file.size() > 0) {
      file.append(rows);
      return;
    }
  }
  const std::string fitted = fit(path, header, rows, false);
  PosixFile(path, PosixFile::Mode::create).append(fitted);
}

/// Where the rows to be cut begin: read backwards, so that a long file costs no more than its end.
std::uint64_t RowFiles::start_of_rows_after(const PosixFile& file, std::int64_t last_kept) const {
  std::uint64_t end = file.size();  // all from here on is to go
  std::uint64_t low = end;          // `window` is what lies from here up to `end`
  std::string window;
  while (end > 0) {
    const auto line_end = window.empty() ? std::string::npos : window.size() - 1;
    const auto before = line_end == std::string::npos || line_end == 0
                            ? std::string::npos
                            : window.rfind('\n', line_end - 1);
    if (before == std::string::npos && low > 0) {
      const auto block = std::min<std::uint64_t>(low, std::max(block_bytes, window.size()));
      low -= block;
      window.insert(0, file.read(low, block));
      continue;
    }
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    const std::string_view line = std::string_view(window).substr(start);
    if (line.ends_with('\n')) {
      const auto iteration = row_iteration(format_, line);
      if (iteration && *iteration <= last_kept) return end;
      const bool is_header = format_ == RowFormat::csv && low + start == 0;
      if (is_header) return end;
    }
    end = low + start;
    window.resize(start);
  }
  return 0;
}

void RowFiles::cut(const std::string& path, std::int64_t last_kept) {
  known_.erase(path);
  PosixFile file(path, PosixFile::Mode::existing);
  if (!file.is_open()) return;
  const auto keep = start_of_rows_after(file, last_kept);
  if (keep < file.size()) file.truncate(keep);
  const auto found = late_.find(path);
  if (found == late_.end()) return;
  Late& late = found->second;
  std::erase_if(late.rows, [&](const auto& row) { return row.iteration > last_kept; });
  late.columns = first_line(file).value_or("");
  for (const auto& row : late.rows) late.columns = csv::widened(late.columns, row.header);
}

void RowFiles::mend(const std::string& path, std::string_view header, std::string_view rows) {
  const auto first = row_iteration(format_, rows);
  ensure(first.has_value(), "rows to mend a file with begin with an iteration");
  const auto last_line = rows.rfind('\n', rows.size() - 2);
  const auto last = row_iteration(
      format_, last_line == std::string_view::npos ? rows : rows.substr(last_line + 1));

  std::string fitted;
  if (format_ == RowFormat::csv) {
    fitted = fit(path, header, rows, true);
    rows = fitted;
  }
  Known& file_known = known(path);
  PosixFile file(path, PosixFile::Mode::create);
  std::uint64_t start = file_known.mended_size;
  const bool goes_on = start > 0 && *first > file_known.mended_iteration && start <= file.size();
  if (!goes_on || !rows.starts_with(file.read(start, rows.size()))) {
    start = start_of_rows_after(file, *first - 1);
  }
  // A trial that was rewound: what stands behind are rows of before that, which it may pass again.
  const bool goes_back = *first <= file_known.mended_iteration;
  const std::string there = file.read(start, rows.size());
  if (rows.starts_with(there) && !goes_back) {
    file.append(rows.substr(there.size()));
  } else {
    file.truncate(start);
    file.append(rows);
  }
  file_known.mended_size = start + rows.size();
  file_known.mended_iteration = last.value_or(*first);
}

std::int64_t RowFiles::last_iteration(const std::string& path) const {
  const PosixFile file(path, PosixFile::Mode::existing);
  if (!file.is_open()) return 0;
  std::string window;
  auto low = start_of_rows_after(file, std::numeric_limits<std::int64_t>::max());
  while (low > 0) {
    const auto block = std::min<std::uint64_t>(low, std::max(block_bytes, window.size()));
    low -= block;
    window.insert(0, file.read(low, block));
    const auto before = window.rfind('\n', window.size() - 2);
    if (before == std::string::npos && low > 0) continue;
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    return row_iteration(format_, std::string_view(window).substr(start)).value_or(0);
  }
  return 0;
}

bool RowFiles::remove_if_empty(const std::string& path) {
  try {
    const PosixFile file(path, PosixFile::Mode::existing);
    if (file.is_open() && file.size() > 0) return false;
    if (file.is_open()) std::remove(path.c_str());
  } catch (const Error&) {
  }
  return true;
}

void RowFiles::replace(const std::string& path, std::string_view content) {
  replace_file(path, aside(path), content);
}

}  // namespace tune
