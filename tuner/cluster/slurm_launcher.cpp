// srun's options, and what it prints.
#include "tuner/cluster/slurm_launcher.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/host_launcher.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

/// srun's own words in there begin with its name, agents' with the number of their task.
constexpr const char* step_log = "srun";

std::uintmax_t size_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error ? 0 : size;
}

}  // namespace

SlurmLauncher::Step::Step(SideProgram::Options options)
    : log(options.log), read(size_of(log)), program(std::move(options)) {}

void SlurmLauncher::Step::look() {
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(read));
  std::string block(std::size_t{64} << 10, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
    const auto count = static_cast<std::size_t>(file.gcount());
    read += count;
    for (const char c : std::string_view(block).substr(0, count)) {
      if (c != '\n') {
        line += c;
        continue;
      }
      if (const auto tasks = ended_tasks(line)) {
        for (const std::string& node : tasks->nodes) ended.emplace(node, tasks->how);
      }
      line.clear();
    }
  }
}

SlurmLauncher::SlurmLauncher(Options options) : options_(std::move(options)) {}

SideProgram::Options SlurmLauncher::side(std::vector<std::string> own,
                                         const std::string& log) const {
  std::vector<std::string> command = {
      "srun", "--jobid=" + options_.job.id, "--job-name=tune",
      // A task or a node that is lost is not the others' end.
      "--no-kill", "--kill-on-bad-exit=0", "--wait=0",
      // It would read the driver's, and would set up what takes trials for ranks of its own.
      "--input=none", "--mpi=none", "--label"};
  command.insert(command.end(), own.begin(), own.end());
  command.insert(command.end(), options_.agent.begin(), options_.agent.end());
  return {.argv = std::move(command),
          .directory = options_.directory,
          .log = agent_log(options_.directory, log),
          .groups = options_.groups};
}

/// Neither --exact nor --overlap, which lose gpus where nodes differ: so each task has all that the
/// job has on its node. Beside the step of agents that have come back it would wait for ever.
void SlurmLauncher::start(const std::vector<std::string>& nodes) {
  const std::string count = std::to_string(nodes.size());
  std::vector<std::string> words = {"--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1"};
  if (nodes.size() < options_.job.nodes.size()) {
    std::string list;
    for (const std::string& node : nodes) list += (list.empty() ? "" : ",") + node;
    words.insert(words.end(), {"--overlap", "--immediate=10", "--nodelist=" + list});
  }
  all_.emplace(side(std::move(words), step_log));
}

bool SlurmLauncher::can_start_again(const std::string& node) const {
  const auto& nodes = options_.job.nodes;
  return !again_.contains(node) && std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

/// What the node has belongs to the first step while that lasts: one beside it would wait for ever.
void SlurmLauncher::start_again(const std::string& node) {
  again_.try_emplace(
      node,
      side({"--overlap", "--immediate=10", "--nodes=1", "--ntasks=1", "--nodelist=" + node}, node));
}

void SlurmLauncher::look() {
  if (all_) all_->look();
  for (auto& [node, step] : again_) step.look();
}

const SlurmLauncher::Step* SlurmLauncher::step_of(const std::string& node) const {
  const auto again = again_.find(node);
  if (again != again_.end()) return &again->second;
  return all_ ? &*all_ : nullptr;
}

std::optional<std::string> SlurmLauncher::ending(const std::string& node) const {
  const Step* const step = step_of(node);
  if (step == nullptr) return std::nullopt;
  const auto task = step->ended.find(node);
  if (task != step->ended.end()) return task->second + step->program.last_words();
  if (!step->program.ended()) return std::nullopt;
  return text_of(step->program.ended()) + step->program.last_words();
}

bool SlurmLauncher::has_ended_there(const std::string& node) const {
  const Step* const step = step_of(node);
  return step != nullptr && step->ended.contains(node);
}

std::string SlurmLauncher::last_words(const std::string& node) const {
  const Step* const step = step_of(node);
  return step == nullptr ? "" : step->program.last_words();
}

bool SlurmLauncher::is_running() const {
  const auto runs = [](const Step& step) { return !step.program.ended(); };
  return (all_ && runs(*all_)) || std::any_of(again_.begin(), again_.end(), [&](const auto& again) {
           return runs(again.second);
         });
}

}  // namespace tune
