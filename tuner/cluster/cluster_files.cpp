// Reads and writes the files of `cluster/`, with an eye on whose they are.
#include "tuner/cluster/cluster_files.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/liveness.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr const char* proof_prefix = "agent-";
constexpr const char* digits = "0123456789abcdef";

void fill_randomly(void* bytes, std::size_t count) {
  if (::getrandom(bytes, count, 0) != static_cast<ssize_t>(count)) {
    throw machine_error(std::string("no random numbers: ") + std::strerror(errno));
  }
}

template <class Bytes>
std::string hex_of(const Bytes& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string random_hex() {
  std::array<unsigned char, 16> bytes{};
  fill_randomly(bytes.data(), bytes.size());
  return hex_of(bytes);
}

Secret secret_from(std::string_view text) {
  Secret secret{};
  if (text.size() != 2 * secret.size()) throw user_error("its secret has another length");
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char* const digit = std::strchr(digits, text[i]);
    if (text[i] == '\0' || digit == nullptr) throw user_error("its secret is no hex number");
    secret[i / 2] = static_cast<unsigned char>(secret[i / 2] << 4 | (digit - digits));
  }
  return secret;
}

fs::path meeting_file(const fs::path& experiment) {
  return cluster_directory(experiment) / "meeting.json";
}

/// Why what lies there is not for this user alone; empty if it is.
std::string not_ours(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (S_ISLNK(status.st_mode)) return "it is a link";
  if (status.st_uid != ::geteuid()) return "it is another user's";
  if ((status.st_mode & 077) != 0) return "others may read it: chmod go= " + path.native();
  return "";
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

Meeting make_meeting(std::string address, std::uint16_t port) {
  Meeting meeting{.address = std::move(address), .port = port};
  fill_randomly(&meeting.session, sizeof meeting.session);
  fill_randomly(meeting.secret.data(), meeting.secret.size());
  return meeting;
}

fs::path cluster_directory(const fs::path& experiment) { return experiment / "cluster"; }

fs::path agent_log(const fs::path& experiment, const std::string& host) {
  return cluster_directory(experiment) / (host + ".log");
}

void make_cluster_directory(const fs::path& experiment) {
  const fs::path directory = cluster_directory(experiment);
  make_posix_file_system()->make_directories(experiment);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    throw file_error("cannot make", directory.native(), errno);
  }
  if (const std::string reason = not_ours(directory); !reason.empty()) {
    throw user_error(directory.native() + " is to hold a secret, and " + reason);
  }
}

void write_meeting(const fs::path& experiment, const Meeting& meeting) {
  const Json json = {{"address", meeting.address},
                     {"port", meeting.port},
                     {"session", meeting.session},
                     {"secret", hex_of(meeting.secret)}};
  make_posix_file_system(Access::owner)->replace(meeting_file(experiment), json.dump() + "\n");
}

Meeting read_meeting(const fs::path& experiment) {
  const fs::path file = meeting_file(experiment);
  const std::string where = "host " + host_name() + ": ";
  std::error_code ignored;
  if (!fs::is_directory(experiment, ignored)) {
    throw user_error(where + "there is no directory " + experiment.native() +
                     ": an agent needs the file system of its driver");
  }
  if (!fs::exists(fs::symlink_status(file, ignored))) {
    throw user_error(where + "no driver with a cluster runs " + experiment.native() +
                     " (there is no " + file.native() + ")");
  }
  if (const std::string reason = not_ours(file); !reason.empty()) {
    throw user_error(where + file.native() + " holds a secret, and " + reason);
  }
  try {
    const Json json = Json::parse(make_posix_file_system()->read(file));
    return {.address = json.at("address").get<std::string>(),
            .port = json.at("port").get<std::uint16_t>(),
            .session = json.at("session").get<std::uint64_t>(),
            .secret = secret_from(json.at("secret").get<std::string>())};
  } catch (const std::exception& error) {
    throw user_error(where + "cannot read " + file.native() + ": " + error.what());
  }
}

void remove_meeting(const fs::path& experiment, std::uint64_t session) noexcept {
  try {
    if (read_meeting(experiment).session != session) return;
    make_posix_file_system()->remove_file(meeting_file(experiment));
  } catch (const std::exception&) {
    // It is not there, or cannot be read: nobody can join by it.
  }
}

bool is_agent_dead(const fs::path& experiment, const std::string& file) {
  try {
    const Json json =
        Json::parse(make_posix_file_system()->read(cluster_directory(experiment) / file));
    const ProcessIdentity agent{.host = json.at("host").get<std::string>(),
                                .pid = json.at("pid").get<std::int64_t>(),
                                .start_ticks = json.at("start_ticks").get<std::uint64_t>(),
                                .boot = json.at("boot").get<std::string>(),
                                .pid_namespace = json.at("pid_namespace").get<std::uint64_t>()};
    return life_of(agent, this_identity()) == Life::dead;
  } catch (const std::exception&) {
    return false;  // it has gone meanwhile, or says nothing that is known
  }
}

std::vector<std::string> agents_left(const fs::path& experiment) {
  std::vector<std::string> left;
  const auto files = make_posix_file_system();
  for (const DirectoryEntry& entry : files->list(cluster_directory(experiment))) {
    if (!entry.name.starts_with(proof_prefix)) continue;
    if (is_agent_dead(experiment, entry.name)) {
      files->remove_file(cluster_directory(experiment) / entry.name);
    } else {
      left.push_back(entry.name);
    }
  }
  return left;
}

void wait_for_agents_left(const fs::path& experiment, Seconds patience_s,
                          const std::function<void()>& told, const std::function<void()>& wait) {
  std::error_code ignored;
  if (!fs::is_directory(cluster_directory(experiment), ignored)) return;
  const Seconds until = seconds_since_boot() + patience_s;
  bool is_told = false;
  while (!agents_left(experiment).empty() && seconds_since_boot() < until) {
    if (!std::exchange(is_told, true)) told();
    wait();
  }
}

Proof::Proof(const fs::path& experiment) : file_(proof_prefix + random_hex()) {
  const ProcessIdentity self = this_identity();
  text_ = Json({{"proof", random_hex()},
                {"host", self.host},
                {"pid", self.pid},
                {"start_ticks", self.start_ticks},
                {"boot", self.boot},
                {"pid_namespace", self.pid_namespace}})
              .dump();
  path_ = cluster_directory(experiment) / file_;
  if (!make_posix_file_system(Access::owner)->create_exclusive(path_, text_)) {
    throw file_error("cannot make", path_.native(), EEXIST);
  }
}

Proof::~Proof() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

bool is_proved(const fs::path& experiment, const std::string& file, const std::string& text) {
  if (!file.starts_with(proof_prefix) || file.find('/') != file.npos) return false;
  try {
    return make_posix_file_system()->read(cluster_directory(experiment) / file) == text;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tune
