// Starts a thread with all signals blocked, as a background writer needs it: signals go to other
// threads.
#pragma once

#include <functional>
#include <thread>

namespace tune {

std::thread start_quiet_thread(std::function<void()> work);

}  // namespace tune
