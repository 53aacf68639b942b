// Starts `rclone rcd` on a loopback port, calls its HTTP API, runs its asynchronous jobs, and
// classifies its error texts.
#include "tuner/remote/rcd.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <string_view>
#include <thread>

#include "tuner/base/clean_text.h"
#include "tuner/base/json_limits.h"
#include "tuner/disk/liveness.h"
#include "tuner/remote/http.h"
#include "tuner/remote/markers.h"

namespace tune {

namespace {

using Kind = RemoteError::Kind;
using Steady = std::chrono::steady_clock;

constexpr const char* user = "tune";
constexpr Seconds start_limit_s = 20;
/// Of a request to the server itself, which only starts jobs and tells of them.
constexpr Seconds call_limit_s = 20;
constexpr Seconds stop_limit_s = 1;
constexpr std::uint64_t most_log_bytes = 1 << 20;
/// There never will be one of an invalid name, either.
constexpr std::initializer_list<const char*> no_bucket = {"NoSuchBucket", "InvalidBucketName"};
constexpr int oldest_minor = 60;  ///< of rclone 1: what was tried

bool has(const std::string& words, std::initializer_list<const char*> any) {
  return std::any_of(any.begin(), any.end(),
                     [&](const char* one) { return words.find(one) != words.npos; });
}

/// The HTTP status that the store has answered with, 0 if none is in `words`: three digits behind
/// "status code: " or "Error ", or in front of the reason that HTTP has for them. All other numbers
/// are sizes, ports, parts of names.
int http_status_in(const std::string& words) {
  static constexpr const char* before[] = {"status code: ", "StatusCode: ", "Error ", "error "};
  static constexpr const char* behind[] = {
      " Unauthorized",        " Forbidden",           " Not Found",
      " Too Many Requests",   " Internal Server Err", " Bad Gateway",
      " Service Unavailable", " Gateway Time",        " Insufficient Storage"};
  const auto is_digit = [&words](std::size_t i) {
    return i < words.size() && words[i] >= '0' && words[i] <= '9';
  };
  const std::string_view all = words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t begin = i;
    while (is_digit(i)) ++i;
    if (i - begin != 3 || (words[begin] != '4' && words[begin] != '5')) continue;
    const bool is_status =
        std::any_of(std::begin(before), std::end(before),
                    [&](const char* one) { return all.substr(0, begin).ends_with(one); }) ||
        std::any_of(std::begin(behind), std::end(behind),
                    [&](const char* one) { return all.substr(i).starts_with(one); });
    if (is_status) return std::stoi(words.substr(begin, 3));
  }
  return 0;
}

Kind kind_of(const std::string& words) {
  if (has(words,
          {"corrupted on transfer", "hash differ", "sizes differ", "source file is being updated"}))
    return Kind::damaged;
  if (has(words, {"max transfer limit reached"})) return Kind::too_large;
  if (has(words,
          {"didn't find section in config file", "unknown fs type", "didn't find backend"}) ||
      has(words, no_bucket))
    return Kind::misnamed;
  if (has(words, {"object not found", "directory not found", "NoSuchKey"})) return Kind::missing;
  const int status = http_status_in(words);
  if (status == 507 ||
      has(words, {"no space left", "file too big for remaining disk space", "disk quota exceeded",
                  "QuotaExceeded", "insufficient storage", "Insufficient Storage"}))
    return Kind::full;
  if (status == 401 || status == 403 ||
      has(words, {"AccessDenied", "SignatureDoesNotMatch", "permission denied"}))
    return Kind::denied;
  if (status == 429 || status >= 500 ||
      has(words, {"connection refused", "no such host", "timeout", "timed out", "deadline exceeded",
                  "connection reset", "EOF", "no route to host", "network is unreachable",
                  "SlowDown", "TooManyRequests"}))
    return Kind::unreachable;
  return Kind::other;
}

const char* sentence_of(Kind kind) {
  switch (kind) {
    case Kind::unreachable:
      return "the store cannot be reached, or is overloaded";
    case Kind::denied:
      return "the store refuses, look at the keys and at what they may do";
    case Kind::full:
      return "no space is left where that goes";
    case Kind::missing:
      return "it is not there";
    case Kind::misnamed:
      return "rclone knows no such remote: rclone listremotes shows those that it knows, rclone "
             "config adds one";
    case Kind::damaged:
      return "what has arrived is not what was sent";
    case Kind::too_large:
      return "it has far more bytes there than were put there";
    case Kind::abandoned:
      return "it is not waited for any more";
    case Kind::other:
      return "rclone failed";
  }
  return "";
}

}  // namespace

RemoteError explain_remote(const std::string& while_doing, const std::string& words) {
  const Kind kind = kind_of(words);
  constexpr std::size_t shown = 300;
  std::string own = clean_text(words.substr(0, shown));
  const char* sentence = sentence_of(kind);
  if (has(words, {"RequestTimeTooSkewed", "RequestExpired"})) {
    sentence = "the clock of this machine and that of the store differ too much";
  } else if (has(words, no_bucket)) {
    sentence = "there is no such bucket: rclone mkdir makes one";
  }
  return {kind, while_doing + ": " + sentence + (own.empty() ? "" : " (" + own + ")")};
}

Rcd::Rcd(std::optional<std::uint64_t> bytes_per_s, const std::atomic<bool>& stop)
    : stop_(stop),
      credentials_(std::string(user) + ":" + random_name() + random_name() + random_name()) {
  start(bytes_per_s);
  const Json version = call("core/version", Json::object());
  const Json numbers = version.value("decomposed", Json::array());
  const bool is_known =
      numbers.is_array() && numbers.size() >= 2 && numbers[0].is_number() && numbers[1].is_number();
  if (is_known && (numbers[0].get<int>() > 1 ||
                   (numbers[0].get<int>() == 1 && numbers[1].get<int>() >= oldest_minor))) {
    return;
  }
  throw user_error("a remote needs rclone 1." + std::to_string(oldest_minor) +
                   " or newer, and this one is " + clean_text(version.value("version", "unknown")));
}

Rcd::~Rcd() = default;

void Rcd::start(std::optional<std::uint64_t> bytes_per_s) {
  SideProgram::Options side;
  side.argv = {"rclone", "rcd", "--rc-addr=127.0.0.1:0", "--rc-job-expire-duration=24h",
               // Names are new, and what is at them was looked up when that matters.
               "--no-check-dest", "--no-traverse", "--s3-no-check-bucket",
               // Logs grow while they are read; links are in the manifest.
               "--local-no-check-updated", "--skip-links",
               // Whatever the environment says: of an object comes its content, under a name below
               // where it goes; it makes no link and says nothing of modes and owners. No link on
               // this disk goes up as what it leads to.
               "--links=false", "--copy-links=false", "--metadata=false",
               "--local-encoding=Slash,Dot",
               // Who retries is the caller, who can tell somebody.
               "--retries=1", "--low-level-retries=2", "--timeout=30s", "--contimeout=10s",
               "--transfers=4", "--checkers=8", "--use-json-log=false", "--log-level=NOTICE"};
  if (bytes_per_s) side.argv.push_back("--bwlimit=" + std::to_string(*bytes_per_s) + "B:off");
  // With a bundle of its own, rclone 1.60 fails at each request to S3.
  side.environment = {"AWS_CA_BUNDLE=", std::string("RCLONE_RC_USER=") + user,
                      "RCLONE_RC_PASS=" + credentials_.substr(credentials_.find(':') + 1)};
  side.directory = "/";
  side.most_log_bytes = most_log_bytes;
  try {
    program_.emplace(std::move(side));
  } catch (const Error& error) {
    throw user_error(
        std::string("a remote needs the program rclone (Debian: apt install rclone): ") +
        error.what());
  }
  const auto until = Steady::now() + std::chrono::duration<double>(start_limit_s);
  constexpr std::string_view said = "Serving remote control on http://127.0.0.1:";
  while (Steady::now() < until && is_alive()) {
    const std::string text = program_->first_words(1 << 16);
    const std::size_t at = text.find(said);
    if (at != text.npos && text.find('\n', at) != text.npos) {
      const char* const digits = text.data() + at + said.size();
      std::from_chars(digits, text.data() + text.size(), port_);
      return;
    }
    if (stop_) throw RemoteError(Kind::abandoned, "rclone is not waited for any more");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string words = clean_text(program_->first_words(1000));
  throw user_error("rclone does not start" + (words.empty() ? "" : ": " + words));
}

void Rcd::allow(Seconds more_s) { allowed_until_ = seconds_since_boot() + more_s; }

bool Rcd::is_alive() const { return program_ && !program_->ended(); }

Json Rcd::call(const std::string& method, const Json& parameters) {
  program_->limit_log();
  HttpAnswer answer;
  try {
    answer = post_to_loopback(port_, method, credentials_, parameters.dump(), call_limit_s);
  } catch (const Error& error) {
    throw RemoteError(Kind::unreachable, error.what());
  }
  Json json = parse_shallow(answer.body);
  if (!json.is_object()) {
    throw RemoteError(Kind::other, "rclone's server answers what is no JSON (" +
                                       std::to_string(answer.status) + ")");
  }
  if (answer.status != 200) {
    throw explain_remote(method, json.value("error", "status " + std::to_string(answer.status)));
  }
  return json;
}

Rcd::Job Rcd::begin(const std::string& method, Json parameters) {
  parameters["_async"] = true;
  return call(method, parameters).value("jobid", Job{-1});
}

std::optional<Json> Rcd::look(const std::string& doing, Job job) {
  const Json status = call("job/status", {{"jobid", job}});
  if (!status.value("finished", false)) return std::nullopt;
  if (!status.value("success", false)) throw explain_remote(doing, status.value("error", ""));
  return status.value("output", Json::object());
}

void Rcd::stop(Job job) noexcept {
  try {
    call("job/stop", {{"jobid", job}});
  } catch (const std::exception&) {
  }
}

/// rclone only asks a job that is stopped to end. On a disk it may then still have to empty the
/// file that it is to write and to remove it; if it ended in between, an empty file would stay.
void Rcd::wait_for_end(Job job) noexcept {
  const auto until = Steady::now() + std::chrono::duration<double>(stop_limit_s);
  try {
    while (Steady::now() < until && !call("job/status", {{"jobid", job}}).value("finished", true)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  } catch (const std::exception&) {
  }
}

std::uint64_t Rcd::moved_bytes(Job job) {
  return call("core/stats", {{"group", "job/" + std::to_string(job)}})
      .value("bytes", std::uint64_t{0});
}

Json Rcd::run(const std::string& doing, const std::string& method, Json parameters,
              Seconds limit_s) {
  const Job job = begin(method, std::move(parameters));
  const auto until = Steady::now() + std::chrono::duration<double>(limit_s);
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    if (auto output = look(doing, job)) return *std::move(output);
    const bool is_stopped = stop_ && seconds_since_boot() >= allowed_until_;
    if (is_stopped || Steady::now() >= until) {
      stop(job);
      wait_for_end(job);
      if (is_stopped)
        throw RemoteError(Kind::abandoned, doing + ": " + sentence_of(Kind::abandoned));
      throw RemoteError(Kind::unreachable, doing + ": the store has not answered within " +
                                               std::to_string(static_cast<long>(limit_s)) + " s");
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace tune
