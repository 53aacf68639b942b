// NVML through dlopen, so that nothing of NVIDIA's is needed to build or to run.
#include "tuner/process/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tune {
namespace {

// As in nvml.h of NVIDIA's, whose binary interface has been kept since version 2 of each call.
using Device = struct nvmlDevice_st*;
constexpr int nvml_success = 0;
constexpr unsigned mig_enabled = 1;
constexpr unsigned uuid_bytes = 96;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

class Library {
 public:
  explicit Library(const std::string& name) : handle_(::dlopen(name.c_str(), RTLD_NOW)) {}
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }

  template <class... Arguments>
  auto find(const char* name) const {
    return reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle_, name));
  }

 private:
  void* handle_;
};

struct Calls {
  explicit Calls(const Library& library)
      : init(library.find("nvmlInit_v2")),
        shutdown(library.find("nvmlShutdown")),
        count(library.find<unsigned*>("nvmlDeviceGetCount_v2")),
        device(library.find<unsigned, Device*>("nvmlDeviceGetHandleByIndex_v2")),
        uuid(library.find<Device, char*, unsigned>("nvmlDeviceGetUUID")),
        mig_mode(library.find<Device, unsigned*, unsigned*>("nvmlDeviceGetMigMode")),
        mig_count(library.find<Device, unsigned*>("nvmlDeviceGetMaxMigDeviceCount")),
        mig_device(library.find<Device, unsigned, Device*>("nvmlDeviceGetMigDeviceHandleByIndex")),
        processes(library.find<Device, unsigned*, ProcessInfo*>(
            "nvmlDeviceGetComputeRunningProcesses_v3")) {}

  bool know_processes() const { return processes != nullptr; }
  bool complete() const { return init && shutdown && count && device && uuid; }
  bool know_mig() const { return mig_mode && mig_count && mig_device; }

  int (*init)();
  int (*shutdown)();
  int (*count)(unsigned*);
  int (*device)(unsigned, Device*);
  int (*uuid)(Device, char*, unsigned);
  int (*mig_mode)(Device, unsigned*, unsigned*);
  int (*mig_count)(Device, unsigned*);
  int (*mig_device)(Device, unsigned, Device*);
  int (*processes)(Device, unsigned*, ProcessInfo*);
};

std::string failed(std::string_view call, int code) {
  return std::string(call) + " failed with code " + std::to_string(code);
}

bool append_uuid(const Calls& nvml, Device device, NvmlAnswer& answer) {
  std::array<char, uuid_bytes> name{};
  const int code = nvml.uuid(device, name.data(), uuid_bytes - 1);
  if (code != nvml_success) answer.problem = failed("nvmlDeviceGetUUID", code);
  if (code == nvml_success) answer.devices.emplace_back(name.data());
  return code == nvml_success;
}

bool is_divided(const Calls& nvml, Device device) {
  unsigned current = 0;
  unsigned pending = 0;
  return nvml.know_mig() && nvml.mig_mode(device, &current, &pending) == nvml_success &&
         current == mig_enabled;
}

bool append_parts(const Calls& nvml, Device device, NvmlAnswer& answer) {
  unsigned places = 0;
  if (nvml.mig_count(device, &places) != nvml_success) return true;
  for (unsigned place = 0; place < places; ++place) {
    Device part = nullptr;
    if (nvml.mig_device(device, place, &part) != nvml_success) continue;  // an empty place
    if (!append_uuid(nvml, part, answer)) return false;
  }
  return true;
}

void list_devices(const Calls& nvml, NvmlAnswer& answer) {
  unsigned count = 0;
  if (const int code = nvml.count(&count); code != nvml_success) {
    answer.problem = failed("nvmlDeviceGetCount_v2", code);
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    // Devices that we may not use fail here, and those that do not fail are what we have.
    if (nvml.device(i, &device) != nvml_success) continue;
    const bool told = is_divided(nvml, device) ? append_parts(nvml, device, answer)
                                               : append_uuid(nvml, device, answer);
    if (!told) return;
  }
}

}  // namespace

NvmlAnswer ask_nvml(const std::string& name) {
  NvmlAnswer answer;
  const Library library(name);
  if (!library) return answer;
  answer.library_found = true;
  const Calls nvml(library);
  if (!nvml.complete()) {
    answer.problem = name + " lacks calls that every NVML has";
    return answer;
  }
  if (const int code = nvml.init(); code != nvml_success) {
    answer.problem = name + " is there, and its " + failed("nvmlInit_v2", code);
    return answer;
  }
  list_devices(nvml, answer);
  nvml.shutdown();
  if (!answer.problem.empty()) answer.devices.clear();
  return answer;
}

std::vector<std::pair<std::int64_t, std::uint64_t>> device_memory(const std::string& name) {
  constexpr unsigned most_processes = 1024;
  constexpr auto not_told = ~0ULL;
  std::vector<std::pair<std::int64_t, std::uint64_t>> uses;
  const Library library(name);
  if (!library) return uses;
  const Calls nvml(library);
  if (!nvml.complete() || !nvml.know_processes() || nvml.init() != nvml_success) return uses;
  unsigned count = 0;
  if (nvml.count(&count) != nvml_success) count = 0;
  std::vector<ProcessInfo> infos(most_processes);
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    unsigned running = most_processes;
    if (nvml.device(i, &device) != nvml_success) continue;
    if (nvml.processes(device, &running, infos.data()) != nvml_success) continue;
    for (unsigned at = 0; at < std::min(running, most_processes); ++at) {
      // That it uses one is known, and a byte says so.
      const auto bytes = infos[at].used_bytes;
      uses.emplace_back(infos[at].pid, bytes == not_told ? 1 : std::max(bytes, 1ULL));
    }
  }
  nvml.shutdown();
  return uses;
}

}  // namespace tune
