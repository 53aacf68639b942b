// `tune run --dashboard`: a dashboard beside the driver, in a process of its own, so that nothing
// of it can hold up or end the driver.
#pragma once

#include <filesystem>

namespace tune {

/// Starts one for the experiment that is, or will be, in `directory`, and prints where it is: to
/// standard error if `is_data_on_stdout`. It ends soon after this process. If it cannot start, that
/// is said, and is no error.
void start_dashboard(const std::filesystem::path& directory, bool is_data_on_stdout);

}  // namespace tune
