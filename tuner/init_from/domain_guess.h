// Proposes a domain for an option by its name and its default; the user is to check it.
#pragma once

#include <string>

#include "tuner/init_from/help_reader.h"

namespace tune {

enum class OptionRole {
  learning_rate,   ///< what is searched first
  hyperparameter,  ///< a number or a choice
  flag,            ///< there or not
  directory,       ///< where the program writes
  other,           ///< seeds, paths, devices, logging
  unknown,         ///< a value of which nothing is known
};

struct DomainGuess {
  OptionRole role = OptionRole::unknown;
  std::string domain;  ///< JSON as a param space has it: {"uniform": [0, 1]}; empty: no proposal
};

/// For any option; it has a domain if it is a learning rate, a hyperparameter or a flag.
DomainGuess guess_domain(const HelpOption& option);

}  // namespace tune
