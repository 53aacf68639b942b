// Other tools' names for our fields and policies.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tune {

/// Our field for another tool's word, however that is written: "num_samples" for "n_trials",
/// "nTrials" or "--n-trials". Empty if there is none.
std::string field_of_others(std::string_view word);

/// The one of `names`, our policies of a kind, that another tool calls so: "asha" for
/// "ASHAScheduler".
std::optional<std::string> policy_of_others(std::string_view word,
                                            std::span<const std::string> names);

}  // namespace tune
