// What a plugin exports: a shared library that adds searchers, schedulers, stoppers and callbacks.
// It is loaded with `tune run --plugin libmine.so`.
//
//   #include "tuner/plugin.h"
//
//   int tune_plugin_abi() { return tune::plugin_abi; }
//
//   void tune_plugin_register(tune::Catalogue& catalogue) {
//     catalogue.stoppers["first_minute"] = [](const tune::Json& options, const auto&) {
//       return std::make_unique<FirstMinute>(options);
//     };
//   }
//
// Built as a shared library with the compiler and the headers of the `tune` that loads it, and
// linked with nothing of tune: what it uses is found in the program itself.
#pragma once

#include "tuner/policy/catalogue.h"
#include "tuner/space/search_space.h"

namespace tune {

/// Grows with every change to what a plugin sees: Catalogue, the policy interfaces, and the values
/// that they take. A plugin of another number is refused.
inline constexpr int plugin_abi = 13;

}  // namespace tune

extern "C" {

/// To be defined by the plugin: `return tune::plugin_abi;`, so that it tells which headers it was
/// built with.
int tune_plugin_abi();

/// To be defined by the plugin: adds its policies by name to a catalogue that is empty. Names that
/// are taken already are refused afterwards. May throw a std::exception: it ends the command with
/// that sentence.
void tune_plugin_register(tune::Catalogue& catalogue);
}
