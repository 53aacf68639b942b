// Columns and rows of `tune ls --over`, as a table, CSV or JSON.
#include "apps/tune/group_list.h"

#include <algorithm>
#include <set>

#include "apps/tune/output.h"
#include "apps/tune/trial_table.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/space/domain.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/trial_groups.h"

namespace tune {

namespace {

using Field = TrialFields::Field;

/// One group, as JSON and as cells.
struct GroupLine {
  Json json;
  Json sort_key;
  std::vector<Json> cells;
};

std::string shown_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// "0,1,2": what the other commands take.
std::string numbers_text(const TrialGroup& group) {
  std::string text;
  for (const Trial* const trial : group.trials) {
    text += (text.empty() ? "" : ",") + std::to_string(index_of(trial->id));
  }
  return text;
}

/// What is said of each group, and the values of the configs that tell them apart.
std::vector<Field> columns_of(const std::vector<TrialGroup>& groups, bool has_several_sources) {
  std::vector<Field> columns;
  if (has_several_sources) columns.push_back({"experiment", Field::Source::own, "experiment"});
  for (const char* const name : {"trials", "ended", "n", "mean", "std", "min", "max"}) {
    columns.push_back({name, Field::Source::own, name});
  }
  std::set<std::string> differing;
  for (const TrialGroup& group : groups) {
    const auto& first = groups.front().hyperparameters;
    for (const auto& [name, value] : group.hyperparameters) {
      const auto there = first.find(name);
      if (there == first.end() || !is_same(there->second, value)) differing.insert(name);
    }
    for (const auto& [name, value] : first) {
      if (!group.hyperparameters.contains(name)) differing.insert(name);
    }
  }
  for (const std::string& name : differing) {
    columns.push_back({shown_name(name), Field::Source::config, name});
  }
  return columns;
}

/// The column of that name, or of a hyperparameter that is the same in all groups.
Field find_column(const std::vector<Field>& columns, const std::vector<TrialGroup>& groups,
                  const std::string& name) {
  std::vector<std::string> known;
  for (const Field& column : columns) {
    if (column.name == name) return column;
    known.push_back(column.name);
  }
  for (const TrialGroup& group : groups) {
    for (const auto& [key, value] : group.hyperparameters) {
      const std::string shown = shown_name(key);
      if (name == shown || name == "config." + shown) {
        return {name, Field::Source::config, key};
      }
    }
  }
  throw user_error(unknown_name("column", name, known));
}

Json value_of_column(const Field& column, const TrialGroup& group, const Json& json) {
  if (column.source != Field::Source::config) {
    return column.key == "trials" ? Json(numbers_text(group)) : json.at(column.key);
  }
  const auto found = group.hyperparameters.find(column.key);
  return found == group.hyperparameters.end() ? Json() : found->second;
}

}  // namespace

void list_groups(const ListRequest& request, const std::vector<TrialSource>& sources,
                 const TrialFields& fields,
                 const std::vector<std::pair<const TrialSource*, const Trial*>>& trials) {
  const Objective objective = objective_for(*sources.front().grid, "", "");
  std::vector<Field> over;
  for (const auto& name : request.over) over.push_back(fields.find("name in --over", name));
  TrialGroups grouping(over, objective);
  for (const auto& [source, trial] : trials) grouping.add(*source, *trial);
  const std::vector<TrialGroup> groups = grouping.take();
  const std::vector<Field> usual = columns_of(groups, sources.size() > 1);
  std::vector<Field> columns;
  for (const auto& name : request.columns) columns.push_back(find_column(usual, groups, name));
  if (request.columns.empty()) columns = usual;
  const Field by = find_column(usual, groups, request.sort.empty() ? "mean" : request.sort);
  std::vector<GroupLine> lines;
  for (const TrialGroup& group : groups) {
    const Json json = to_json(group, objective);
    GroupLine& line = lines.emplace_back(GroupLine{json, value_of_column(by, group, json), {}});
    if (!request.columns.empty()) line.json = Json::object();
    for (const Field& column : columns) {
      line.cells.push_back(value_of_column(column, group, json));
      if (!request.columns.empty()) line.json[column.name] = line.cells.back();
    }
  }
  const bool is_best_last = request.sort.empty() && objective.mode == Mode::max;
  std::stable_sort(lines.begin(), lines.end(), [&](const GroupLine& a, const GroupLine& b) {
    return sorts_before(a.sort_key, b.sort_key, request.descending != is_best_last);
  });
  if (request.limit > 0 && lines.size() > request.limit) lines.resize(request.limit);
  Json list = Json::array();
  TableRows cells;
  for (GroupLine& line : lines) {
    list.push_back(std::move(line.json));
    cells.push_back(std::move(line.cells));
  }
  if (request.json) {
    print_json(list);
  } else if (request.csv) {
    print_as_csv(columns, cells);
  } else {
    print_as_table(columns, cells);
  }
}

}  // namespace tune
