// The judge of what a function trainable says it hands over. Nothing that it has not passed is
// taken over: a program may name any path, by accident too.
#pragma once

#include <filesystem>
#include <string>

#include "tuner/core/trial.h"
#include "tuner/store/checkpoint_tree.h"
#include "tuner/store/file_system.h"

namespace tune {

/// A directory that may be taken over. Only `judge` makes one.
class HandedOver {
 public:
  /// Where the trial is; all absolute.
  struct Places {
    std::filesystem::path experiment;
    std::filesystem::path trial;
    std::filesystem::path work;  ///< its program's working directory; `trial` in old experiments
  };

  /// What the program of a trial means by `reported`; a relative path begins in its working
  /// directory. Error (machine), one sentence, if it may not be handed over:
  /// what is no directory itself; the trial's or experiment's directory, or what holds them; a
  /// committed checkpoint, of whomever; whatever else is the driver's or another trial's; a tree
  /// that read_tree refuses.
  static HandedOver judge(FileSystem& files, const Places& places, const std::string& reported);

  const std::filesystem::path& directory() const { return directory_; }  ///< no link in it
  const CheckpointTree& tree() const { return tree_; }
  /// In the program's working directory: it is moved. What lies elsewhere is the user's: it is
  /// copied, and stays as it is.
  bool is_moved() const { return is_moved_; }
  /// It has the name that is reserved for this, so that nobody misses it.
  bool is_made_for_this() const;

 private:
  HandedOver(std::filesystem::path directory, CheckpointTree tree, bool is_moved)
      : directory_(std::move(directory)), tree_(std::move(tree)), is_moved_(is_moved) {}

  std::filesystem::path directory_;
  CheckpointTree tree_;
  bool is_moved_;
};

}  // namespace tune
