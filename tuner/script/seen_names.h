// What to tell whoever awaits a metric that a program does not print: the names and the last number
// that it does. Knows no file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// The names with a colon or a cell's end, and a number behind them in `text`, each once, at most
/// `most`: what somebody who spelt a metric wrong may have meant. First what reads like one of
/// `awaited`, also of several words and without a colon: "Val Loss" for val_loss.
std::vector<std::string> names_in(std::string_view text, std::size_t most,
                                  std::span<const std::string> awaited = {});

/// An expression for the last number of `line` that the words of `metric` stand before (see
/// is_meant_in), with no number between; empty if there is none.
std::string expression_for(std::string_view line, std::string_view metric);

}  // namespace tune
