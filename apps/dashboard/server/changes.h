// What a page has not been told yet of an experiment. However slowly it reads, this stays small: of
// each trial there is its newest row alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// The newest of a trial: an array of JSON, of which all pages share the text.
struct ChangedRow {
  std::uint32_t trial = 0;
  std::shared_ptr<const std::string> text;
};

/// What has happened to an experiment since it was looked at last.
struct Changes {
  std::uint64_t event = 0;  ///< number of the newest event that is in it
  std::string status;       ///< JSON object; empty: as before
  std::string columns;      ///< JSON array: the names of what each row has
  std::vector<ChangedRow> rows;
  /// Rows cannot tell it: all is to be asked for anew.
  bool is_reset = false;
  /// Why there is nothing to follow any more, as a sentence.
  std::string gone;
};

class PendingChanges {
 public:
  static constexpr std::size_t most_rows = 5'000;
  static constexpr std::size_t most_frame_bytes = 64 * 1024;

  void add(const Changes& changes);
  bool is_empty() const;
  /// The next frame of the stream, as it is sent: no longer than `most_frame_bytes`, whatever is
  /// left. Empty if there is nothing to tell.
  std::string take_frame();

 private:
  std::uint64_t event_ = 0;
  std::string status_, columns_, gone_;
  std::map<std::uint32_t, std::shared_ptr<const std::string>> rows_;
  bool is_reset_ = false;
  bool has_news_ = false;
};

}  // namespace tune
