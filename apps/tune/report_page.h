// The page of `tune report --html`: one file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "trainable/values.h"

namespace tune {

/// The page with `report`, see report_data.h, in it. Nothing in a text of it can end the element
/// that it stands in.
std::string report_page(const Json& report);

/// Whether a file that begins so is such a page, and may be replaced by another one.
bool is_report_page(std::string_view beginning);

}  // namespace tune
