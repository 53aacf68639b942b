// Accepts, waits for the first frame, and judges it.
#include "tuner/cluster/agent_door.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/disk/liveness.h"

namespace tune {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds look_period{500};
/// After an accept that failed: mostly there are no descriptors left, for now.
constexpr std::chrono::milliseconds accept_pause{100};

}  // namespace

AgentDoor::AgentDoor(asio::io_context& context, Options options, Callbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      acceptor_(context),
      next_look_(context) {
  error_code error;
  const auto address = asio::ip::make_address(options_.bind, error);
  if (error || address.is_unspecified()) {
    throw user_error("agents must reach the driver at one address of this machine, got '" +
                     options_.bind + "' (--bind)");
  }
  try {
    acceptor_.open(address.is_v4() ? asio::ip::tcp::v4() : asio::ip::tcp::v6());
    acceptor_.bind({address, 0});
    acceptor_.listen();
    meeting_ = make_meeting(options_.bind, acceptor_.local_endpoint().port());
  } catch (const boost::system::system_error& failed) {
    throw user_error("cannot listen for agents at " + options_.bind +
                     " (--bind): " + failed.code().message());
  }
  tls_ = std::make_unique<Tls>(TlsSide::driver, meeting_.secret);
  write_meeting(options_.directory, meeting_);
  accept();
  look_at_waiting();
}

AgentDoor::~AgentDoor() {
  remove_meeting(options_.directory, meeting_.session);
  for (const Waiting& each : waiting_) each.connection->close();
}

void AgentDoor::accept() {
  acceptor_.async_accept([this](error_code error, asio::ip::tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      next_look_.expires_after(accept_pause);
      next_look_.async_wait([this](error_code aborted) {
        if (aborted) return;
        look_at_waiting();
        accept();
      });
      return;
    }
    if (waiting_.size() >= most_waiting) {
      ++strangers_;
      waiting_.front().connection->close();
      waiting_.pop_front();
    }
    auto connection =
        std::make_shared<Connection>(std::move(socket), *tls_, TlsSide::driver, owner());
    connection->id = {meeting_.session, 0};
    waiting_.push_back({connection, seconds_since_boot()});
    connection->start();
    accept();
  });
}

void AgentDoor::look_at_waiting() {
  while (!waiting_.empty() && waiting_.front().since + patience_s < seconds_since_boot()) {
    ++strangers_;
    waiting_.front().connection->close();
    waiting_.pop_front();
  }
  next_look_.expires_after(look_period);
  next_look_.async_wait([this](error_code aborted) {
    if (!aborted) look_at_waiting();
  });
}

void AgentDoor::on_frame(Connection& connection, const Frame& frame) {
  const auto version = version_in(frame.message);
  if (!version) throw WireError("its first message is no Join");
  if (*version != options_.version) {
    return refuse(connection, "",
                  "an agent is of tune " + *version + ", and its driver of tune " +
                      options_.version + ": all nodes need the same");
  }
  const Message message = parse_message(frame.message);
  const Join& join = std::get<Join>(message);
  if (!is_proved(options_.directory, join.file, join.proof)) {
    return refuse(connection, join.node.name,
                  "node " + join.node.name + " does not see " + options_.directory.native() +
                      " as the driver does: what it writes there does not arrive");
  }
  const std::shared_ptr<Connection> coming = forget(connection);
  if (coming == nullptr) throw WireError("a second Join");
  const std::string reason = callbacks_.admit(coming, join);
  if (reason.empty()) return;
  waiting_.push_back({coming, seconds_since_boot()});
  refuse(connection, join.node.name, reason);
}

/// It is told, and then closed; by now or by the end of its patience.
void AgentDoor::refuse(Connection& connection, const std::string& node, const std::string& reason) {
  ++strangers_;
  connection.say(TurnedAway{reason});
  connection.close_after_flush();
  callbacks_.refused(node, reason);
}

void AgentDoor::on_end(Connection& connection, const std::string&) {
  if (forget(connection) != nullptr) ++strangers_;
}

std::shared_ptr<Connection> AgentDoor::forget(Connection& connection) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& each) {
    return each.connection.get() == &connection;
  });
  if (found == waiting_.end()) return nullptr;
  auto taken = std::move(found->connection);
  waiting_.erase(found);
  return taken;
}

}  // namespace tune
