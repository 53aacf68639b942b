// The control socket, with real clients, friendly and not.
// Knows no loop: requests are answered by the test.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <thread>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/control/control_address.h"
#include "tuner/control/control_client.h"
#include "tuner/control/control_server.h"
#include "tuner/disk/file_descriptor.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace {

using Kind = ControlRequest::Kind;

/// A driver that accepts everything, on a thread of its own.
class Driver {
 public:
  explicit Driver(const std::filesystem::path& directory)
      : thread_([this, directory] { run(directory); }) {
    while (!listens_) std::this_thread::yield();
  }
  ~Driver() {
    leave_ = true;
    reactor_->wake();
    is_woken_ = true;
    thread_.join();
  }

  std::atomic<int> asked = 0;

 private:
  void run(const std::filesystem::path& directory) {
    AsioReactor reactor(Interrupts::leave_alone);
    reactor.listen(directory);
    reactor_ = &reactor;
    listens_ = true;
    std::vector<Wakeup> wakeups;
    while (!leave_) {
      wakeups.clear();
      reactor.wait(1e9, wakeups);
      for (const auto& wakeup : wakeups) {
        const auto& wish = std::get<ControlAsked>(wakeup);
        ++asked;
        reactor.answer(wish.id, {true, "so be it", {TrialId{3}}});
      }
    }
    // A client that leaves may end the last wait, too, and the reactor is to outlive who wakes it.
    while (!is_woken_) std::this_thread::yield();
  }

  std::atomic<bool> leave_ = false;
  std::atomic<bool> is_woken_ = false;
  std::atomic<bool> listens_ = false;
  AsioReactor* reactor_ = nullptr;
  std::thread thread_;
};

FileDescriptor connect_raw(const std::filesystem::path& directory) {
  const ControlAddress address(directory);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(socket.get(), address.get(), ControlAddress::size) == 0);
  return socket;
}

/// Everything until the driver closes.
std::string read_to_end(const FileDescriptor& socket) {
  std::string text;
  char block[4096];
  for (ssize_t count = 0; (count = ::recv(socket.get(), block, sizeof block, 0)) > 0;) {
    text.append(block, static_cast<std::size_t>(count));
  }
  return text;
}

/// Sends it all, or what the driver takes of it.
void send_all(const FileDescriptor& socket, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count =
        ::send(socket.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

bool works(const std::filesystem::path& directory) {
  try {
    auto client = ControlClient::connect(directory);
    return client && client->ask({Kind::stop, {}}).accepted;
  } catch (const Error&) {
    return false;  // closed before it answered: there are too many others
  }
}

}  // namespace

TEST_CASE("Requests and answers come back as they were", "[unit][control]") {
  const auto request = parse_control_request(format(ControlRequest{Kind::checkpoint, TrialId{12}}));
  CHECK(request.kind == Kind::checkpoint);
  CHECK(request.trial == TrialId{12});
  CHECK(format(ControlRequest{Kind::stop, {}}) == R"({"ask":"stop"})");
  const ControlRequest set = parse_control_request(format({Kind::set, {}, {{"num_samples", 3}}}));
  CHECK(set.kind == Kind::set);
  CHECK(set.fields == Json{{"num_samples", 3}});
  CHECK(format({Kind::add, {}, {{"x", 1}}}) == R"({"ask":"add","config":{"x":1}})");
  const auto answer = parse_control_answer(format(ControlAnswer{
      true, "a \"word\"", {TrialId{0}, TrialId{7}}, {"it hangs"}, {"first", "second"}}));
  CHECK(answer.accepted);
  CHECK(answer.sentence == "a \"word\"");
  CHECK(answer.trials == std::vector<TrialId>{TrialId{0}, TrialId{7}});
  CHECK(answer.notices == std::vector<std::string>{"it hangs"});
  CHECK(answer.said == std::vector<std::string>{"first", "second"});
}

TEST_CASE("A request that is none is refused with a sentence", "[unit][control]") {
  for (const char* line :
       {"", "stop", "[]", "{}", R"({"ask":7})", R"({"ask":"dance"})",
        R"({"ask":"stop","trial":"x"})", R"({"ask":"stop","trial":[1]})", R"({"ask":"unpause"})",
        R"({"ask":"wait"})", R"({"ask":"set"})", R"({"ask":"set","fields":[]})",
        R"({"ask":"set","fields":{"num_samples":3},"trial":"3"})", R"({"ask":"add","config":7})"}) {
    INFO(line);
    CHECK_THROWS_AS(parse_control_request(line), std::invalid_argument);
  }
  CHECK(parse_control_request(R"({"trial":"3","ask":"stop","more":1})").trial == TrialId{3});
  // A million levels would take all of the stack wherever they were copied.
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_THROWS_AS(parse_control_request(R"({"ask":"set","fields":{"stop":)" + deep + "}}"),
                  std::invalid_argument);
}

TEST_CASE("A driver is asked, answers, and tells its end by closing", "[unit][control]") {
  TempDir dir;
  auto driver = std::make_unique<Driver>(dir.path());
  auto client = ControlClient::connect(dir.path());
  REQUIRE(client);
  const auto answer = client->ask({Kind::stop, {}});
  CHECK(answer.accepted);
  CHECK(answer.sentence == "so be it");
  CHECK(answer.trials == std::vector<TrialId>{TrialId{3}});
  CHECK(driver->asked == 1);
  driver.reset();
  client->wait_for_end();
  CHECK_FALSE(ControlClient::connect(dir.path()));
  CHECK_FALSE(std::filesystem::exists(dir.path() / control_socket_name));
}

TEST_CASE("What somebody asks who leaves before it is read is not done", "[unit][control]") {
  TempDir directory;
  AsioReactor reactor(Interrupts::leave_alone);
  reactor.listen(directory.path());
  {
    const FileDescriptor impatient = connect_raw(directory.path());
    send_all(impatient, format(ControlRequest{Kind::stop, {}}) + "\n");
  }
  const FileDescriptor patient = connect_raw(directory.path());
  send_all(patient, format(ControlRequest{Kind::pause, {}}) + "\n");
  std::vector<Wakeup> wakeups;
  while (wakeups.empty()) reactor.wait(1e9, wakeups);
  REQUIRE(wakeups.size() == 1);
  CHECK(std::get<ControlAsked>(wakeups[0]).request.kind == Kind::pause);
}

TEST_CASE("The socket is this user's alone, whatever the umask", "[unit][control]") {
  TempDir dir;
  const mode_t before = ::umask(0);
  const Driver driver(dir.path());
  ::umask(before);
  struct stat info {};
  REQUIRE(::stat((dir.path() / control_socket_name).c_str(), &info) == 0);
  CHECK(S_ISSOCK(info.st_mode));
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("A directory with a very long path has a control socket too", "[unit][control]") {
  TempDir dir;
  auto deep = dir.path();
  for (int i = 0; i < 4; ++i) deep /= std::string(200, 'd');
  std::filesystem::create_directories(deep);
  const Driver driver(deep);
  CHECK(works(deep));
}

TEST_CASE("What a dead driver has left is replaced", "[unit][control]") {
  TempDir dir;
  {
    const ControlAddress address(dir.path());
    const FileDescriptor dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(dead.get(), address.get(), ControlAddress::size) == 0);
    REQUIRE(::listen(dead.get(), 1) == 0);
  }
  REQUIRE(std::filesystem::exists(dir.path() / control_socket_name));
  CHECK_FALSE(ControlClient::connect(dir.path()));
  const Driver driver(dir.path());
  CHECK(works(dir.path()));
}

TEST_CASE("A driver that takes no connections is given up after a time", "[unit][control]") {
  TempDir dir;
  const ControlAddress address(dir.path());
  const FileDescriptor stopped(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(stopped.get(), address.get(), ControlAddress::size) == 0);
  REQUIRE(::listen(stopped.get(), 0) == 0);
  const FileDescriptor waiting = connect_raw(dir.path());
  std::string refusal;
  try {
    ControlClient::connect(dir.path(), 0.05);
  } catch (const Error& error) {
    refusal = error.what();
  }
  CHECK(refusal.find("has taken no connection") != std::string::npos);
}

TEST_CASE("Who talks without end and never answers is given up in time, and takes no memory",
          "[unit][control]") {
  TempDir dir;
  const ControlAddress address(dir.path());
  const FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), address.get(), ControlAddress::size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  const bool is_slow = GENERATE(false, true);
  std::thread talker([&] {
    const FileDescriptor peer(::accept(listener.get(), nullptr, nullptr));
    const std::string words(is_slow ? 1 : 4096, 'x');
    while (::send(peer.get(), words.data(), words.size(), MSG_NOSIGNAL) > 0) {
      if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  {
    auto client = ControlClient::connect(dir.path());
    REQUIRE(client);
    CHECK_THROWS_AS(client->ask({Kind::waits, {}}, 0.2), NoAnswer);
  }
  talker.join();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
}

TEST_CASE("A directory that cannot have a socket is an error that names it", "[unit][control]") {
  AsioReactor reactor(Interrupts::leave_alone);
  CHECK_THROWS_AS(reactor.listen("/proc"), Error);
  TempDir dir;
  std::filesystem::create_directories(dir.path() / control_socket_name / "occupied");
  CHECK_THROWS_AS(reactor.listen(dir.path()), Error);
  reactor.answer(ControlId{1}, {});  // to nobody
}

TEST_CASE("Clients that say nothing, garbage, half a line or far too much do no harm",
          "[unit][control]") {
  TempDir dir;
  const auto before = open_descriptors();
  {
    const Driver driver(dir.path());
    const FileDescriptor silent = connect_raw(dir.path());
    const FileDescriptor half = connect_raw(dir.path());
    send_all(half, R"({"ask":)");

    const FileDescriptor garbage = connect_raw(dir.path());
    send_all(garbage, std::string("\0\xff no JSON\n", 12));
    CHECK_THAT(read_to_end(garbage), Contains("\"ok\":false"));

    const FileDescriptor nested = connect_raw(dir.path());
    send_all(nested, std::string(3000, '[') + "\n");
    CHECK_THAT(read_to_end(nested), Contains("\"ok\":false"));

    const FileDescriptor endless = connect_raw(dir.path());
    send_all(endless, std::string(100'000'000, 'x'));
    CHECK_THAT(read_to_end(endless), Contains("too long"));

    const FileDescriptor twice = connect_raw(dir.path());
    send_all(twice, "{\"ask\":\"stop\"}\n");
    char block[4096];
    REQUIRE(::recv(twice.get(), block, sizeof block, 0) > 0);
    send_all(twice, "{\"ask\":\"stop\"}\n");
    CHECK(read_to_end(twice).empty());

    for (int i = 0; i < 100; ++i) (void)connect_raw(dir.path());  // and gone at once
    CHECK(works(dir.path()));

    std::vector<FileDescriptor> crowd;
    for (std::size_t i = 0; i < ControlServer::max_connections; ++i) {
      crowd.push_back(connect_raw(dir.path()));
    }
    CHECK(read_to_end(connect_raw(dir.path())).empty());  // closed at once
    crowd.clear();
    while (!works(dir.path())) {
    }
    CHECK(driver.asked >= 3);
  }
  CHECK(open_descriptors() == before);
}
