// A made-up libnvidia-ml.so.1: one whole gpu, one that may not be used, one divided in two parts;
// or, with NVML_STUB_BROKEN, one whose driver does not fit. Knows nothing of who calls it.
#include <cstdint>
#include <cstdio>

namespace {

constexpr int success = 0;
constexpr int no_permission = 4;
constexpr int not_found = 6;
constexpr int driver_mismatch = 18;

// A device is its number plus one; a part has 100 added for each place.
std::uintptr_t number_of(void* device) { return reinterpret_cast<std::uintptr_t>(device); }

}  // namespace

extern "C" {

int nvmlInit_v2() {
#ifdef NVML_STUB_BROKEN
  return driver_mismatch;
#else
  (void)driver_mismatch;
  return success;
#endif
}

int nvmlShutdown() { return success; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index == 2) return no_permission;
  *device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index) + 1);
  return success;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  const auto number = number_of(device);
  if (number < 100) {
    std::snprintf(uuid, length, "GPU-%u", static_cast<unsigned>(number) - 1);
  } else {
    std::snprintf(uuid, length, "MIG-%u-%u", static_cast<unsigned>(number % 100) - 1,
                  static_cast<unsigned>(number / 100) - 1);
  }
  return success;
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = number_of(device) == 2 ? 1 : 0;
  return success;
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 3;
  return success;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned place, void** part) {
  if (place == 1) return not_found;
  *part = reinterpret_cast<void*>(number_of(device) + 100 * (std::uintptr_t(place) + 1));
  return success;
}
}
