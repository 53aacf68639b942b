// Starts Python programs by forking a process that has their modules loaded already.
// fork_server.py is that process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/process/process_spec.h"
#include "tuner/process/spawn.h"
#include "tuner/process/subreaper.h"

namespace tune {

/// One server for each environment and list of modules, started when first needed. If the server
/// finds that it cannot fork safely, programs are launched without it.
class ForkServers {
 public:
  /// `spawner` starts the servers, which are in `living` while they are there; both must live as
  /// long. `stop`: a descriptor that becomes readable
  /// when nothing is to be waited for any more; not owned.
  ForkServers(Spawner& spawner, LivingServers& living, int stop);
  /// Ends the servers. What they have started goes on: its parent is this process.
  ~ForkServers();

  /// Starts what `spec` says, which has `preload`. Nothing if it is to be started without: `remark`
  /// then says why, if that is news, without its subject, which is the trial. Blocks until the
  /// server has loaded its modules, if it is a new one. Throws what Spawner::spawn does.
  std::optional<Spawned> spawn(const ProcessSpec& spec, std::string& remark);

 private:
  struct Server;
  Server* server_for(const ProcessSpec& spec, const Program& program, std::string& remark);
  void begin(Server& server, const ProcessSpec& spec, const Program& program);
  std::optional<Spawned> fork_from(Server& server, const ProcessSpec& spec, const Program& program,
                                   std::string& remark);

  void end(Server& server);

  Spawner& spawner_;
  LivingServers& living_;
  int stop_;
  std::vector<Server> servers_;
  bool too_many_ = false;  ///< has been said
};

}  // namespace tune
