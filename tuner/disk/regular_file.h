// Opens files in places where a trial may have put a link, a FIFO or a device instead.
#pragma once

#include <string>

#include "tuner/base/error.h"

namespace tune {

/// Something else has the name.
class NotRegular : public Error {
 public:
  explicit NotRegular(const std::string& sentence) : Error(Fault::machine, sentence) {}
};

/// Opens `path` with `flags` of open(2), close-on-exec, and gives the descriptor. The name must be
/// a regular file's, or nobody's if `flags` create one: a link is not followed, and a FIFO or a
/// device is not waited for. NotRegular with a sentence that says what is there instead, Error
/// (machine) with one that says why it cannot be opened; -1 with errno ENOENT if there is none, or
/// no directory for it.
int open_regular(const std::string& path, int flags);

}  // namespace tune
