// The event files that TensorBoard reads, several of each trial: adding records, cutting, mending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "callbacks/trial_files.h"
#include "tuner/disk/posix_file.h"

namespace tune {

/// What the name of an event file begins with; a dot and six digits follow.
constexpr std::string_view event_file_name = "events.out.tfevents";

/// The last step of the scalars in the files that `path` stands for; 0: there are none. Changes
/// nothing.
std::int64_t last_step_in(const std::string& path);
/// Whether the newest of the files ends with these bytes.
bool ends_with(const std::string& path, std::string_view bytes);

/// A path DIR/events.out.tfevents stands for DIR/events.out.tfevents.000001 and so on; any other
/// path for files of these names in a directory there: TensorBoard takes a directory for a run.
///
/// TensorBoard follows a file while it grows, and keeps the part of a record that it has seen. So a
/// file that was cut never grows again: what comes next goes to a new one. Its first record of a
/// step makes readers that run drop what was cut. A new driver begins a new file, too.
class EventFiles final : public TrialFiles {
 public:
  std::optional<std::int64_t> iteration_of(std::string_view row) const override;

  /// `rows` are records. `header` counts for all files begun from now on: the records that come
  /// after those by which a file says what it is. With no rows no file is begun. The end of a
  /// session is added once.
  void append(const std::string& path, std::string_view header, std::string_view rows) override;
  void mend(const std::string& path, std::string_view header, std::string_view rows) override;
  /// The end of a session goes, too.
  void cut(const std::string& path, std::int64_t last_kept) override;
  /// The file that is read before all others, which is numbered 0.
  void replace(const std::string& path, std::string_view content) override;
  bool remove_if_empty(const std::string& path) override;
  std::vector<std::string> written(const std::string& path) override;

 private:
  /// What is known of the files of one path, until the end of a session; right as long as nobody
  /// else writes them.
  struct Series {
    int newest = 0;         ///< number of the last file; 0: there is none
    bool is_closed = true;  ///< nothing may be added to that one
    std::uint64_t size = 0;
    std::int64_t last_step = 0;  ///< of the scalars in the files
    bool has_end = false;
    std::string header;
    /// Up to here, in the file of this number, stands what was mended.
    std::optional<std::pair<int, std::uint64_t>> mended;
    std::int64_t mended_step = 0;
  };

  Series& look(const std::string& path);
  void write(const std::string& path, Series& series, std::string_view rows);
  void cut(const std::string& path, Series& series, std::int64_t last_kept);
  std::size_t already_there(const std::string& path, Series& series, std::string_view rows);

  std::unordered_map<std::string, Series> series_;
  std::vector<std::string> written_;
};

}  // namespace tune
