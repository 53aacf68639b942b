// Reading and writing the checksummed lines of a journal.
// Knows lines of text, not events.
#include "tuner/journal/journal.h"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/whole_number.h"
#include "tuner/disk/checksum.h"

namespace tune {

namespace {

constexpr int journal_format = 1;
constexpr std::size_t checksum_chars = std::tuple_size_v<ChecksumDigits>;
/// No writer makes a longer one, and a file that holds none is not to fill the memory.
constexpr std::size_t most_line_bytes = std::size_t{256} << 20;
/// Nor a longer header.
constexpr std::size_t most_header_bytes = 4096;
/// A batch of one huge line must not hold its memory for good.
constexpr std::size_t kept_batch_bytes = 1 << 20;

Error damaged(const std::filesystem::path& file, const JournalPlace& place,
              const std::string& advice) {
  return machine_error("the journal " + file.native() + " is damaged in line " +
                       std::to_string(place.line) + ", at byte " + std::to_string(place.byte) +
                       "; " + advice);
}

JournalHeader parse_header(const std::filesystem::path& file, std::string_view text) {
  const auto refuse = [&] {
    return machine_error(file.native() +
                         " is not a journal: its first line has no header; restore it from a "
                         "backup");
  };
  if (text.size() > most_header_bytes) throw refuse();
  const Json json = parse_shallow(text);
  try {
    const int format = load_whole<int>(json.at("journal"));
    if (format > journal_format) {
      throw user_error("the journal " + file.native() + " has format " + std::to_string(format) +
                       ", this program understands up to " + std::to_string(journal_format) +
                       ": use a newer one");
    }
    return {load_whole<int>(json.at("generation")), load_whole<std::uint64_t>(json.at("first"))};
  } catch (const Json::exception&) {
    throw refuse();
  } catch (const std::invalid_argument&) {
    throw refuse();
  }
}

/// Takes the file in pieces, gives out whole lines, holds back one bad line until it is known
/// whether it is the last.
class LineReader {
 public:
  using Visit = std::function<void(std::string_view, const JournalPlace&)>;
  LineReader(const std::filesystem::path& file, const Visit& visit) : file_(file), visit_(visit) {}

  void take(std::string_view piece) {
    for (;;) {
      const std::size_t newline = piece.find('\n');
      if (newline == std::string_view::npos) break;
      if (partial_.empty()) {
        line(piece.substr(0, newline));
      } else {
        partial_ += piece.substr(0, newline);
        line(partial_);
        partial_.clear();
      }
      piece.remove_prefix(newline + 1);
    }
    partial_ += piece;
    if (partial_.size() > most_line_bytes) throw middle_damaged();
  }

  JournalEnd finish() {
    if (bad_bytes_ > 0 && !partial_.empty()) throw middle_damaged();
    end_.torn_bytes = bad_bytes_ + partial_.size();
    return end_;
  }

 private:
  void line(std::string_view line) {
    // A bad line that another one follows is no torn write.
    if (bad_bytes_ > 0) throw middle_damaged();
    const std::optional<std::string_view> text = journal_line_text(line);
    const std::uint64_t bytes = line.size() + 1;
    if (!text) {
      // Perhaps the last line, torn by a crash: the next line, or `finish`, tells.
      bad_bytes_ = bytes;
      return;
    }
    if (place_.line == 1) {
      end_.header = parse_header(file_, *text);
      end_.has_header = true;
    } else {
      visit_(*text, place_);
      ++end_.records;
    }
    ++place_.line;
    place_.byte += bytes;
    end_.intact_bytes = place_.byte;
  }

  DamageError middle_damaged() const {
    const std::string intact = !end_.has_header ? "that is its header"
                               : end_.records == 0
                                   ? "that is its first event"
                                   : "everything before it is intact, up to event " +
                                         std::to_string(end_.header.first + end_.records - 1);
    return {damaged(file_, place_,
                    intact + "; restore it from a backup, or give up what follows: tune resume "
                             "--salvage"),
            end_};
  }

  const std::filesystem::path& file_;
  const Visit& visit_;
  std::string partial_;
  JournalPlace place_;
  std::uint64_t bad_bytes_ = 0;  ///< of the bad line at `place_`, if there is one
  JournalEnd end_;
};

}  // namespace

void append_journal_line(std::string& out, std::string_view text) {
  ensure(text.find('\n') == std::string_view::npos, "a journal's record is one line");
  const ChecksumDigits digits = checksum(text);
  out.append(digits.data(), digits.size());
  out += ' ';
  out += text;
  out += '\n';
}

std::optional<std::string_view> journal_line_text(std::string_view line) {
  if (line.size() < checksum_chars + 1 || line[checksum_chars] != ' ') return std::nullopt;
  const std::string_view text = line.substr(checksum_chars + 1);
  const ChecksumDigits expected = checksum(text);
  if (line.substr(0, checksum_chars) != std::string_view(expected.data(), expected.size())) {
    return std::nullopt;
  }
  return text;
}

std::optional<JournalHeader> parse_journal_header(const std::filesystem::path& file,
                                                  std::string_view line) {
  const auto text = journal_line_text(line);
  if (!text) return std::nullopt;
  return parse_header(file, *text);
}

std::optional<JournalHeader> read_journal_header(FileSystem& files,
                                                 const std::filesystem::path& file) {
  std::optional<JournalHeader> header;
  for_each_line(files, file, [&](std::string_view line) {
    header = parse_journal_header(file, line);
    return false;
  });
  return header;
}

std::optional<std::uint64_t> event_number(std::string_view text) {
  constexpr std::string_view begin = R"({"n":)";
  if (!text.starts_with(begin)) return std::nullopt;
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data() + begin.size(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

void for_each_line(FileSystem& files, const std::filesystem::path& file,
                   const std::function<bool(std::string_view)>& visit, std::uint64_t begin) {
  struct Enough {};
  std::string partial;
  const auto take = [&](std::string_view piece) {
    for (auto end = piece.find('\n'); end != piece.npos; end = piece.find('\n')) {
      std::string_view line = piece.substr(0, end);
      if (!partial.empty()) line = partial += line;
      if (!visit(line)) throw Enough{};
      partial.clear();
      piece.remove_prefix(end + 1);
    }
    partial += piece;
    if (partial.size() > most_line_bytes) throw Enough{};
  };
  try {
    files.read_pieces(file, take, begin);
  } catch (const Enough&) {
  }
}

JournalEnd read_journal(FileSystem& files, const std::filesystem::path& file,
                        const std::function<void(std::string_view, const JournalPlace&)>& visit) {
  LineReader reader(file, visit);
  files.read_pieces(file, [&](std::string_view piece) { reader.take(piece); });
  return reader.finish();
}

std::string journal_header(const JournalHeader& header) {
  return "{\"journal\":" + std::to_string(journal_format) +
         ",\"generation\":" + std::to_string(header.generation) +
         ",\"first\":" + std::to_string(header.first) + "}";
}

void create_journal(FileSystem& files, const std::filesystem::path& file,
                    const JournalHeader& header) {
  std::string line;
  append_journal_line(line, journal_header(header));
  files.replace(file, line);
}

Journal::Journal(FileSystem& files, std::filesystem::path file)
    : file_(std::move(file)), out_(files.open_append(file_)) {}

void Journal::append(std::string_view text) {
  refuse_if_broken();
  append_journal_line(batch_, text);
}

std::uint64_t Journal::write() {
  close_batch();
  return write_closed();
}

void Journal::close_batch() {
  refuse_if_broken();
  ensure(closed_.empty(), "a batch of the journal is closed after the one before was written");
  closed_.swap(batch_);
}

std::uint64_t Journal::write_closed() {
  refuse_if_broken();
  if (closed_.empty()) return 0;
  try {
    out_->append(closed_);
  } catch (const Error& error) {
    // How much of the batch was written is unknown, and a line appended behind a torn one would
    // make that damage in the middle.
    break_with(error.what());
    throw;
  }
  const std::uint64_t bytes = closed_.size();
  closed_.clear();
  if (closed_.capacity() > kept_batch_bytes) closed_.shrink_to_fit();
  return bytes;
}

void Journal::sync() {
  refuse_if_broken();
  try {
    out_->sync();
  } catch (const Error& error) {
    // The kernel reports a failed write-back once and forgets it: a second sync that succeeds
    // would prove nothing.
    break_with(error.what());
    throw;
  }
}

void Journal::break_with(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = sentence;
  broken_ = true;
}

void Journal::refuse_if_broken() const {
  if (!broken_) return;
  const std::lock_guard lock(mutex_);
  throw machine_error(failure_ + " (the journal is not written any more)");
}

}  // namespace tune
