// progress.csv. Knows the shape of its rows; ResultLog knows the rest.
#include <utility>

#include "callbacks/csv_rows.h"
#include "callbacks/result_log.h"

namespace tune {

std::unique_ptr<Callback> make_csv_logger(FileLogOptions options) {
  auto make_row = [rows = CsvRows()](TrialId trial, const Result& result) mutable {
    const auto made = rows.make(trial, result);
    return LogRow{made.header, made.row};
  };
  return std::make_unique<ResultLog>("csv", "/progress.csv", RowFormat::csv, std::move(make_row),
                                     options);
}

}  // namespace tune
