// The files of one kind that trials leave, as the thread that writes them knows them: rows of
// iterations, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// Used by one thread. All members but `iteration_of` throw Error (machine) and may be called again
/// afterwards: a row is written whole or not at all. Nothing is synced: what a power loss takes is
/// in the journal. `path` names a file, or several that belong together.
class TrialFiles {
 public:
  virtual ~TrialFiles() = default;

  /// The training_iteration of `row`; nothing if it is torn or none of these. From any thread.
  virtual std::optional<std::int64_t> iteration_of(std::string_view row) const = 0;

  /// Adds whole rows. `header` is what a file of them begins with.
  virtual void append(const std::string& path, std::string_view header, std::string_view rows) = 0;

  /// Makes sure that `rows`, whose iterations grow, stand in the file once, after all rows of
  /// earlier iterations; what else is there from the first one's iteration on goes.
  virtual void mend(const std::string& path, std::string_view header, std::string_view rows) = 0;

  /// Removes rows of iterations after `last_kept`, and a torn last one.
  virtual void cut(const std::string& path, std::int64_t last_kept) = 0;

  /// Gives the file this content unless it has it already; at no moment half of it.
  virtual void replace(const std::string& path, std::string_view content) = 0;

  /// Of which files something is held back that has to be written before they can be settled ...
  virtual std::vector<std::string> incomplete() { return {}; }
  /// ... and its writing.
  virtual void complete(const std::string& path) { (void)path; }

  /// Whether there is nothing in the file, which is then not there any more.
  virtual bool remove_if_empty(const std::string& path) = 0;

  /// The names of what may have been written for `path` since it was asked for last.
  virtual std::vector<std::string> written(const std::string& path) = 0;
};

}  // namespace tune
