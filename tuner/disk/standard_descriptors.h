// Descriptors 0, 1 and 2 of a process that was started without them.
#pragma once

namespace tune {

/// Opens /dev/null where a standard descriptor is closed: the next file that is opened would get
/// its number, and with it what anybody prints. From any thread.
void fill_standard_descriptors();

}  // namespace tune
