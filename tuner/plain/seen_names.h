// Helps a user whose metric a program does not print: lists the names that it prints, and proposes
// an expression.
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

/// The names with nothing but blanks between them and a number, each once, at most `most`:
/// "accuracy" of "epoch 3: accuracy 0.76". There are words among them that are no names.
std::vector<std::string> names_before_blanks(std::string_view text, std::size_t most);

/// How a number of a line is read that has another name, or none.
struct ProposedExpression {
  std::string text;    ///< the expression; empty: none can be proposed
  std::string number;  ///< what it reads there
};
/// How the number behind `name` in `line` is read in lines that have the word at `word` before it,
/// and not in others: "val loss" of "val loss: 0.5"; empty if other numbers or signs are between.
std::string way_to_name(std::string_view line, std::string_view name, std::size_t word);
/// The same as an expression: of "val Loss: 0.79 Acc: 0.64" for Acc.
ProposedExpression expression_from(std::string_view line, std::string_view name, std::size_t word);

/// For the last number of `line` that the words of `metric` (see is_meant_in) stand before: with no
/// number between, or with one that counts something, as in "accuracy after epoch 3: 0.76".
ProposedExpression expression_for(std::string_view line, std::string_view metric);

}  // namespace tune
