// Whole numbers that a line has before its metric, such as those of an epoch and a step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// `text` with a blank in the place of each date and time: these differ from line to line, and tell
/// nothing of what the line is.
std::string without_times(std::string_view text);

/// The whole numbers in `text`, which has no times: not those that are a part of something else
/// (0.5, 12ms, 50%), nor how many there are in all ("3/10" is 3).
std::vector<std::int64_t> counts_in(std::string_view text);

/// Those behind a word that counts, such as "epoch 3".
std::vector<std::int64_t> named_counts_in(std::string_view text);

}  // namespace tune
