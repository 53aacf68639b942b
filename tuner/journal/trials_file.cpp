// An append-only file of trials with an index of each trial's last line, compacted by rewriting (as
// a log-structured store does).
#include "tuner/journal/trials_file.h"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/whole_number.h"
#include "tuner/journal/journal.h"
#include "tuner/model/paths.h"

namespace tune {

namespace {

constexpr int trials_format = 1;
/// A trial's line is longer: so a wrong number in one cannot take all memory.
constexpr std::uint64_t least_line_bytes = 30;
constexpr std::size_t write_bytes = 1 << 20;
/// Below that, a file is not worth being written anew.
constexpr std::uint64_t small_file_bytes = 4 << 20;

std::string header_line(int number) {
  std::string line;
  append_journal_line(line, "{\"trials\":" + std::to_string(trials_format) +
                                ",\"file\":" + std::to_string(number) + "}");
  return line;
}

std::optional<TrialId> trial_in(std::string_view text) {
  constexpr std::string_view start = "{\"trial\":";
  if (!text.starts_with(start)) return std::nullopt;
  std::uint32_t number = 0;
  const char* const begin = text.data() + start.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || *end != ',') return std::nullopt;
  return TrialId{number};
}

/// Cuts pieces of a file into its first `limit` bytes' lines.
class LineCutter {
 public:
  /// `visit(line without its end, offset)`.
  template <class Visit>
  void take(std::string_view piece, std::uint64_t limit, const Visit& visit) {
    const std::uint64_t left = limit - taken_;
    piece = piece.substr(0, std::min<std::uint64_t>(piece.size(), left));
    taken_ += piece.size();
    for (;;) {
      const std::size_t newline = piece.find('\n');
      if (newline == std::string_view::npos) break;
      partial_ += piece.substr(0, newline);
      const std::uint64_t offset = offset_;
      offset_ += partial_.size() + 1;
      visit(std::string_view(partial_), offset);
      partial_.clear();
      piece.remove_prefix(newline + 1);
    }
    partial_ += piece;
  }
  std::uint64_t taken() const { return taken_; }
  bool is_in_a_line() const { return !partial_.empty(); }

 private:
  std::string partial_;
  std::uint64_t offset_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace

void TrialLines::add(TrialLines&& more) {
  if (empty()) {
    *this = std::move(more);
  } else {
    text_ += more.text_;
    entries_.insert(entries_.end(), more.entries_.begin(), more.entries_.end());
  }
  more = {};
}

TrialsFile::TrialsFile(FileSystem& files, std::filesystem::path directory)
    : files_(files), directory_(std::move(directory)) {}

void TrialsFile::note(TrialId trial, std::uint64_t offset, std::size_t size) {
  if (index_of(trial) >= lines_.size()) lines_.resize(index_of(trial) + 1);
  Line& line = lines_[index_of(trial)];
  live_bytes_ += size - line.size;
  line = {offset, static_cast<std::uint32_t>(size)};
}

void TrialsFile::load(int number, std::uint64_t bytes,
                      const std::function<void(std::string_view)>& visit) {
  const auto file = paths::trials(directory_, number);
  number_ = number;
  bytes_ = bytes;
  live_bytes_ = 0;
  lines_.clear();
  may_be_longer_ = true;
  std::uint64_t count = 0;
  const auto damaged = [&](std::uint64_t byte, const std::string& how) {
    return machine_error("the trials' file " + file.native() + " is damaged in line " +
                         std::to_string(count) + ", at byte " + std::to_string(byte) + ": " + how +
                         "; restore it from a backup");
  };
  LineCutter cutter;
  files_.read_pieces(file, [&](std::string_view piece) {
    cutter.take(piece, bytes, [&](std::string_view line, std::uint64_t offset) {
      ++count;
      const auto text = journal_line_text(line);
      if (!text) throw damaged(offset, "its checksum is not that of its content");
      if (count == 1) {
        const Json header = parse_shallow(*text);
        const auto found = header.is_object() ? header.find("trials") : header.end();
        const int format = found != header.end() ? whole_number<int>(*found).value_or(0) : 0;
        if (format > trials_format) {
          throw user_error("the trials' file " + file.native() + " has format " +
                           std::to_string(format) + ", this program understands up to " +
                           std::to_string(trials_format) + ": use a newer one");
        }
        if (format < 1) throw damaged(offset, "it has no header");
        return;
      }
      const auto trial = trial_in(*text);
      if (!trial) throw damaged(offset, "it is no trial");
      if (index_of(*trial) > bytes / least_line_bytes) {
        throw damaged(offset, "the file is too short to have so many trials");
      }
      note(*trial, offset, line.size() + 1);
      try {
        visit(*text);
      } catch (const std::invalid_argument& error) {
        throw damaged(offset, error.what());
      }
    });
  });
  ++count;
  if (cutter.taken() < bytes || cutter.is_in_a_line()) {
    throw damaged(cutter.taken(),
                  "it ends there, but " + std::to_string(bytes) + " bytes of it count");
  }
  for (std::size_t trial = 0; trial < lines_.size(); ++trial) {
    if (lines_[trial].size == 0) {
      throw damaged(bytes, "it has no line of trial " + std::to_string(trial));
    }
  }
}

void TrialsFile::write(AppendFile& out, std::string_view bytes) {
  out.append(bytes);
  written_bytes_ += bytes.size();
}

void TrialsFile::append(const TrialLines& lines) {
  if (number_ == 0) start_file(1);
  if (bytes_ > 2 * live_bytes_ + small_file_bytes) rewrite();
  const auto file = paths::trials(directory_, number_);
  // A crash or a failed append may have left lines behind the bytes that count: they go first, or
  // new lines would begin at another offset than noted.
  if (may_be_longer_) files_.truncate(file, bytes_);
  may_be_longer_ = true;
  const auto out = files_.open_append(file);
  std::string piece;
  std::uint64_t end = bytes_;
  std::vector<std::pair<TrialId, Line>> noted;
  lines.for_each([&](TrialId trial, std::string_view text) {
    const std::size_t before = piece.size();
    append_journal_line(piece, text);
    const std::size_t size = piece.size() - before;
    noted.push_back({trial, {end, static_cast<std::uint32_t>(size)}});
    end += size;
    if (piece.size() >= write_bytes) {
      write(*out, piece);
      piece.clear();
    }
  });
  if (!piece.empty()) write(*out, piece);
  out->sync();
  // Only after the sync: after an Error the file counts as long as before.
  may_be_longer_ = false;
  bytes_ = end;
  for (const auto& [trial, line] : noted) note(trial, line.offset, line.size);
}

void TrialsFile::start_file(int number) {
  const std::string header = header_line(number);
  files_.replace(paths::trials(directory_, number), header);
  written_bytes_ += header.size();
  number_ = number;
  bytes_ = header.size();
}

/// Copies each trial's last line to the next file. If that fails, this one is as it was.
void TrialsFile::rewrite() {
  const int next = number_ + 1;
  const auto from = paths::trials(directory_, number_);
  const auto to = paths::trials(directory_, next);
  std::string piece = header_line(next);
  std::uint64_t end = piece.size();
  files_.replace(to, piece);
  written_bytes_ += piece.size();
  piece.clear();
  std::vector<Line> moved(lines_.size());
  const auto out = files_.open_append(to);
  LineCutter cutter;
  files_.read_pieces(from, [&](std::string_view content) {
    cutter.take(content, bytes_, [&](std::string_view line, std::uint64_t offset) {
      const auto text = journal_line_text(line);
      if (!text) {
        throw machine_error("the trials' file " + from.native() + " is damaged at byte " +
                            std::to_string(offset));
      }
      const auto trial = trial_in(*text);
      if (!trial || lines_[index_of(*trial)].offset != offset) return;
      piece.append(line).push_back('\n');
      const auto size = static_cast<std::uint32_t>(line.size() + 1);
      moved[index_of(*trial)] = {end, size};
      end += size;
      if (piece.size() < write_bytes) return;
      write(*out, piece);
      piece.clear();
    });
  });
  write(*out, piece);
  out->sync();
  number_ = next;
  bytes_ = end;
  lines_ = std::move(moved);
  may_be_longer_ = false;
}

}  // namespace tune
