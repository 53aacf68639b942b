// The experiment's state on the remote: spec, snapshot, trials, journals and history, as pieces
// that are never written over and a marker that names them. Uploads what has been added, at any
// time, while the driver writes. Decides nothing about when.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

/// One thread, that of the store. Throws RemoteError, and Error (machine) for what is here.
class StateReplicator {
 public:
  /// `directory`: of the experiment.
  StateReplicator(FileSystem& files, std::filesystem::path directory, RemoteStore& store,
                  UploadMemory& memory);

  /// Compares what was uploaded with the files here: a power cut may have taken the end of a file
  /// that had been uploaded. Call it with the lease, before `upload`.
  void begin_session();

  /// Whether `upload` has to begin anew from the newest snapshot, or should: then the trials' files
  /// must be up first, as they alone hold what snapshots leave out.
  bool wants_base() const;

  /// Puts what is new up; false if nothing was. `rebase`: from the newest snapshot on.
  bool upload(bool rebase, Seconds unix_time);
  /// Removes what the last two markers do not need. After `upload`.
  void remove_replaced();

 private:
  int current_generation() const;
  StateFile* find(const std::string& name);
  void begin_base(int generation);
  void set_whole(const std::string& name, const std::string& content);
  void extend(const std::string& name, std::uint64_t limit);
  void put_part(StateFile& file, std::uint64_t begin, std::string_view text);
  std::string read_range(const std::string& name, std::uint64_t begin, std::uint64_t end);
  void check_sizes();

  FileSystem& files_;
  const std::filesystem::path directory_;
  RemoteStore& store_;
  UploadMemory& memory_;
  StateMarker next_;
  int base_ = 0;    ///< generation from which the state is read; 0: none yet
  int newest_ = 0;  ///< generation of the newest journal that is in it; all before are complete
  bool has_changed_ = false;
  std::vector<std::string> replaced_;   ///< parts that `next_` does not name any more
  std::vector<std::string> retired_;    ///< those that the marker before the last one still needs
  std::vector<std::string> to_remove_;  ///< that no marker needs
  std::vector<std::string> markers_;    ///< that are there, oldest first
};

}  // namespace tune
