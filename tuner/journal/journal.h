// The journal: a file of checksummed lines that is only ever appended to.
// Knows lines of text, not events; not who may write.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tuner/base/error.h"
#include "tuner/disk/file_system.h"

namespace tune {

/// The first line of every journal. Files of format 1 are all there are.
struct JournalHeader {
  int generation = 1;
  std::uint64_t first = 1;  ///< number of the first record after it
};

/// Where a record stands, for messages.
struct JournalPlace {
  std::uint64_t line = 1;  ///< from 1, which is the header
  std::uint64_t byte = 0;  ///< offset of the line in the file
};

/// What reading a journal to its end found.
struct JournalEnd {
  JournalHeader header;
  std::uint64_t records = 0;       ///< good ones, without the header
  std::uint64_t intact_bytes = 0;  ///< up to here all is good
  bool has_header = false;         ///< if not, there are no records
  std::uint64_t torn_bytes = 0;    ///< what follows: the end of a write that never was completed
};

/// Appends `text` (one line, no newline) to `out` as a line of a journal: 16 hexadecimal digits of
/// its XXH3-64, a space, itself, a newline.
void append_journal_line(std::string& out, std::string_view text);

/// The text of such a line, which is given without its newline; nothing if it is damaged.
std::optional<std::string_view> journal_line_text(std::string_view line);

/// The header in a journal's first `line`, given without its newline; nothing if it is damaged.
/// Error (user) if its format is newer, Error (machine) if it is another kind of line.
std::optional<JournalHeader> parse_journal_header(const std::filesystem::path& file,
                                                  std::string_view line);

/// The header of the journal `file`; nothing if it has none yet. Error as above.
std::optional<JournalHeader> read_journal_header(FileSystem& files,
                                                 const std::filesystem::path& file);

/// The number of the event that is a record's `text`, told without reading it; nothing if it is
/// none.
std::optional<std::uint64_t> event_number(std::string_view text);

/// Calls `visit` with each line of `file` that ends, from its byte `begin` on and without its
/// newline, until it answers false. A line that does not fit in memory is not seen either.
void for_each_line(FileSystem& files, const std::filesystem::path& file,
                   const std::function<bool(std::string_view)>& visit, std::uint64_t begin = 0);

/// Damage in the middle: what lies before it is good.
class DamageError : public Error {
 public:
  DamageError(const Error& error, JournalEnd before) : Error(error), intact(before) {}
  JournalEnd intact;
};

/// Gives the text of every record after the header to `visit`, in order and in one pass, whatever
/// the size of the file. A bad *last* line is torn: it is not visited and nothing is changed. A bad
/// line before that is a DamageError with file, line and byte; a newer format is an Error (user)
/// with both numbers.
JournalEnd read_journal(FileSystem& files, const std::filesystem::path& file,
                        const std::function<void(std::string_view, const JournalPlace&)>& visit);

/// The first line's text.
std::string journal_header(const JournalHeader& header);

/// Makes `file` a journal without records, durably. A crash leaves what was there before.
void create_journal(FileSystem& files, const std::filesystem::path& file,
                    const JournalHeader& header);

/// The writing end. `sync` and `write_closed` are for any thread, all else for one.
class Journal {
 public:
  /// `file` must end after a whole line: cut off what `read_journal` found torn.
  Journal(FileSystem& files, std::filesystem::path file);

  /// Adds a line to the batch in memory.
  void append(std::string_view text);
  /// Appends the batch to the file in one write; answers its bytes. After an Error, of this or of
  /// `sync`, the end of the file is unknown: everything is refused from then on.
  std::uint64_t write();
  // The same in two steps, so that lines can be added while another thread writes.
  /// What is added from now on is for the next batch. The one before must be written.
  void close_batch();
  std::uint64_t write_closed();
  /// Puts on disk all that was written before the call.
  void sync();
  /// Whether everything is refused, with the sentence of the first Error.
  bool is_broken() const { return broken_; }

 private:
  void break_with(const std::string& sentence);
  void refuse_if_broken() const;

  std::filesystem::path file_;
  std::unique_ptr<AppendFile> out_;
  std::string batch_;
  std::string closed_;
  std::atomic<bool> broken_ = false;
  mutable std::mutex mutex_;
  std::string failure_;
};

}  // namespace tune
