// Assembles configs from draws and grid points (a mixed-radix counter), counts them, and checks
// presets.
#include "tuner/space/search_space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tuner/base/error.h"
#include "tuner/space/config_changes.h"
#include "tuner/space/formulas.h"
#include "tuner/space/space_match.h"

namespace tune {

namespace {

using Fixed = SpaceNode::Fixed;
using Object = SpaceNode::Object;
using List = SpaceNode::List;
using Number = SpaceNode::Number;
using Branches = SpaceNode::Branches;
using Formula = SpaceNode::Formula;

/// What `preset` says about one part of a space: null if it leaves it open.
class Given {
 public:
  Given(const std::vector<SpaceLeaf>& leaves, const Json* preset)
      : leaves_(leaves), preset_(preset) {}

  const Json* at(const SpaceNode& node) const {
    if (!preset_ || !preset_->is_null()) return preset_;
    const auto* branches = std::get_if<Branches>(&node.body);
    return branches && find_branch(leaves_, *branches, *preset_) ? preset_ : nullptr;
  }
  Given member(const std::string& key) const {
    const bool has = preset_ && preset_->is_object() && preset_->contains(key);
    return {leaves_, has ? &(*preset_)[key] : nullptr};
  }
  Given element(std::size_t i) const {
    const bool has = preset_ && preset_->is_array() && i < preset_->size();
    return {leaves_, has ? &(*preset_)[i] : nullptr};
  }
  std::size_t branch(const Branches& branches) const {
    const auto found = find_branch(leaves_, branches, *preset_);
    if (!found) {
      throw std::invalid_argument(shorten(*preset_) + " is none of the values of " + branches.text);
    }
    return *found;
  }

 private:
  const std::vector<SpaceLeaf>& leaves_;
  const Json* preset_;
};

std::uint64_t count_grid(const SpaceNode& node, const Given& given) {
  if (node.grid_size == 1 || !given.at(node)) return node.grid_size;
  std::uint64_t size = 1;
  if (const auto* object = std::get_if<Object>(&node.body)) {
    for (const auto& [key, member] : object->members) {
      size = multiply_sizes(size, count_grid(member, given.member(key)));
    }
  } else if (const auto* list = std::get_if<List>(&node.body)) {
    for (std::size_t i = 0; i < list->elements.size(); ++i) {
      size = multiply_sizes(size, count_grid(list->elements[i], given.element(i)));
    }
  } else if (const auto* grid = std::get_if<Branches>(&node.body)) {
    size = count_grid(grid->values[given.branch(*grid)], given);
  }
  return size;
}

/// SpaceNode::too_many for endless.
std::uint64_t count_configs(const SpaceNode& node, const std::vector<SpaceLeaf>& leaves) {
  if (const auto* number = std::get_if<Number>(&node.body)) {
    return count_values(leaves[number->leaf].domain).value_or(SpaceNode::too_many);
  }
  std::uint64_t size = 1;
  if (const auto* object = std::get_if<Object>(&node.body)) {
    for (const auto& [key, member] : object->members) {
      size = multiply_sizes(size, count_configs(member, leaves));
    }
  } else if (const auto* list = std::get_if<List>(&node.body)) {
    for (const SpaceNode& element : list->elements) {
      size = multiply_sizes(size, count_configs(element, leaves));
    }
  } else if (const auto* branches = std::get_if<Branches>(&node.body)) {
    size = 0;
    std::vector<const Json*> listed;  // a value may be listed twice
    for (const SpaceNode& value : branches->values) {
      const auto* const fixed = std::get_if<Fixed>(&value.body);
      const auto is_listed = [&](const Json* other) { return is_same(*other, fixed->value); };
      if (fixed != nullptr && std::any_of(listed.begin(), listed.end(), is_listed)) continue;
      if (fixed != nullptr) listed.push_back(&fixed->value);
      size = add_sizes(size, count_configs(value, leaves));
    }
  }
  return size;
}

/// Puts one config together, expressions left open (null).
class Assembler {
 public:
  Assembler(const SearchSpace::Draw& draw, std::uint64_t grid_point)
      : draw_(draw), grid_point_(grid_point) {}

  Json build(const SpaceNode& node, const Given& given) {
    return std::visit([&](const auto& body) { return build_body(node, body, given); }, node.body);
  }

  const std::vector<const Formula*>& formulas() const { return formulas_; }

 private:
  Json build_body(const SpaceNode&, const Fixed& fixed, const Given&) { return fixed.value; }

  Json build_body(const SpaceNode&, const Object& object, const Given& given) {
    Json json = Json::object();
    for (const auto& [key, member] : object.members) json[key] = build(member, given.member(key));
    return json;
  }

  Json build_body(const SpaceNode&, const List& list, const Given& given) {
    Json json = Json::array();
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      json.push_back(build(list.elements[i], given.element(i)));
    }
    return json;
  }

  Json build_body(const SpaceNode& node, const Number& number, const Given& given) {
    const Json* value = given.at(node);
    return value ? *value : draw_(number.leaf);
  }

  Json build_body(const SpaceNode& node, const Branches& branches, const Given& given) {
    if (given.at(node)) return build(branches.values[given.branch(branches)], given);
    if (!branches.is_grid) {
      const auto index = draw_(branches.leaf).get<std::size_t>();
      ensure(index < branches.values.size(), "a choice is drawn from its values");
      return build(branches.values[index], given);
    }
    // The lowest digit of the grid point, in a number system whose base is this grid's size.
    std::uint64_t digit = grid_point_ % node.grid_size;
    const std::uint64_t higher_digits = grid_point_ / node.grid_size;
    std::size_t index = 0;
    while (digit >= branches.values[index].grid_size) digit -= branches.values[index++].grid_size;
    grid_point_ = digit;
    Json value = build(branches.values[index], given);
    grid_point_ = higher_digits;
    return value;
  }

  Json build_body(const SpaceNode&, const Formula& formula, const Given&) {
    formulas_.push_back(&formula);
    return nullptr;
  }

  const SearchSpace::Draw& draw_;
  std::uint64_t grid_point_;
  std::vector<const Formula*> formulas_;
};

/// By leaf, what must have been drawn for `value`.
void find_leaf_values(const SpaceTree& tree, const SpaceNode& node, const Json& value,
                      std::vector<Json>& found) {
  if (const auto* object = std::get_if<Object>(&node.body)) {
    if (!value.is_object()) return;
    for (const auto& [key, member] : object->members) {
      const auto part = value.find(key);
      if (part != value.end()) find_leaf_values(tree, member, *part, found);
    }
  } else if (const auto* list = std::get_if<List>(&node.body)) {
    if (!value.is_array() || value.size() != list->elements.size()) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      find_leaf_values(tree, list->elements[i], value[i], found);
    }
  } else if (const auto* number = std::get_if<Number>(&node.body)) {
    if (value.is_number()) found[number->leaf] = value;
  } else if (const auto* branches = std::get_if<Branches>(&node.body)) {
    const auto index = find_branch(tree.leaves, *branches, value);
    if (!index) return;
    if (!branches->is_grid) found[branches->leaf] = *index;
    find_leaf_values(tree, branches->values[*index], value, found);
  }
}

/// One "name=value" of a tag.
struct TagPart {
  std::string path;  ///< "model/lr"
  std::string last;  ///< "lr"; the path for an element of a list, whose number says little
  std::string text;
};

/// Lists the scalars and lists at and below `value`.
void list_values(const Json& value, const std::string& path, const std::string& last,
                 std::vector<TagPart>& parts) {
  if (!value.is_object() || value.empty()) {
    parts.push_back({path, last, short_value(value)});
    return;
  }
  for (const auto& [key, part] : value.items()) list_values(part, path + "/" + key, key, parts);
}

void list_drawn(const SpaceNode& node, const Json& value, const std::string& path,
                const std::string& last, std::vector<TagPart>& parts) {
  const std::string prefix = path.empty() ? path : path + "/";
  if (const auto* object = std::get_if<Object>(&node.body)) {
    if (!value.is_object()) return;
    for (const auto& [key, member] : object->members) {
      const auto part = value.find(key);
      if (part != value.end()) list_drawn(member, *part, prefix + key, key, parts);
    }
  } else if (const auto* list = std::get_if<List>(&node.body)) {
    if (!value.is_array()) return;
    for (std::size_t i = 0; i < std::min(value.size(), list->elements.size()); ++i) {
      const std::string element = prefix + std::to_string(i);
      list_drawn(list->elements[i], value[i], element, element, parts);
    }
  } else if (std::holds_alternative<Number>(node.body) ||
             std::holds_alternative<Branches>(node.body)) {
    list_values(value, path, last, parts);
  }
}

}  // namespace

Json draw_leaf(const Domain& domain, Random& random) {
  if (const auto* choice = std::get_if<Choice>(&domain)) return random.below(choice->values.size());
  return draw(domain, random);
}

SearchSpace SearchSpace::parse(const Json& json, const std::string& pointer,
                               std::vector<Problem>& problems) {
  SearchSpace space;
  space.json_ = json;
  space.tree_ = parse_space_tree(json, pointer, problems);
  return space;
}

std::uint64_t SearchSpace::grid_size(const Json& preset) const {
  return count_grid(tree_.root, Given(tree_.leaves, preset.is_null() ? nullptr : &preset));
}

std::optional<std::uint64_t> SearchSpace::size() const {
  const std::uint64_t size = count_configs(tree_.root, tree_.leaves);
  return size == SpaceNode::too_many ? std::nullopt : std::optional(size);
}

Json SearchSpace::assemble(std::uint64_t grid_point, const Draw& draw, const Json& preset) const {
  Assembler assembler(draw, grid_point);
  const Given given(tree_.leaves, preset.is_null() ? nullptr : &preset);
  Json config = assembler.build(tree_.root, given);
  (void)evaluate_all(assembler.formulas(), config);
  return config;
}

std::optional<std::string> SearchSpace::without_value(const Json& config) const {
  const auto lacks = [&](const Json::json_pointer& place) {
    if (!config.contains(place)) return false;
    const Json& value = config.at(place);
    return value.is_number_float() && std::isnan(value.get<double>());
  };
  if (std::none_of(tree_.formulas.begin(), tree_.formulas.end(), lacks)) return std::nullopt;
  Json again = config;
  return evaluate_all(formulas_of(tree_, config), again);
}

Json SearchSpace::evaluated(Json config) const {
  if (has_expressions()) (void)evaluate_all(formulas_of(tree_, config), config);
  return config;
}

bool SearchSpace::is_expression(const std::string& pointer) const {
  const Json::json_pointer place(pointer);
  const bool is_drawn = std::any_of(tree_.leaves.begin(), tree_.leaves.end(),
                                    [&](const SpaceLeaf& leaf) { return leaf.pointer == pointer; });
  return !is_drawn &&
         std::find(tree_.formulas.begin(), tree_.formulas.end(), place) != tree_.formulas.end();
}

Json SearchSpace::sample(std::uint64_t grid_point, Random& random, const Json& preset) const {
  const auto draw_at = [&](std::size_t leaf) {
    return draw_leaf(tree_.leaves[leaf].domain, random);
  };
  return assemble(grid_point, draw_at, preset);
}

std::vector<Json> SearchSpace::leaf_values(const Json& config) const {
  std::vector<Json> found(tree_.leaves.size());
  find_leaf_values(tree_, tree_.root, config, found);
  return found;
}

std::string SearchSpace::tag(const Json& config) const {
  constexpr std::size_t max_length = 100;
  std::vector<TagPart> parts;
  list_drawn(tree_.root, config, "", "", parts);
  std::map<std::string, int> uses;
  for (const TagPart& part : parts) ++uses[part.last];
  std::string tag;
  for (const TagPart& part : parts) {
    if (!tag.empty()) tag += ',';
    tag += (uses[part.last] == 1 ? part.last : part.path) + "=" + part.text;
    if (tag.size() > max_length) break;
  }
  if (tag.size() <= max_length) return tag;
  std::size_t end = max_length - 3;
  const auto is_inside_character = [&](std::size_t i) { return (tag[i] & 0xC0) == 0x80; };
  while (end > 0 && is_inside_character(end)) --end;
  return tag.substr(0, end) + "...";
}

std::vector<Problem> SearchSpace::check_preset(const Json& preset) const {
  if (!preset.is_object()) return {{"", "a point must be an object, got " + shorten(preset)}};
  std::vector<Problem> problems = match(tree_, preset);
  return problems.empty() ? given_without_inputs(tree_, preset) : problems;
}

std::optional<std::string> why_unfit(const SearchSpace& space,
                                     const std::vector<Constraint>& constraints,
                                     const Json& config) {
  if (auto sentence = space.without_value(config)) return sentence;
  const Constraint* const broken = find_broken(constraints, config);
  return broken ? std::optional("the config breaks the constraint '" + broken->text() + "'")
                : std::nullopt;
}

bool has_unfit(const SearchSpace& space, const std::vector<Constraint>& constraints) {
  return space.has_expressions() || any_about_configs(constraints);
}

std::string all_unfit(const SearchSpace& space, const std::vector<Constraint>& constraints,
                      const std::string& place, const std::string& last_reason) {
  if (!any_about_configs(constraints)) {
    return "no config that can be tried was found " + place + ": " + last_reason;
  }
  const std::string sentence = too_narrow(constraints, place);
  return space.has_expressions() ? sentence + "; of the last one: " + last_reason : sentence;
}

}  // namespace tune
