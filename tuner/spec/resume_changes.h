// Which fields of a spec may differ at a resume, or change while the experiment runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/spec/spec.h"

namespace tune {

/// One rule for each field of a spec, or for an object of fields.
struct ChangeRule {
  std::string_view pointer;
  std::string_view refusal;    ///< why it may not change and what to do instead; empty: it may
  bool while_running = false;  ///< also while a driver runs; else at a resume only
};
std::span<const ChangeRule> change_rules();

/// The top-level fields that may change while a driver runs.
std::vector<std::string> fields_while_running();

/// `recorded` with the answer timeouts of `spec` for policies that are programs.
ExperimentSpec with_patience_of(const ExperimentSpec& spec, ExperimentSpec recorded);

/// What is wrong with going on under `changed` where `recorded` was in force: each field that may
/// not change, at its pointer, and whatever is wrong with `changed` in itself.
std::vector<Problem> refuse_changes(const ExperimentSpec& recorded, const ExperimentSpec& changed,
                                    const Catalogue& catalogue);

/// `spec` with `fields`, top-level fields by name, for a driver that runs. What is wrong, also that
/// a field may not change now, is appended to `problems`; then the answer is meaningless.
ExperimentSpec change_while_running(const ExperimentSpec& spec, const Json& fields,
                                    const Catalogue& catalogue, std::vector<Problem>& problems);

/// Keeps the searcher that "auto" chose: it chose once, by the search as it was then, and more
/// samples do not change the choice. The searcher's options are those of `given`.
void keep_chosen_searcher(const ExperimentSpec& recorded, ExperimentSpec& given);

/// The top-level fields in which they differ, "num_samples, stop"; empty if in none.
std::string changed_fields(const ExperimentSpec& recorded, const ExperimentSpec& changed);

/// What each field in which they differ is now, and was: "num_samples is 16 now, was 8"; empty if
/// they differ in none. Of the environment it says no values, which may be secrets.
std::string sentence_of_changes(const ExperimentSpec& recorded, const ExperimentSpec& changed);

}  // namespace tune
