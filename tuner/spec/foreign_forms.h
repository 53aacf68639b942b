// How other tools write what a hyperparameter is drawn from, and what that is here: one table.
// Knows nothing of where in a spec it stands.
#pragma once

#include <optional>
#include <string>

#include "trainable/values.h"

namespace tune {

/// Something that another tool would draw from, and that is a plain value here.
struct ForeignForm {
  std::string tool;   ///< "W&B"; empty: several write it so
  std::string name;   ///< "beta"; empty: it has none
  std::string write;  ///< JSON text of what is the same here; empty: there is none
  std::string note;   ///< what differs, or why there is none; may be empty
};

/// `json` stands in a param space under `key`, and is no domain. Nothing: it looks like none of
/// theirs. Known are the forms of W&B sweeps, Katib, NNI, Optuna, Syne Tune, Keras Tuner, Ax, Hydra
/// and hyperopt, as objects, as one key with its arguments, and as calls in a text.
std::optional<ForeignForm> foreign_form(const std::string& key, const Json& json);

}  // namespace tune
