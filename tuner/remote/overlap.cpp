// Resolves both paths and looks whether one contains the other.
#include "tuner/remote/overlap.h"

#include <system_error>

namespace tune {

std::optional<std::string> overlap(const std::string& root,
                                   const std::filesystem::path& experiment) {
  namespace fs = std::filesystem;
  if (!root.starts_with('/')) return std::nullopt;
  std::error_code ignored;
  const auto resolved = [&](const fs::path& path) {
    const fs::path real = fs::weakly_canonical(path, ignored);
    return (real.empty() ? path.lexically_normal() : real) / "";
  };
  const fs::path there = resolved(root), here = resolved(fs::absolute(experiment));
  const auto is_in = [](const fs::path& inner, const fs::path& outer) {
    return inner.native().starts_with(outer.native());
  };
  const bool is_same = fs::equivalent(root, experiment, ignored);  // by way of a mount, too
  if (!is_same && !is_in(there, here) && !is_in(here, there)) return std::nullopt;
  return "the copy on the remote, " + root + ", would lie in the experiment's own directory, " +
         experiment.string() + ", or around it: name another remote";
}

}  // namespace tune
