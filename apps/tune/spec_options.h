// The options that stand for fields of a spec, and how the text of each becomes JSON.
// Knows where a value goes in the spec's JSON, not what it means: parse_spec checks it all.
#pragma once

#include <span>
#include <string>

#include "trainable/values.h"

namespace tune {

/// How the text of an option becomes JSON.
enum class ValueKind {
  text,        ///< as it is
  path,        ///< of the working directory, made absolute
  checkpoint,  ///< a path, made absolute too, or what names a checkpoint of an experiment
  json,        ///< JSON; what is none is taken as text
  flag,        ///< the same, "true" if no value is given
  typed,       ///< a policy's name or a JSON object
  list,        ///< one text, or several, separated by commas or as a JSON list
  amounts,     ///< cpu=1,gpu=0.5 or a JSON object or list
  rules,       ///< 'epochs=20,loss<=0.1' or a JSON object or list
  item,        ///< `typed`, added to a list
  variable,    ///< NAME=VALUE, added to an object
};

struct SpecOption {
  const char* name;     ///< "--num-samples"
  const char* pointer;  ///< "/num_samples"
  ValueKind kind;
  const char* placeholder;
  const char* help;
};

/// One option for each field of the spec.
std::span<const SpecOption> spec_options();

/// Error (user) if it cannot be read.
Json to_json_value(const SpecOption& option, const std::string& text);

/// `text` as the option of that field of the spec takes it; JSON, or a text, if it has none. Error
/// (user) if it cannot be read.
Json field_value(const std::string& field, const std::string& text);

}  // namespace tune
