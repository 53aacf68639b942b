// `tune plot`: one picture of an experiment, drawn by gnuplot as characters, PNG or SVG.
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/plot_script.h"
#include "apps/tune/report_data.h"
#include "tuner/base/error.h"
#include "tuner/disk/file_system.h"
#include "tuner/disk/liveness.h"
#include "tuner/process/helper_process.h"

namespace tune {

namespace {

constexpr std::string_view script_mark = "# A picture of tune plot";

/// A directory that is gone with this object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tune-plot-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw machine_error("cannot make a directory " + name + ": " + std::strerror(errno));
    }
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Target {
  std::string file;            ///< "-": standard output
  std::string_view beginning;  ///< of what may be replaced
  std::string terminal;        ///< gnuplot's; empty: the script itself is wanted
  bool is_binary = false;
};

std::string as_text() {
  int columns = 100, rows = 30;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (winsize size{};
      is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    columns = std::max<int>(size.ws_col, 40);
    rows = std::clamp<int>(size.ws_row - 2, 15, 40);
  }
  const bool is_colored = is_terminal && ::getenv("NO_COLOR") == nullptr;
  return "dumb size " + std::to_string(columns) + "," + std::to_string(rows) +
         (is_colored ? " ansi256" : " mono");
}

Target target_of(const PlotRequest& request) {
  const std::string size =
      " size " + std::to_string(request.width) + "," + std::to_string(request.height);
  if (!request.png.empty()) {
    return {request.png, "\x89PNG", "pngcairo" + size + " background '#ffffff'", true};
  }
  if (!request.svg.empty()) {
    return {request.svg, "<?xml", "svg" + size + " dynamic background '#ffffff'"};
  }
  if (!request.gnuplot.empty()) return {request.gnuplot, script_mark, ""};
  return {"-", "", as_text()};
}

void require_replaceable(const Target& target) {
  if (target.file == "-") {
    if (!target.is_binary || ::isatty(STDOUT_FILENO) != 1) return;
    throw user_error("a picture is no text for a terminal: name a file");
  }
  std::error_code error;
  const auto status = std::filesystem::status(target.file, error);
  if (!std::filesystem::exists(status)) return;
  std::string beginning(target.beginning.size(), '\0');
  if (std::filesystem::is_regular_file(status)) {
    std::ifstream in(target.file, std::ios::binary);
    in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  }
  if (beginning == target.beginning) return;
  throw user_error(target.file + " exists already and is no such picture: it is not overwritten");
}

/// Error (user) if there is no gnuplot; Error (machine) if it fails.
std::string drawn(const std::string& script, const std::string& terminal) {
  constexpr Seconds patience_s = 120;
  const TemporaryDirectory place;
  const auto files = make_posix_file_system();
  files->replace(place.path() / "script",
                 "set terminal " + terminal + "\nset output 'picture'\n" + script);
  std::optional<SideProgram> program;
  try {
    // -d: by its own defaults, so that a picture is the same for everybody.
    program.emplace(
        SideProgram::Options{.argv = {"gnuplot", "-d", "script"}, .directory = place.path()});
  } catch (const Error&) {
    throw user_error(
        "tune plot draws with gnuplot, which is not in PATH: install it (Debian's package is "
        "gnuplot-nox), or write what it is to draw by --gnuplot FILE");
  }
  const Seconds until = seconds_since_boot() + patience_s;
  while (!program->ended()) {
    if (seconds_since_boot() > until) throw machine_error("gnuplot has drawn for two minutes");
    pollfd ended{program->pidfd(), POLLIN, 0};
    ::poll(&ended, 1, 1'000);
  }
  const ExitStatus ended = *program->ended();
  if (ended.signal != 0 || ended.exit_code != 0) {
    throw machine_error("gnuplot has failed: " + program->last_words());
  }
  std::ifstream in(place.path() / "picture", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int plot_command(const PlotRequest& request) {
  const auto plot = parse_plot(request.plot);
  if (!plot) {
    std::string known;
    for (const char* const each : plot_names())
      known += std::string(known.empty() ? "" : ", ") + each;
    throw user_error("there is no picture '" + request.plot + "', there are: " + known);
  }
  const Target target = target_of(request);
  require_replaceable(target);
  const std::string script = plot_script(report_of(request.directory), *plot);
  const bool is_script = target.terminal.empty();
  const std::string picture =
      is_script ? std::string(script_mark) + ": gnuplot -p FILE shows it\n" + script
                : drawn(script, target.terminal);
  if (target.file == "-") {
    is_script ? print_data(picture) : print_drawn(picture);
    return exit_ok;
  }
  make_posix_file_system()->replace(target.file, picture);
  print("written to " + target.file + " (" + format_bytes(static_cast<double>(picture.size())) +
        ")\n");
  return exit_ok;
}

}  // namespace tune
