// `tune schema`: of what form a spec is, and what the commands print with --json.
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/schemas.h"

namespace tune {

int schema_command(const std::vector<std::string>& command) {
  std::string name;
  for (const std::string& word : command) name += (name.empty() ? "" : "-") + word;
  print_json(schema_of(name.empty() ? "spec" : name));
  return exit_ok;
}

}  // namespace tune
