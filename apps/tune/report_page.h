// The page of `tune report --html`: one file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "apps/dashboard/server/http_server.h"
#include "trainable/values.h"

namespace tune {

/// The page with `report`, see report_data.h, in it. Nothing in a text of it can end the element
/// that it stands in.
std::string report_page(const Json& report);

/// The same page without data, which asks the server that it comes from for them.
StaticPage live_page();

/// Whether a file that begins so is such a page, and may be replaced by another one.
bool is_report_page(std::string_view beginning);

}  // namespace tune
