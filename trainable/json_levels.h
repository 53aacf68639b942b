// How deep JSON is nested, told from its text alone.
#pragma once

#include <cstddef>
#include <string_view>

namespace tune {

/// How deep objects and lists are nested in `json`, as far as that is valid; 0: there are none.
/// Any depth can be parsed, and what copies, compares or writes it takes as much stack as it is
/// deep: so it is asked before.
std::size_t levels_of(std::string_view json);

}  // namespace tune
