// Fills the data into the page that apps/dashboard/page builds.
#include "apps/tune/report_page.h"

#include <stdexcept>

#include "apps/tune/report_page_text.h"

namespace tune {

namespace {

constexpr std::string_view page_mark = "<!doctype html><!-- tune report -->";
/// What the page has in place of the data.
constexpr std::string_view data_place = "\"TUNE_REPORT\"";

/// Between <script> tags, "</script>" and "<!--" mean something, in strings, too.
std::string escaped(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string report_page(const Json& report) {
  std::string page;
  for (const char* const part : report_page_parts) page += part;
  const std::size_t at = page.find(data_place);
  if (at == std::string::npos) throw std::logic_error("the page has no place for its data");
  const std::string json =
      encode_numbers(report).dump(-1, ' ', false, Json::error_handler_t::replace);
  return page.replace(at, data_place.size(), escaped(json));
}

bool is_report_page(std::string_view beginning) { return beginning.starts_with(page_mark); }

}  // namespace tune
