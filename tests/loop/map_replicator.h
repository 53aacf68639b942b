// A remote that is a set of indices: says what is up, and remembers what is to be fetched.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/checkpoints/checkpoint_replicator.h"

namespace tune {

class MapMirror final : public CheckpointReplicator {
 public:
  void expect(CheckpointRef, bool) override {}
  void committed(CheckpointRef) override {}
  void dropped(TrialId, const std::vector<int>&) override {}
  bool needs(CheckpointRef) const override { return false; }
  News take_news() override { return std::exchange(news, {}); }
  std::optional<int> keep_local() const override { return limit; }
  std::optional<RemotePlace> place(CheckpointRef checkpoint) const override {
    if (!up.contains(checkpoint.index)) return std::nullopt;
    return RemotePlace{"far:", to_string(checkpoint.trial) + "/checkpoint_00000" +
                                   std::to_string(checkpoint.index) + ".3f9c"};
  }
  void fetch(CheckpointRef checkpoint) override { fetches.push_back(checkpoint.index); }

  std::optional<int> limit = 2;
  std::set<int> up;
  std::vector<int> fetches;
  News news;
};

}  // namespace tune
