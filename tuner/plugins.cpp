// dlopen, the check of the plugin interface's version, and the merge into the catalogue.
#include "tuner/plugins.h"

#include <dlfcn.h>

#include <filesystem>

#include "tuner/base/error.h"
#include "tuner/plugin.h"
#include "tuner/run.h"

namespace tune {

namespace {

template <class Function>
Function* find_symbol(void* library, const std::string& file, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) {
    throw user_error("plugin " + file + " does not define " + name +
                     ": is it built from tuner/plugin.h?");
  }
  return reinterpret_cast<Function*>(symbol);
}

template <class Policy>
void merge(const std::string& file, const char* kind, std::map<std::string, Factory<Policy>>& from,
           std::map<std::string, Factory<Policy>>& to) {
  for (auto& [name, factory] : from) {
    if (!to.emplace(name, std::move(factory)).second) {
      throw user_error("plugin " + file + " adds a " + kind + " '" + name +
                       "', but there is one already: it needs another name");
    }
  }
}

void load_plugin(const std::string& file, Catalogue& catalogue) {
  // An absolute path: a bare name would be searched for in the system's library directories.
  const auto path = std::filesystem::absolute(file);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw user_error("plugin " + file + " cannot be loaded: " + ::dlerror());
  }
  const int abi = find_symbol<decltype(tune_plugin_abi)>(library, file, "tune_plugin_abi")();
  if (abi != plugin_abi) {
    throw user_error("plugin " + file + " was built for plugin interface " + std::to_string(abi) +
                     ", this program has interface " + std::to_string(plugin_abi) +
                     ": build it again with this program's headers");
  }
  auto* const enter =
      find_symbol<decltype(tune_plugin_register)>(library, file, "tune_plugin_register");
  Catalogue own;
  try {
    enter(own);
  } catch (const std::exception& error) {
    throw user_error("plugin " + file + " cannot be used: " + error.what());
  }
  merge(file, "searcher", own.searchers, catalogue.searchers);
  merge(file, "scheduler", own.schedulers, catalogue.schedulers);
  merge(file, "stopper", own.stoppers, catalogue.stoppers);
  merge(file, "callback", own.callbacks, catalogue.callbacks);
}

}  // namespace

Catalogue catalogue_with(const std::vector<std::filesystem::path>& files) {
  Catalogue catalogue = built_in_catalogue();
  for (const auto& file : files) load_plugin(file.string(), catalogue);
  return catalogue;
}

}  // namespace tune
