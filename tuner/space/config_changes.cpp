// A recursive diff of two JSON objects, and its short text.
#include "tuner/space/config_changes.h"

#include <charconv>
#include <map>

#include "tuner/space/domain.h"

namespace tune {

namespace {

struct Difference {
  std::string path;  ///< "model/lr"
  std::string last;  ///< "lr"
  Json before;
  Json after;
};

Json member(const Json& value, const std::string& key) {
  return value.is_null() ? Json() : value.value(key, Json());
}

void compare(const Json& before, const Json& after, const std::string& path,
             const std::string& last, std::vector<Difference>& differences) {
  if (before == after) return;
  // What is not there is like an object without members.
  const auto may_have_members = [](const Json& value) {
    return value.is_object() || value.is_null();
  };
  if (!may_have_members(before) || !may_have_members(after)) {
    differences.push_back({path, last, before, after});
    return;
  }
  Json keys = before.is_null() ? Json::object() : before;
  if (!after.is_null()) keys.update(after);
  const std::string prefix = path.empty() ? path : path + "/";
  for (const auto& [key, value] : keys.items()) {
    compare(member(before, key), member(after, key), prefix + key, key, differences);
  }
}

}  // namespace

std::string short_value(const Json& value) {
  if (value.is_number_float()) {
    char text[32];
    const auto written =
        std::to_chars(text, text + sizeof text, value.get<double>(), std::chars_format::general, 4);
    return {text, written.ptr};
  }
  std::string text = shorten(value, 40);
  if (value.is_string() && text.ends_with('"')) text = text.substr(1, text.size() - 2);
  return text;
}

std::vector<ConfigChange> changes_between(const Json& before, const Json& after) {
  std::vector<Difference> differences;
  compare(before, after, "", "", differences);
  std::map<std::string, int> uses;
  for (const auto& difference : differences) ++uses[difference.last];
  std::vector<ConfigChange> changes;
  for (auto& [path, last, old_value, new_value] : differences) {
    changes.push_back({uses[last] == 1 ? last : path, std::move(old_value), std::move(new_value)});
  }
  return changes;
}

std::string changes_text(const Json& before, const Json& after) {
  std::string text;
  for (const auto& change : changes_between(before, after)) {
    text += (text.empty() ? "" : ", ") + change.name + ' ' + short_value(change.before) + " -> " +
            short_value(change.after);
  }
  return text.empty() ? "the same config" : text;
}

}  // namespace tune
