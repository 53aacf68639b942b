// Which of the names that a program prints is probably the metric that is awaited.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// The same name in other letters or with other signs between its words ("Val-Loss" for val_loss);
/// else all that end with its words, a few at most ("avg/loss", "train.loss" for loss); else the
/// same where words may be cut short ("val_acc" for val_accuracy); else the nearest one, if that is
/// near. `metric` itself is none.
std::vector<std::string> names_meant(std::string_view metric, std::span<const std::string> printed);

/// "did you mean 'avg/loss' or 'train.loss'?"; empty if none is meant.
std::string did_you_mean(std::string_view metric, std::span<const std::string> printed);

/// The name that has most of `metric`'s last words, perhaps cut short, where it lacks its first
/// ones
/// ("acc" for "val acc"); else the first with any of its words; empty if there is none. It may be
/// another metric: to be named, not to be taken for the one that is meant.
std::string nearest_printed(std::string_view metric, std::span<const std::string> printed);

/// The end of `text` that reads like `metric` but for its letters, the signs between its words, and
/// words that may be cut short: "Val Loss" of "epoch 3 | Val Loss: " for val_loss; empty if it ends
/// otherwise.
std::string_view end_meant(std::string_view metric, std::string_view text);

/// Whether the words of `metric` stand in `text` one behind the other, perhaps cut short.
bool is_meant_in(std::string_view metric, std::string_view text);

}  // namespace tune
