// The program `tune`. Knows the command line and what an error costs.
#include <csignal>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include "apps/tune/cli.h"
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"

int main(int argc, char** argv) {
  // A closed pipe is an answer of write(), and so is a file that may not grow: not the end of a
  // driver.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return tune::run_command_line({argv + 1, argv + argc});
  } catch (const tune::WaitInterrupted& interrupted) {
    tune::complain(interrupted.what());
    return tune::exit_interrupted;
  } catch (const tune::Error& error) {
    const bool is_users = error.fault() == tune::Fault::user;
    // It may repeat what the user has written, of whatever length.
    tune::complain(is_users ? tune::headline(error.what()) : error.what());
    return is_users ? tune::exit_bad_input : tune::exit_machine;
  } catch (const std::system_error& error) {
    // Relative names are below it, and a program is started there.
    std::error_code gone;
    if (std::filesystem::current_path(gone).empty()) {
      tune::complain(
          "the current directory is not there any more: go to another one, and try again");
      return tune::exit_machine;
    }
    tune::complain(std::string("the system refuses what is needed, perhaps threads or memory (see "
                               "ulimit -u and ulimit -v): ") +
                   error.what());
    return tune::exit_machine;
  } catch (const std::exception& error) {
    // Out of memory, out of threads: whatever no Error was made of.
    tune::complain(error.what());
    return tune::exit_machine;
  }
}
