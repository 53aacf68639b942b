// Walks a result's JSON in its order and turns each leaf into a cell.
#include "tuner/model/metric_cells.h"

#include "tuner/base/decimal.h"
#include "tuner/base/json_text.h"
#include "tuner/model/metrics_dom.h"

namespace tune {

namespace {

using simdjson::dom::element_type;

MetricCell cell_of(simdjson::dom::element value) {
  using Kind = MetricCell::Kind;
  MetricCell cell;
  cell.kind = number_in(value) ? Kind::number : Kind::none;
  switch (value.type()) {
    case element_type::STRING: {
      if (cell.kind == Kind::none) cell.kind = Kind::text;
      cell.text = std::string_view(value);
      break;
    }
    case element_type::ARRAY:
      cell.kind = Kind::json;
      cell.text = simdjson::minify(value);
      break;
    case element_type::DOUBLE:
      append_decimal(cell.text, double(value));
      break;
    case element_type::BOOL:
      cell.text = bool(value) ? "1" : "0";
      cell.is_truth = true;
      break;
    case element_type::INT64:
      append_integer(cell.text, std::int64_t(value));
      break;
    case element_type::UINT64:
      cell.text = std::to_string(std::uint64_t(value));
      break;
    default:
      break;
  }
  return cell;
}

void take(simdjson::dom::object object, std::string& path, std::vector<MetricCell>& cells) {
  const std::size_t length = path.size();
  for (const auto [key, value] : object) {
    path += key;
    if (value.is_object()) {
      path += '/';
      take(simdjson::dom::object(value), path, cells);
    } else {
      cells.push_back(cell_of(value));
      cells.back().name = path;
    }
    path.resize(length);
  }
}

}  // namespace

std::vector<MetricCell> cells_of(std::string_view metrics) {
  std::vector<MetricCell> cells;
  simdjson::dom::object object;
  if (parse_record(metrics).get(object) != simdjson::SUCCESS) return cells;
  cells.reserve(object.size());
  std::string path;
  take(object, path, cells);
  return cells;
}

}  // namespace tune
