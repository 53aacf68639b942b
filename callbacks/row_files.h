// The files of rows that trials leave, one row an iteration, in order: appending, cutting, mending.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "callbacks/trial_files.h"
#include "tuner/disk/posix_file.h"

namespace tune {

/// How a file's rows begin. Each row is one line.
enum class RowFormat {
  json,  ///< {"training_iteration":12,
  csv,   ///< 12, below a first line that names the columns
  text,  ///< rows have no iteration; they can only be appended
};

/// The training_iteration of `row`; nothing if it is torn or none of our rows.
std::optional<std::int64_t> row_iteration(RowFormat format, std::string_view row);

/// Columns that one CSV file may have; what is reported beyond is in result.json only.
constexpr std::size_t max_columns = 4096;

class RowFiles final : public TrialFiles {
 public:
  explicit RowFiles(RowFormat format) : format_(format) {}

  std::optional<std::int64_t> iteration_of(std::string_view row) const override {
    return row_iteration(format_, row);
  }

  /// Adds whole lines. `header` (csv only): the line, without its end, under which they were made;
  /// where the file has other columns, they are moved. Columns the file lacks are added to it: at
  /// once if there were few such additions, else whenever the file has doubled, or at `complete`,
  /// so that names that change all the time do not rewrite a long file each time. Until then their
  /// cells are left out.
  void append(const std::string& path, std::string_view header, std::string_view rows) override;

  /// The csv files that lack columns.
  std::vector<std::string> incomplete() override;
  /// Adds to the file what columns it lacks, with their cells.
  void complete(const std::string& path) override;

  /// Makes sure that `rows`, whose iterations grow, stand in the file once, after all rows of
  /// earlier iterations. If they do already, the file is not touched; otherwise, and where the
  /// iterations go back behind what was mended before, all rows from the first one's iteration on,
  /// and a torn last line, make room for them.
  void mend(const std::string& path, std::string_view header, std::string_view rows) override;

  /// Removes rows of iterations after `last_kept`, and a torn last line.
  void cut(const std::string& path, std::int64_t last_kept) override;

  /// Gives the file this content unless it has it already; at no moment half of it.
  void replace(const std::string& path, std::string_view content) override;

  /// Of the last whole row; 0 if there is none.
  std::int64_t last_iteration(const std::string& path) const;

  bool remove_if_empty(const std::string& path) override;
  std::vector<std::string> written(const std::string& path) override { return {path}; }

 private:
  /// What is remembered of a file to spare looking; right as long as nobody else writes it.
  struct Known {
    std::string header;
    std::uint64_t mended_size = 0;  ///< up to here it holds what was mended
    std::int64_t mended_iteration = 0;
  };

  /// Of a file that columns were added to: rows with cells that have no column yet.
  struct Late {
    struct Row {
      std::int64_t iteration;
      std::string header;
      std::string text;
    };
    std::vector<Row> rows;  ///< in the file's order
    std::string columns;    ///< those of the file and of `rows`, if there are any
    std::size_t bytes = 0;
    int additions = 0;
    std::uint64_t size = 0;  ///< of the file after the last one
    bool is_due(std::uint64_t file_size) const;
  };

  Known& known(const std::string& path);
  std::string fit(const std::string& path, std::string_view header, std::string_view rows,
                  bool at_once);
  void keep_late(Late& late, std::string_view header, std::string_view rows) const;
  void widen(const std::string& path, const PosixFile& file, std::string_view old_header,
             const std::string& header, Late& late) const;
  std::uint64_t start_of_rows_after(const PosixFile& file, std::int64_t last_kept) const;

  RowFormat format_;
  std::unordered_map<std::string, Known> known_;
  std::unordered_map<std::string, Late> late_;
};

}  // namespace tune
