// The judge of what a function trainable says it hands over. Nothing that it has not passed is
// taken over: a program may say anything, by accident too.
#pragma once

#include <filesystem>
#include <string>

#include "tuner/checkpoints/checkpoint_tree.h"
#include "tuner/disk/file_system.h"

namespace tune {

/// A directory that may be taken over. Only `judge` makes one.
class HandedOver {
 public:
  /// The directory called `name` in `work`, the working directory of the program that reports it.
  /// Error (machine), one sentence, if it may not be handed over: what is no name, or not the name
  /// of a directory itself; a name of the driver's, which old experiments have there; a tree that
  /// read_tree refuses.
  static HandedOver judge(FileSystem& files, const std::filesystem::path& work,
                          const std::string& name);

  const std::filesystem::path& directory() const { return directory_; }
  const CheckpointTree& tree() const { return tree_; }
  /// It has a name that is reserved for this, so that nobody misses it.
  bool is_made_for_this() const;

 private:
  HandedOver(std::filesystem::path directory, CheckpointTree tree)
      : directory_(std::move(directory)), tree_(std::move(tree)) {}

  std::filesystem::path directory_;
  CheckpointTree tree_;
};

}  // namespace tune
