// The spec that `tune init --from PROGRAM` proposes: of a program's options those that may be
// hyperparameters, each with a domain, and what else its help says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/tune/commands.h"
#include "tuner/init_from/help_reader.h"

namespace tune {

/// The list word that gives options of that form, without "${" and "}".
std::string word_for(OptionForm form);

/// "--a, --b", and how many more there are where that would fill pages.
std::string listed(const std::vector<std::string>& items);

struct ProposedSpec {
  std::string text;
  std::vector<std::string> to_fill_in;  ///< options whose values its user has to write into it
};

/// `command`: as it stands in the spec. Nothing if that has nothing to search, as the program has
/// commands with options of their own, and none was named.
std::optional<ProposedSpec> proposed_spec(const ProgramHelp& help, std::vector<std::string> command,
                                          const InitRequest& request, const std::string& mode);

}  // namespace tune
