// Fills the data into the page that apps/dashboard/page builds.
#include "apps/tune/report_page.h"

#include <stdexcept>

#include "apps/tune/report_page_text.h"

namespace tune {

namespace {

constexpr std::string_view page_mark = "<!doctype html><!-- tune report -->";
/// What the page has in place of the data.
constexpr std::string_view data_place = "\"TUNE_REPORT\"";
constexpr std::string_view policy_begin = "<meta http-equiv=\"Content-Security-Policy\" content=\"";

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

/// In place of `what`, which is there.
std::string filled(std::string page, std::string_view what, const std::string& text) {
  const std::size_t at = page.find(what);
  if (at == std::string::npos) throw std::logic_error("the page has no place for its data");
  return page.replace(at, what.size(), text);
}

std::string empty_page() {
  std::string page;
  for (const char* const part : report_page_parts) page += part;
  return page;
}

}  // namespace

std::string report_page(const Json& report) {
  const std::string json =
      encode_numbers(report).dump(-1, ' ', false, Json::error_handler_t::replace);
  return filled(empty_page(), data_place, escaped(json));
}

StaticPage live_page() {
  const std::string page = empty_page();
  const std::size_t begin = page.find(policy_begin);
  const std::size_t end = page.find("\">", begin);
  if (begin == std::string::npos || end == std::string::npos) {
    throw std::logic_error("the page has no policy");
  }
  // What a page says of itself holds besides what its server says: so here only that does.
  const std::string policy =
      page.substr(begin + policy_begin.size(), end - begin - policy_begin.size());
  std::string without = page.substr(0, begin) + page.substr(end + 2);
  return {filled(std::move(without), data_place, R"({"live":true})"),
          policy + "; connect-src 'self'; frame-ancestors 'none'"};
}

bool is_report_page(std::string_view beginning) { return beginning.starts_with(page_mark); }

}  // namespace tune
