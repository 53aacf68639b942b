// result.json. Knows the shape of its rows; ResultLog knows the rest.
#include <utility>

#include "callbacks/result_log.h"
#include "callbacks/result_text.h"

namespace tune {

std::unique_ptr<Callback> make_json_logger(FileLogOptions options) {
  auto make_row = [fields = DriverFields(), row = std::string()](TrialId trial,
                                                                 const Result& result) mutable {
    fields.fill(trial, result);
    row.clear();
    append_json_row(row, fields, result);
    return LogRow{{}, row};
  };
  return std::make_unique<ResultLog>("json", "/result.json", RowFormat::json, std::move(make_row),
                                     options);
}

}  // namespace tune
