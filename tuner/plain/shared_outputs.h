// Finds files that several trials overwrite, because they run in one directory and write to the
// same name. Only `look_at_outputs` reads the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/trial.h"
#include "tuner/plain/checkpoint_files.h"

namespace tune {

/// The files that lie in a directory and up to three levels below, by their paths within it. Hidden
/// ones are left out, and what is in `storage`, in `results` and in directories of installed code;
/// no more than the first 1,000 entries are looked at, the upper levels first.
std::vector<FileVersion> look_at_outputs(const std::filesystem::path& directory,
                                         const std::filesystem::path& storage);

class SharedOutputs {
 public:
  struct Overwritten {
    std::string name;
    TrialId before{};
    TrialId after{};
  };
  /// A trial that ran since `began_ns` (Unix time) has ended, and the directory had these files
  /// then. Answers the first that was written while it ran, and had been written while another
  /// trial ran that had ended by then. What was only appended to is not overwritten.
  std::optional<Overwritten> add(TrialId trial, std::int64_t began_ns,
                                 const std::vector<FileVersion>& files);

 private:
  struct Written {
    FileVersion file;
    TrialId by{};
  };
  std::map<std::string, Written> written_;  ///< as the first trial has left it that wrote it
};

}  // namespace tune
