// What a run sees of the machine that its trials run on, where that is its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tuner/execution/local/detect_resources.h"
#include "tuner/run/loop.h"
#include "tuner/spec/spec.h"

namespace tune {

/// Of the whole machine, and of process groups.
MemoryMeter machine_memory();

/// What these process groups are at, and for how long nothing was written to the logs.
ProcessesSeen look_at_processes(const std::vector<std::int64_t>& groups,
                                const std::vector<std::filesystem::path>& logs);

/// By device, what CUDA_VISIBLE_DEVICES must say. Gpus that the user says there are and that were
/// not found have their numbers for names.
std::vector<std::string> gpu_names(const ExperimentSpec& spec, const DetectedResources& detected);

}  // namespace tune
