// Pictures of an experiment as commands of gnuplot, with their numbers in them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trainable/values.h"

namespace tune {

enum class Plot { curves, best, parallel, importance, rungs, timeline };

/// Their names: "curves" and so on.
std::span<const char* const> plot_names();
std::optional<Plot> parse_plot(std::string_view name);

/// What draws it on whatever terminal is set before: the picture that `tune report` has of the same
/// name, from `report`, see report_of. No word of a trial, such as a metric's name, can be a
/// command. Error (user) if there is nothing to draw, with the reason.
std::string plot_script(const Json& report, Plot plot);

}  // namespace tune
