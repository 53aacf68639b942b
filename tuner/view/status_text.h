// What `tune status` says for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tuner/view/status_view.h"

namespace tune {

/// "key  value" lines, for pairs_text.
std::vector<std::pair<std::string, std::string>> status_lines(const StatusView& seen);

/// All of it in one line: "2 RUNNING, 3 TERMINATED | best ... | ends in about 40 s: ...".
std::string status_line_of(const StatusView& seen);
/// The same without what changes by itself as time goes by.
std::string status_key_of(const StatusView& seen);

}  // namespace tune
