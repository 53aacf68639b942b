// A trial's values by name: its own fields, its metrics, the values of its config.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuner/result_grid.h"
#include "tuner/view/notes.h"

namespace tune {

/// Who has paused the trial: "user", "scheduler", or "" if it is not PAUSED.
const char* paused_by(const Trial& trial);
/// Who has ended the trial: "done", "rule", ...; "" if it has not ended, also if somebody is about
/// to end it, or if older programs did not record it.
const char* ended_by(const Trial& trial);
/// Wall-clock time from its first start to its end, or so far; null if it never started.
Json duration_json(const Experiment& experiment, const Trial& trial);
/// Where its last attempt ran, and which gpus that had ("0,1"); null if it had none, or if older
/// programs did not record it.
Json node_json(const Trial& trial);
Json gpus_json(const Trial& trial);

/// By name the last value and its iteration of each metric that the trial's last result lacks.
Json earlier_metrics_json(const ResultGrid& grid, const Trial& trial);

/// The results that count, by iteration.
Json results_json(const ResultGrid& grid, const Trial& trial);

/// "completed", ...; "" while it has not ended.
const char* end_of(const Trial& trial);
/// "pruned"; "RUNNING" of one that has not ended.
const char* end_or_state(const Trial& trial);

/// One experiment of which trials are shown.
struct TrialSource {
  const ResultGrid* grid = nullptr;
  std::string name;  ///< told from the others by it
  Notes notes = {};
};

class TrialFields {
 public:
  struct Field {
    enum class Source { own, metric, config };
    std::string name;  ///< as shown: "state", "loss", "config.optimizer.lr"
    Source source = Source::own;
    std::string key;       ///< in the metrics or the config, nested with '/'
    bool is_time = false;  ///< Unix time
  };

  /// Collects the names over all trials of all sources, which must outlive this. The metrics of
  /// their specs are known before anyone has reported them.
  explicit TrialFields(const std::vector<TrialSource>& sources);

  /// The field that `name` means. A '.' stands for '/' and a '_' for every other character that
  /// cannot be in an expression; the trial's own fields win over metrics, and these over the
  /// config. All metrics are also reached by "metrics.", and all of the config by "config.". Error
  /// (user) for a name that no trial has, with the nearest that there is, and for one that means
  /// several; `kind` is the word for it ("column"). Of names that are written alike, the one that
  /// is given as it was reported is meant.
  Field find(const std::string& kind, const std::string& name) const;
  /// The same of a name in an expression, which knows no '/': with one in it and a '.' there it
  /// means several.
  Field find_written(const std::string& kind, const std::string& name) const;

  /// A name as an expression can have it, see `find`.
  static std::string written(const std::string& name);

  /// The metric that `name` means, written as above. Error (user) if there is none, with the
  /// nearest.
  std::string find_metric(const std::string& name) const;

  /// The names of the config's values that `param_space` does not simply state.
  std::vector<std::string> drawn(const Json& param_space) const;

  /// All fields: own, metrics, config, each once.
  std::vector<Field> all() const;

 private:
  std::vector<std::string> metrics_;  ///< in the order they first appeared
  std::vector<std::string> config_;
  /// The first of a name, and after it those of its kind that are written as it is.
  using ByName = std::map<std::string, std::vector<Field>>;
  ByName exact_;   ///< by the name, with dots
  ByName fields_;  ///< by the name as it can be written in an expression
};

/// The trial's `value` of the field as a table has it: an iteration that may be a later one is "20
/// or later".
Json in_a_table(const Trial& trial, const TrialFields::Field& field, const Json& value);

/// The values of a config by name, nested with '/'. Lists are values.
std::map<std::string, Json> leaves_of(const Json& config);
/// Takes the value of that name out of the config, if it has it.
void erase_leaf(Json& config, const std::string& name);

/// Adds a line "optimizer.lr = 0.1" for each value of the config; the first has the key "config".
void add_config(const Json& config, std::vector<std::pair<std::string, std::string>>& pairs);

/// The values of several fields of one trial; null where it has none.
std::vector<Json> values_of(const TrialSource& source, const Trial& trial,
                            const std::vector<TrialFields::Field>& fields);

}  // namespace tune
