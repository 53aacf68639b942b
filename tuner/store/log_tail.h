// The last line of a trial's log, for messages. Knows no trial.
#pragma once

#include <filesystem>
#include <string>

namespace tune {

/// The last line of `file` that is not blank, cut to `max_bytes`; empty if there is none or it
/// cannot be read. Reads only the end of the file.
std::string last_line(const std::filesystem::path& file, std::size_t max_bytes = 200);

}  // namespace tune
