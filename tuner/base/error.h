// The two kinds of fault that are not data: the user's or the machine's (Error), and ours (ensure).
// A trial's fault is neither: it is an event.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tune {

/// Whose fault an Error is; decides the program's exit code.
enum class Fault {
  user,     ///< bad input: exit code 2
  machine,  ///< disk, permissions, a lost device: exit code 3
};

/// A fault that ends the command with one clear sentence: what, where, what was expected.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, const std::string& sentence) : std::runtime_error(sentence), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

/// Told to leave while it waited for something, before anything was begun: exit code 130.
class WaitInterrupted : public Error {
 public:
  explicit WaitInterrupted(const std::string& sentence) : Error(Fault::user, sentence) {}
};

/// Shorthands for `throw`.
inline Error user_error(const std::string& sentence) { return {Fault::user, sentence}; }
inline Error machine_error(const std::string& sentence) { return {Fault::machine, sentence}; }

/// A machine error about `path` with the text of `error_number` (an errno value), for instance
/// "cannot write /x/journal-1.jsonl: No space left on device".
Error file_error(std::string_view what, std::string_view path, int error_number);

/// Prints `promise` and aborts if `holds` is false, in every build: an invariant of ours is broken,
/// and the journal is good up to its last record.
void ensure(bool holds, std::string_view promise);

}  // namespace tune
