// The condition of `tune ls --filter`: arithmetic over a trial's fields, and comparisons with
// texts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/base/expression.h"
#include "tuner/view/trial_fields.h"

namespace tune {

class TrialFilter {
 public:
  /// Error (user) if `text` is no condition, or names what no trial has.
  TrialFilter(const std::string& text, const TrialFields& fields);

  /// False for a trial that lacks one of the numbers.
  bool accepts(const TrialSource& source, const Trial& trial) const;

 private:
  /// optimizer == "adam"
  struct TextTest {
    std::string name, text;
    bool wants_equal;
  };

  Expression parse(const std::string& text);
  std::string take_out_names(const std::string& text);
  std::string take_out_texts(const std::string& text);
  /// With the names as they were given.
  std::string as_given(const std::string& text) const;

  std::map<std::string, std::string> names_;  ///< as they were given, by what stands for each
  std::map<std::string, TextTest> tests_;     ///< by the name that stands for each
  Expression expression_;
  std::vector<TrialFields::Field> fields_;  ///< of its variables, in their order
};

}  // namespace tune
