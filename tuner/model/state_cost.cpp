// One list of the fields, which JSON, parsing and addition all go through.
#include "tuner/model/state_cost.h"

#include <type_traits>

#include "tuner/base/whole_number.h"

namespace tune {

namespace {

/// Calls `field(name, member of a)` for each, so that no list of them stands twice.
template <class Cost, class Field>
void for_each_field(Cost& cost, const Field& field) {
  field("events", cost.events);
  field("bytes", cost.bytes);
  field("writes", cost.writes);
  field("syncs", cost.syncs);
  field("snapshots", cost.snapshots);
  field("snapshot_bytes", cost.snapshot_bytes);
  field("write_s", cost.write_s);
  field("snapshot_s", cost.snapshot_s);
  field("sync_s", cost.sync_s);
  field("publish_s", cost.publish_s);
  field("publish_cpu_s", cost.publish_cpu_s);
}

}  // namespace

Json to_json(const StateCost& cost) {
  Json json = Json::object();
  for_each_field(cost, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

StateCost parse_state_cost(const Json& json) {
  StateCost cost;
  for_each_field(cost, [&](const char* name, auto& value) {
    const auto found = json.find(name);
    if (found == json.end()) return;
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) {
      value = load_whole<std::decay_t<decltype(value)>>(*found);
    } else {
      value = found->template get<double>();
    }
  });
  return cost;
}

StateCost& StateCost::operator+=(const StateCost& other) {
  const Json theirs = to_json(other);
  for_each_field(*this, [&](const char* name, auto& value) {
    value += theirs.at(name).get<std::decay_t<decltype(value)>>();
  });
  return *this;
}

}  // namespace tune
