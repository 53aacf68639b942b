// The life of a class trainable, and the bookkeeping of one iteration.
#include "trainable/runner.h"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace tune {
namespace {

constexpr std::size_t max_exception_text_bytes = 64 * 1024;

bool take_flag(Json& metrics, const char* name) {
  const auto found = metrics.find(name);
  if (found == metrics.end()) return false;
  if (!found->is_boolean()) {
    throw std::invalid_argument(std::string("\"") + name + "\" in the metrics must be true or " +
                                "false, and is " + found->type_name());
  }
  const bool flag = found->get<bool>();
  metrics.erase(found);
  return flag;
}

}  // namespace

TrialContext context_of(const protocol::Start& start) {
  return {start.trial_id, start.trial_dir, start.iteration,  start.attempt,   start.resources,
          start.devices,  start.rank,      start.world_size, start.local_rank};
}

protocol::Result finish_iteration(Json metrics, double seconds, TrialContext& context) {
  if (metrics.is_null()) metrics = Json::object();
  if (!metrics.is_object()) {
    throw std::invalid_argument(std::string("the metrics of an iteration must be an object, and "
                                            "are of the type ") +
                                metrics.type_name());
  }
  protocol::Result result;
  result.done = take_flag(metrics, "done");
  result.should_checkpoint = take_flag(metrics, "should_checkpoint");
  metrics.emplace("time_this_iter_s", seconds);
  const auto iteration = metrics.find("training_iteration");
  if (iteration != metrics.end() && iteration->is_number_integer()) {
    context.training_iteration = iteration->get<std::int64_t>();
  } else {
    ++context.training_iteration;
  }
  result.metrics = std::move(metrics);
  return result;
}

std::filesystem::path make_checkpoint_dir(const std::filesystem::path& trial_dir,
                                          std::int64_t& last) {
  std::filesystem::path directory;
  do {
    directory = trial_dir / (".reported_checkpoint_" + std::to_string(++last));
  } while (!std::filesystem::create_directory(directory));
  return directory;
}

std::string current_exception_text() {
  try {
    throw;
  } catch (const std::exception& error) {
    return std::string(error.what()).substr(0, max_exception_text_bytes);
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

void TrainableRunner::begin(const protocol::Start& start) {
  called_ = "the factory";
  trainable_ = factory_();
  if (!trainable_) throw std::invalid_argument("the factory made no trainable");
  trainable_->context_ = context_of(start);
  called_ = "setup";
  trainable_->setup(start.config);
  load(start);
}

bool TrainableRunner::reset(const protocol::Start& start) {
  trainable_->context_ = context_of(start);
  called_ = "reset_config";
  if (!trainable_->reset_config(start.config)) return false;
  load(start);
  return true;
}

void TrainableRunner::load(const protocol::Start& start) {
  if (!start.checkpoint) return;
  called_ = "load_checkpoint";
  const auto begin = std::chrono::steady_clock::now();
  trainable_->load_checkpoint(*start.checkpoint);
  load_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

protocol::Result TrainableRunner::step() {
  called_ = "step";
  const auto begin = std::chrono::steady_clock::now();
  Json metrics = trainable_->step();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  protocol::Result result =
      finish_iteration(std::move(metrics), seconds.count(), trainable_->context_);
  result.load_s = std::exchange(load_s_, std::nullopt);
  return result;
}

void TrainableRunner::save(const std::filesystem::path& directory) {
  called_ = "save_checkpoint";
  trainable_->save_checkpoint(directory);
}

void TrainableRunner::cleanup() {
  if (!trainable_) return;
  called_ = "cleanup";
  trainable_->cleanup();
}

}  // namespace tune
