// Recognises how other tools write a hyperparameter's domain, and gives the domain that means the
// same here.
#pragma once

#include <optional>
#include <string>

#include "trainable/values.h"

namespace tune {

/// A value that is a domain in another tool's notation, but a plain value here.
struct ForeignForm {
  std::string tool;            ///< "W&B"; empty: several write it so
  std::string name;            ///< "beta"; empty: it has none
  std::optional<Json> domain;  ///< what is the same here; nothing: there is none
  std::string beside;  ///< the hyperparameter that `domain`, an expression, is over; empty: none
  Json beside_domain;  ///< what that one is drawn from
  std::string note;    ///< what differs, or why there is none; may be empty

  /// As a spec has it: `domain`, or both with their names.
  std::string text() const;
};

/// `json` stands in a param space, and is no domain. Nothing: it looks like none of theirs. The
/// hyperparameter's name has no say: one may be called like a distribution. Known are the forms of
/// W&B sweeps, Katib, NNI, Optuna, Syne Tune, Keras Tuner, Ax, Hydra and hyperopt, as objects, as
/// one key with its arguments, and as calls in a text.
std::optional<ForeignForm> foreign_form(const Json& json);

}  // namespace tune
