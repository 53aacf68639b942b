// A thread that leaves every signal to the others, as a background writer must.
#pragma once

#include <functional>
#include <thread>

namespace tune {

std::thread start_quiet_thread(std::function<void()> work);

}  // namespace tune
