// Judges a directory that a function trainable reports as its checkpoint. Nothing is taken over
// unjudged: a program may report any name, also by accident.
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
  /// Its name is reserved for reported checkpoints, so that the driver may remove it unasked.
  bool is_made_for_this() const;

 private:
  HandedOver(std::filesystem::path directory, CheckpointTree tree)
      : directory_(std::move(directory)), tree_(std::move(tree)) {}

  std::filesystem::path directory_;
  CheckpointTree tree_;
};

}  // namespace tune
