// Lines of journals, filtered and appended.
#include "tuner/store/history.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tuner/core/error.h"
#include "tuner/store/journal.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

using std::filesystem::path;

constexpr std::string_view header = R"({"history":1})";
constexpr std::size_t block_bytes = 1 << 20;

/// Calls `visit` with each line of `file` that ends, without its newline, until it answers false.
void for_each_line(FileSystem& files, const path& file,
                   const std::function<bool(std::string_view)>& visit) {
  struct Enough {};
  std::string partial;
  try {
    files.read_pieces(file, [&](std::string_view piece) {
      for (auto end = piece.find('\n'); end != piece.npos; end = piece.find('\n')) {
        std::string_view line = piece.substr(0, end);
        if (!partial.empty()) line = partial += line;
        if (!visit(line)) throw Enough{};
        partial.clear();
        piece.remove_prefix(end + 1);
      }
      partial += piece;
    });
  } catch (const Enough&) {
  }
}

/// Nothing if it is no event.
std::optional<Event> event_in(std::string_view text) {
  try {
    return parse_event(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

/// The number of a result that is none of the history, told without reading its metrics, which are
/// most of a journal and come last. Nothing if the record has to be read.
std::optional<std::uint64_t> number_of_plain_result(std::string_view text) {
  constexpr std::string_view begin = R"({"n":)";
  if (!text.starts_with(begin)) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(text.data() + begin.size(), text.data() + text.size(), number);
  bool is_result = false;
  // Before its metrics, a result without a decision has no texts that could look like a member.
  for (auto comma = text.find(R"(,")"); comma != text.npos; comma = text.find(R"(,")", comma + 1)) {
    const std::string_view member = text.substr(comma + 2);
    if (member.starts_with(R"(e":)")) is_result = member.starts_with(R"(e":"result")");
    if (member.starts_with(R"(action":)") || member.starts_with(R"(why":)")) break;
    if (member.starts_with(R"(metrics":)")) return is_result ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool belongs_to_history(const Event& event) {
  const auto* const reported = std::get_if<ResultReported>(&event.body);
  return reported == nullptr || reported->decision.action != Action::proceed ||
         !reported->decision.why.empty();
}

HistoryFile::HistoryFile(FileSystem& files, path directory)
    : files_(files), directory_(std::move(directory)), file_(paths::history(directory_)) {}

void HistoryFile::keep(const path& journal) {
  if (!files_.exists(journal)) return;
  std::optional<JournalHeader> begin;
  for_each_line(files_, journal, [&](std::string_view line) {
    begin = parse_journal_header(journal, line);
    return false;
  });
  if (!begin) return;  // without a header there are no events
  if (out_ == nullptr) open(begin->first);
  if (begin->first <= last_) return;  // it could not be removed the last time
  try {
    std::string block;
    std::uint64_t last = 0;
    for_each_line(files_, journal, [&](std::string_view line) {
      const auto text = journal_line_text(line);
      if (!text) return true;  // damaged
      if (const auto number = number_of_plain_result(*text)) {
        last = *number;
        return true;
      }
      const auto event = event_in(*text);
      if (event) last = event->number;
      if (!event || !belongs_to_history(*event)) return true;
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
    const auto text = journal_line_text(line);
    const auto event = text ? event_in(*text) : std::nullopt;
    bytes += line.size() + 1;
    if (event && event->number >= first) return false;
    if (event || bytes == line.size() + 1) good = bytes;  // the header is the first
    return true;
  });
  files_.truncate(file_, good);
  last_ = 0;
  out_ = files_.open_append(file_);
}

}  // namespace tune
