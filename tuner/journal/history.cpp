// Lines of journals, checked and appended.
#include "tuner/journal/history.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/journal/journal.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr int history_format = 1;
constexpr std::string_view header = R"({"history":1})";
constexpr std::size_t block_bytes = 1 << 20;

/// The number of the event that a line holds; nothing if it is damaged, or a header.
std::optional<std::uint64_t> number_of(std::string_view line) {
  const auto text = journal_line_text(line);
  return text ? event_number(*text) : std::nullopt;
}

}  // namespace

void refuse_newer_history(const path& file, std::string_view text) {
  constexpr std::string_view begin = R"({"history":)";
  int format = 0;
  if (!text.starts_with(begin)) return;
  std::from_chars(text.data() + begin.size(), text.data() + text.size(), format);
  if (format <= history_format) return;
  throw user_error(file.native() + " has format " + std::to_string(format) +
                   ", and this program reads up to format " + std::to_string(history_format));
}

HistoryFile::HistoryFile(FileSystem& files, path directory)
    : files_(files), directory_(std::move(directory)), file_(paths::history(directory_)) {}

void HistoryFile::keep(const path& journal) {
  if (!files_.exists(journal)) return;
  const auto begin = read_journal_header(files_, journal);
  if (!begin) return;  // without a header there are no events
  if (out_ == nullptr) open(begin->first);
  if (begin->first <= last_) return;  // it could not be removed the last time
  try {
    std::string block;
    std::uint64_t last = 0;
    for_each_line(files_, journal, [&](std::string_view line) {
      const auto number = number_of(line);
      if (!number) return true;
      last = *number;
      block += line;
      block += '\n';
      if (block.size() < block_bytes) return true;
      out_->append(block);
      block.clear();
      return true;
    });
    if (!block.empty()) out_->append(block);
    out_->sync();
    last_ = std::max(last_, last);
  } catch (...) {
    out_.reset();
    throw;
  }
}

/// Whatever is there of events from `first` on, or is damaged before them, is of a call that was
/// not completed: their journal is still there.
void HistoryFile::open(std::uint64_t first) {
  if (!files_.exists(file_)) {
    std::string line;
    append_journal_line(line, header);
    files_.replace(file_, line);
  }
  std::uint64_t bytes = 0;
  std::uint64_t good = 0;
  for_each_line(files_, file_, [&](std::string_view line) {
    const auto number = number_of(line);
    bytes += line.size() + 1;
    if (number && *number >= first) return false;
    if (number || bytes == line.size() + 1) good = bytes;  // the header is the first
    return true;
  });
  files_.truncate(file_, good);
  last_ = 0;
  out_ = files_.open_append(file_);
}

}  // namespace tune
