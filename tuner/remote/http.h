// One request to a server on this machine's loopback.
#pragma once

#include <cstdint>
#include <string>

#include "tuner/base/clock.h"

namespace tune {

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

/// Posts the JSON text `body` and returns the answer. `credentials`: "user:password". Error
/// (machine), without the credentials, if there is no whole answer within `limit_s`, or it has more
/// than 1 GiB.
HttpAnswer post_to_loopback(std::uint16_t port, const std::string& path,
                            const std::string& credentials, const std::string& body,
                            Seconds limit_s);

}  // namespace tune
