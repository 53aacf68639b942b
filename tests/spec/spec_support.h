// What the tests of the spec share: a catalogue with policies that do nothing, and specs.
// Knows no searcher, scheduler or callback that ships.
#pragma once

#include <string>
#include <vector>

#include "tuner/spec/spec.h"

namespace tune::test {

/// Searchers "random" and "tpe", schedulers "fifo" and "asha", callbacks "csv" and "tensorboard",
/// which check options as real ones do, and the stoppers that ship.
Catalogue small_catalogue();

struct BadSpec {
  Json spec;
  std::string pointer;   ///< of the only problem
  std::string sentence;  ///< of the only problem
  bool schema_knows;     ///< whether docs/experiment.schema.json refuses it, too
};
/// The table in tests/spec/bad_specs.json.
std::vector<BadSpec> bad_specs();

/// A good spec as short as can be, with `fields` put in or over its own.
Json with(const Json& fields);

/// The repository's root.
std::filesystem::path source_directory();

/// The specs in tests/spec/specs, by path.
std::vector<std::filesystem::path> good_files();

}  // namespace tune::test
