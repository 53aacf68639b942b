// What a driver and its agents find each other by: files in `cluster/`, a folder of the
// experiment's directory that only its owner may enter.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// Who knows it is of this run.
using Secret = std::array<unsigned char, 32>;

/// Where a driver listens; of one run.
struct Meeting {
  std::string address;  ///< numeric
  std::uint16_t port = 0;
  std::uint64_t session = 0;
  Secret secret{};
};

/// With a new session and a new secret.
Meeting make_meeting(std::string address, std::uint16_t port);

/// cluster
std::filesystem::path cluster_directory(const std::filesystem::path& experiment);
/// cluster/HOST.log: what the command that starts an agent prints.
std::filesystem::path agent_log(const std::filesystem::path& experiment, const std::string& host);

/// Makes the folder, if there is none. Error (user) if it is somebody else's.
void make_cluster_directory(const std::filesystem::path& experiment);

/// cluster/meeting.json, mode 0600. Throws Error.
void write_meeting(const std::filesystem::path& experiment, const Meeting& meeting);
/// Error (user), a sentence with the host's name, if it is not there or not for this user alone.
Meeting read_meeting(const std::filesystem::path& experiment);
/// Of that session: another driver may have taken over. Absent is fine. Does not throw.
void remove_meeting(const std::filesystem::path& experiment, std::uint64_t session) noexcept;

/// The agents of earlier drivers that may run yet: the names of their files in the folder. Files of
/// those that are seen to be dead are removed.
std::vector<std::string> agents_left(const std::filesystem::path& experiment);

/// Waits until there are none, for a driver that none of them can come back to; at most so long, by
/// which their leases are over. `wait` waits a little; `told` is called once, if it takes any time.
void wait_for_agents_left(const std::filesystem::path& experiment, Seconds patience_s,
                          const std::function<void()>& told, const std::function<void()>& wait);

/// Whether the agent of that file ran on this host and is seen to be dead.
bool is_agent_dead(const std::filesystem::path& experiment, const std::string& file);

/// A file that an agent makes in the folder, for the driver to see. It removes it once nothing of
/// what it runs is left.
class Proof {
 public:
  explicit Proof(const std::filesystem::path& experiment);
  ~Proof();
  Proof(const Proof&) = delete;
  Proof& operator=(const Proof&) = delete;

  const std::string& file() const { return file_; }  ///< its name in the folder
  const std::string& text() const { return text_; }

 private:
  std::filesystem::path path_;
  std::string file_;
  std::string text_;
};

/// Whether that file is there, with that text.
bool is_proved(const std::filesystem::path& experiment, const std::string& file,
               const std::string& text);

/// This machine's, as the kernel has it.
std::string host_name();

}  // namespace tune
