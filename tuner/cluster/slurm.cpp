// Reads Slurm's words, and runs its commands.
#include "tuner/cluster/slurm.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/disk/liveness.h"
#include "tuner/process/helper_process.h"

namespace tune {

namespace {

constexpr std::size_t most_nodes = 100'000;
constexpr std::size_t most_answer_bytes = std::size_t{1} << 20;
/// The step of a shell that salloc opens on a node: it takes nothing of what the job has.
constexpr std::string_view interactive_step = "4294967290";

std::optional<long> number_in(std::string_view text) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && !text.empty() && text.front() != '-' ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view stripped(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

Error no_hostlist(std::string_view list) {
  return user_error("these are no names of Slurm's nodes: " + as_quoted(std::string(list)));
}

/// "1-3,07" as "1", "2", "3", "07"
std::vector<std::string> numbers_in(std::string_view ranges, std::string_view list) {
  std::vector<std::string> numbers;
  for (const std::string_view range : split(ranges, ',')) {
    const auto dash = std::min(range.find('-'), range.size());
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == range.size() ? first : range.substr(dash + 1);
    const auto from = number_in(first), to = number_in(last);
    if (!from || !to || *to < *from || *to - *from >= static_cast<long>(most_nodes)) {
      throw no_hostlist(list);
    }
    for (long number = *from; number <= *to; ++number) {
      const std::string text = std::to_string(number);
      const std::size_t zeros = first.size() > text.size() ? first.size() - text.size() : 0;
      numbers.push_back(std::string(zeros, '0') + text);
    }
  }
  return numbers;
}

/// One item of a list: "rack[1-2]node[01-40]" is all of both.
std::vector<std::string> names_in_item(std::string_view item, std::string_view list) {
  std::vector<std::string> names = {""};
  while (!item.empty()) {
    const auto open = std::min(item.find('['), item.size());
    std::vector<std::string> longer;
    std::vector<std::string> numbers = {""};
    std::string_view rest;
    if (open < item.size()) {
      const auto close = item.find(']', open);
      if (close == item.npos) throw no_hostlist(list);
      numbers = numbers_in(item.substr(open + 1, close - open - 1), list);
      rest = item.substr(close + 1);
    }
    if (names.size() * numbers.size() > most_nodes) throw no_hostlist(list);
    for (const std::string& name : names) {
      for (const std::string& number : numbers) {
        longer.push_back(name + std::string(item.substr(0, open)) + number);
      }
    }
    names = std::move(longer);
    item = rest;
  }
  return names;
}

}  // namespace

std::optional<std::string> own_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> names_in_hostlist(std::string_view list) {
  std::vector<std::string> names;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    const bool is_end = i == list.size() || (list[i] == ',' && depth == 0);
    if (!is_end) continue;
    const std::string_view item = list.substr(begin, i - begin);
    if (item.empty()) throw no_hostlist(list);
    for (std::string& name : names_in_item(item, list)) names.push_back(std::move(name));
    if (names.size() > most_nodes) throw no_hostlist(list);
    begin = i + 1;
  }
  return names;
}

std::optional<SlurmJob> slurm_job(const EnvironmentLookup& environment) {
  const auto id = environment("SLURM_JOB_ID");
  const auto list = environment("SLURM_JOB_NODELIST");
  if (!id || id->empty() || !list || list->empty()) return std::nullopt;
  SlurmJob job{.id = *id, .nodes = names_in_hostlist(*list), .here = {}};
  const auto step = environment("SLURM_STEP_ID");
  job.is_task = step && *step != interactive_step;
  const auto here = slurm_node(environment);
  if (here && std::find(job.nodes.begin(), job.nodes.end(), *here) != job.nodes.end()) {
    job.here = *here;
  }
  return job;
}

std::optional<std::string> slurm_node(const EnvironmentLookup& environment) {
  auto name = environment("SLURMD_NODENAME");
  return name && !name->empty() ? name : std::nullopt;
}

std::optional<Seconds> slurm_seconds(std::string_view text) {
  const auto dash = text.find('-');
  long days = 0;
  if (dash != text.npos) {
    const auto number = number_in(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::vector<long> parts;
  for (const std::string_view part : split(text, ':')) {
    const auto number = number_in(part);
    if (!number) return std::nullopt;
    parts.push_back(*number);
  }
  if (parts.size() > 3) return std::nullopt;
  // Behind days the first is hours; else of two it is minutes, as is a number alone.
  const bool has_hours = dash != std::string_view::npos || parts.size() == 3;
  if (!has_hours) parts.insert(parts.begin(), 0);
  parts.resize(3);
  constexpr Seconds minute_s = 60, hour_s = 60 * minute_s, day_s = 24 * hour_s;
  return static_cast<Seconds>(days) * day_s + static_cast<Seconds>(parts[0]) * hour_s +
         static_cast<Seconds>(parts[1]) * minute_s + static_cast<Seconds>(parts[2]);
}

std::optional<EndedTasks> ended_tasks(std::string_view line) {
  // srun: error: n[2-3]: tasks 1-2: Killed
  constexpr std::string_view prefix = "srun: error: ";
  if (!line.starts_with(prefix)) return std::nullopt;
  line.remove_prefix(prefix.size());
  const auto nodes = line.find(": ");
  if (nodes == line.npos || line.substr(0, nodes).find(' ') != line.npos) return std::nullopt;
  std::string_view rest = line.substr(nodes + 2);
  const bool is_tasks = rest.starts_with("tasks ");
  if (!is_tasks && !rest.starts_with("task ")) return std::nullopt;
  rest.remove_prefix(is_tasks ? 6 : 5);
  const auto tasks = rest.find(": ");
  if (tasks == rest.npos || tasks == 0) return std::nullopt;
  const std::string_view numbers = rest.substr(0, tasks);
  const bool are_numbers = std::all_of(numbers.begin(), numbers.end(), [](char c) {
    return std::string_view("0123456789,-[]").find(c) != std::string_view::npos;
  });
  if (!are_numbers) return std::nullopt;
  try {
    return EndedTasks{names_in_hostlist(line.substr(0, nodes)),
                      std::string(stripped(rest.substr(tasks + 2)))};
  } catch (const Error&) {
    return std::nullopt;
  }
}

SlurmAnswer ask_slurm(std::vector<std::string> command, Seconds patience_s,
                      const std::function<bool()>& is_given_up) {
  constexpr Seconds look_s = 1, quick_look_s = 0.1;
  const std::string name = command.front();
  const SideProgram program(
      {.argv = std::move(command),
       .directory = std::filesystem::current_path(),
       // A job has the environment of its sbatch, and may run on this machine.
       .ends_what_it_launched = false});
  const Seconds until = seconds_since_boot() + patience_s;
  while (!program.ended()) {
    const Seconds left_s = until - seconds_since_boot();
    if (left_s <= 0) {
      throw machine_error(name + " has not answered for " +
                          std::to_string(static_cast<long>(patience_s)) + " s");
    }
    pollfd ended{program.pidfd(), POLLIN, 0};
    const Seconds longest_s = is_given_up ? quick_look_s : look_s;
    ::poll(&ended, 1, static_cast<int>(std::min(left_s, longest_s) * 1000) + 1);
    if (is_given_up && is_given_up()) throw machine_error(name + " was not waited for");
  }
  const ExitStatus ended = *program.ended();
  return {ended.signal != 0 ? 128 + ended.signal : ended.exit_code,
          std::string(stripped(program.first_words(most_answer_bytes)))};
}

std::string in_one_line(std::string_view said) {
  std::string line;
  for (const std::string_view each : split(said, '\n')) {
    const std::string_view words = stripped(each);
    if (!words.empty()) line += (line.empty() ? "" : "; ") + std::string(words);
  }
  return line;
}

bool QueuedJob::is_alive() const {
  constexpr std::array over = {"BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE", "FAILED",
                               "NODE_FAIL", "REVOKED",   "OUT_OF_MEMORY", "TIMEOUT"};
  return std::find(over.begin(), over.end(), state) == over.end();
}

std::optional<QueuedJob> read_queued_job(std::string_view line) {
  const auto fields = split(line, '|');
  if (fields.size() != 5) return std::nullopt;
  QueuedJob job;
  job.state = fields[0];
  if (job.state == "RUNNING" || job.state == "SUSPENDED") job.left_s = slurm_seconds(fields[1]);
  job.reason = fields[2];
  job.node_count = static_cast<int>(number_in(fields[3]).value_or(0));
  if (!fields[4].empty()) job.nodes = names_in_hostlist(fields[4]);
  return job;
}

std::optional<QueuedJob> look_at_job(const std::string& id) {
  const SlurmAnswer answer = ask_slurm(
      {"squeue", "--noheader", "--states=all", "--jobs=" + id, "--format=%T|%L|%r|%D|%N"});
  if (answer.exit_code == 0) {
    if (answer.said.empty()) return std::nullopt;
    for (const std::string_view line : split(answer.said, '\n')) {
      if (auto job = read_queued_job(line)) return job;
    }
  }
  if (answer.said.find("Invalid job id") != answer.said.npos) return std::nullopt;
  throw machine_error("Slurm cannot be asked for job " + id + ": " + answer.said);
}

std::optional<NamedJob> read_named_job(std::string_view line) {
  const auto name = line.find('|');
  const auto id = name == line.npos ? name : line.find('|', name + 1);
  if (id == line.npos) return std::nullopt;
  auto queued = read_queued_job(line.substr(id + 1));
  if (!queued) return std::nullopt;
  return NamedJob{std::string(line.substr(0, name)),
                  std::string(line.substr(name + 1, id - name - 1)), *std::move(queued)};
}

std::vector<NamedJob> look_at_jobs(const std::vector<std::string>& names,
                                   const std::function<bool()>& is_given_up, Seconds patience_s) {
  // Longer lists are longer than an argument may be.
  constexpr std::size_t most_names = 500;
  std::vector<std::string> command = {"squeue", "--noheader", "--states=all",
                                      "--user=" + std::to_string(::geteuid()),
                                      "--format=%j|%i|%T|%L|%r|%D|%N"};
  if (names.size() <= most_names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
    command.push_back("--name=" + list);
  }
  const SlurmAnswer answer = ask_slurm(std::move(command), patience_s, is_given_up);
  if (answer.exit_code != 0) {
    throw machine_error("Slurm cannot be asked for jobs: " + in_one_line(answer.said));
  }
  std::vector<NamedJob> jobs;
  for (const std::string_view line : split(answer.said, '\n')) {
    auto job = read_named_job(line);
    if (job && std::find(names.begin(), names.end(), job->name) != names.end()) {
      jobs.push_back(*std::move(job));
    }
  }
  return jobs;
}

std::string submitted_id(std::string_view said) {
  const auto lines = split(said, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // "12" or "12;cluster"
    const std::string_view id = stripped(line->substr(0, line->find(';')));
    if (number_in(id)) return std::string(id);
  }
  return "";
}

std::vector<std::string> some_node_addresses() {
  constexpr std::size_t most = 20;
  const SlurmAnswer answer = ask_slurm({"sinfo", "--noheader", "--Node", "--format=%o"});
  if (answer.exit_code != 0)
    throw machine_error("Slurm cannot be asked for nodes: " + in_one_line(answer.said));
  std::vector<std::string> addresses;
  for (const std::string_view line : split(answer.said, '\n')) {
    if (!stripped(line).empty()) addresses.emplace_back(stripped(line));
    if (addresses.size() == most) break;
  }
  return addresses;
}

std::string address_of_node(const std::string& node) {
  const SlurmAnswer answer = ask_slurm({"scontrol", "--oneliner", "show", "node", node});
  constexpr std::string_view field = " NodeAddr=";
  const auto at = answer.said.find(field);
  if (answer.exit_code != 0 || at == answer.said.npos) return node;
  const auto begin = at + field.size();
  return answer.said.substr(begin, answer.said.find(' ', begin) - begin);
}

}  // namespace tune
