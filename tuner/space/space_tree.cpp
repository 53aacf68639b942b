// Parses JSON into the tree, and checks the names and cycles of its expressions.
#include "tuner/space/space_tree.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "tuner/base/error.h"

namespace tune {

namespace {

constexpr int max_depth = 64;

class TreeParser {
 public:
  explicit TreeParser(std::vector<Problem>& problems)
      : problems_(problems), problems_before_(problems.size()) {}

  SpaceTree parse(const Json& json, const std::string& pointer);

 private:
  /// Where in the document, and inside of what.
  struct Location {
    std::string pointer;         ///< in the document
    std::string config_pointer;  ///< of the value in the config
    int depth = 0;
    bool in_choice = false;
    bool in_grid = false;

    Location below(const std::string& key) const {
      Location location = *this;
      location.pointer = append_pointer(pointer, key);
      location.config_pointer = append_pointer(config_pointer, key);
      ++location.depth;
      return location;
    }
  };

  SpaceNode parse_node(const Json& json, const Location& location);
  SpaceNode parse_object(const Json& json, const Location& location);
  SpaceNode parse_list(const Json& json, const Location& location);
  SpaceNode parse_branches(const Json& values, bool is_grid, const std::string& text,
                           const Location& location);
  SpaceNode from_domain(Domain domain, const Json& json, const Location& location);
  void check_formulas();

  void complain(const std::string& pointer, const std::string& sentence) {
    problems_.push_back({pointer, sentence});
  }
  bool good() const { return problems_.size() == problems_before_; }

  std::vector<Problem>& problems_;
  const std::size_t problems_before_;
  SpaceTree tree_;
  std::vector<std::string> formula_pointers_;  ///< in the document, in pointer order
};

SpaceTree TreeParser::parse(const Json& json, const std::string& pointer) {
  if (!json.is_object()) {
    complain(pointer, "the param space must be an object of hyperparameters, got " + shorten(json));
    return {};
  }
  Location location;
  location.pointer = pointer;
  if (parse_domain(json, pointer, problems_)) {
    complain(pointer, "the param space must be an object of hyperparameters: put " + shorten(json) +
                          " below a name");
  }
  if (!good()) return {};
  tree_.root = parse_object(json, location);
  if (tree_.root.grid_size == SpaceNode::too_many) {
    complain(pointer, "the grid has more than 2^63 points");
  }
  if (good()) check_formulas();
  return good() ? std::move(tree_) : SpaceTree{};
}

SpaceNode TreeParser::parse_node(const Json& json, const Location& location) {
  if (location.depth > max_depth) {
    complain(location.pointer,
             "the param space is nested deeper than " + std::to_string(max_depth));
    return {};
  }
  if (json.is_array()) return parse_list(json, location);
  if (!json.is_object()) return {SpaceNode::Fixed{json}};
  if (json.size() == 1 && json.contains("value")) return {SpaceNode::Fixed{json["value"]}};
  if (json.size() == 2 && json.contains("value") && json.contains("prior")) {
    complain(append_pointer(location.pointer, "prior"),
             "'value' takes no prior: nothing is drawn; write {\"value\": {...}} around an object "
             "that is meant as it is");
    return {};
  }
  const std::size_t problems_before = problems_.size();
  auto domain = parse_domain(json, location.pointer, problems_);
  if (domain) return from_domain(std::move(*domain), json, location);
  return problems_.size() == problems_before ? parse_object(json, location) : SpaceNode{};
}

SpaceNode TreeParser::parse_object(const Json& json, const Location& location) {
  SpaceNode::Object object;
  std::uint64_t grid_size = 1;
  for (const auto& [key, value] : json.items()) {
    object.members.emplace_back(key, parse_node(value, location.below(key)));
    grid_size = multiply_sizes(grid_size, object.members.back().second.grid_size);
  }
  return {std::move(object), grid_size};
}

SpaceNode TreeParser::parse_list(const Json& json, const Location& location) {
  SpaceNode::List list;
  std::uint64_t grid_size = 1;
  for (std::size_t i = 0; i < json.size(); ++i) {
    list.elements.push_back(parse_node(json[i], location.below(std::to_string(i))));
    grid_size = multiply_sizes(grid_size, list.elements.back().grid_size);
  }
  return {std::move(list), grid_size};
}

SpaceNode TreeParser::parse_branches(const Json& values, bool is_grid, const std::string& text,
                                     const Location& location) {
  SpaceNode::Branches branches{{}, is_grid, tree_.leaves.size() - 1, text};
  std::uint64_t grid_size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Location below = location;
    below.pointer = append_pointer(location.pointer, is_grid ? "grid_search" : "choice");
    below.pointer = append_pointer(below.pointer, std::to_string(i));
    ++below.depth;
    (is_grid ? below.in_grid : below.in_choice) = true;
    branches.values.push_back(parse_node(values[i], below));
    grid_size = add_sizes(grid_size, branches.values.back().grid_size);
  }
  // A choice is drawn, so it is one grid point; a grid is tried value by value.
  return {std::move(branches), is_grid ? grid_size : 1};
}

SpaceNode TreeParser::from_domain(Domain domain, const Json& json, const Location& location) {
  std::optional<UserPrior> prior = parse_prior(json, domain, location.pointer, problems_);
  if (const auto* expr = std::get_if<Expr>(&domain)) {
    formula_pointers_.push_back(append_pointer(location.pointer, "expr"));
    tree_.formulas.emplace_back(location.config_pointer);
    return {SpaceNode::Formula{Expression(expr->text), location.config_pointer}};
  }
  const std::string text = shorten(json);
  if (std::holds_alternative<GridSearch>(domain)) {
    tree_.has_grid = true;
    if (location.in_choice) {
      complain(location.pointer,
               "'grid_search' cannot be inside a 'choice', because the number of trials would not "
               "be known beforehand");
    }
    return parse_branches(json["grid_search"], true, text, location);
  }
  const bool is_choice = std::holds_alternative<Choice>(domain);
  const bool conditional = location.in_choice || location.in_grid;
  const std::size_t leaf = tree_.leaves.size();
  tree_.leaves.push_back(
      {location.config_pointer, std::move(domain), text, conditional, std::move(prior)});
  if (is_choice) return parse_branches(json["choice"], false, text, location);
  return {SpaceNode::Number{leaf}};
}

/// What a name in an expression can stand for.
struct Target {
  const SpaceNode* node;
  bool is_number;
};

bool is_numeric(const Json& json) { return json.is_number() || json.is_boolean(); }

void add_targets(const SpaceNode& node, std::vector<Target>& targets) {
  if (const auto* branches = std::get_if<SpaceNode::Branches>(&node.body)) {
    for (const SpaceNode& value : branches->values) add_targets(value, targets);
  } else if (const auto* fixed = std::get_if<SpaceNode::Fixed>(&node.body)) {
    targets.push_back({&node, is_numeric(fixed->value)});
  } else {
    targets.push_back({&node, std::holds_alternative<SpaceNode::Number>(node.body) ||
                                  std::holds_alternative<SpaceNode::Formula>(node.body)});
  }
}

/// All that the dotted `name`, seen from `node`, can be in some config.
void find_targets(const SpaceNode& node, std::string_view name, std::vector<Target>& targets) {
  const auto look_in = [&](const std::string& key, const SpaceNode& child) {
    if (name == key) add_targets(child, targets);
    const bool is_below =
        name.size() > key.size() + 1 && name.starts_with(key) && name[key.size()] == '.';
    if (is_below) find_targets(child, name.substr(key.size() + 1), targets);
  };
  if (const auto* object = std::get_if<SpaceNode::Object>(&node.body)) {
    for (const auto& [key, member] : object->members) look_in(key, member);
  } else if (const auto* list = std::get_if<SpaceNode::List>(&node.body)) {
    for (std::size_t i = 0; i < list->elements.size(); ++i) {
      look_in(std::to_string(i), list->elements[i]);
    }
  } else if (const auto* branches = std::get_if<SpaceNode::Branches>(&node.body)) {
    for (const SpaceNode& value : branches->values) find_targets(value, name, targets);
  } else if (const auto* fixed = std::get_if<SpaceNode::Fixed>(&node.body)) {
    const Json* found = find_dotted(fixed->value, std::string(name));
    if (found) targets.push_back({&node, is_numeric(*found)});
  }
}

bool has_number(const std::vector<Target>& targets) {
  return std::any_of(targets.begin(), targets.end(),
                     [](const Target& target) { return target.is_number; });
}

void list_formulas(const SpaceNode& node, std::vector<const SpaceNode*>& formulas) {
  if (const auto* object = std::get_if<SpaceNode::Object>(&node.body)) {
    for (const auto& member : object->members) list_formulas(member.second, formulas);
  } else if (const auto* list = std::get_if<SpaceNode::List>(&node.body)) {
    for (const SpaceNode& element : list->elements) list_formulas(element, formulas);
  } else if (const auto* branches = std::get_if<SpaceNode::Branches>(&node.body)) {
    for (const SpaceNode& value : branches->values) list_formulas(value, formulas);
  } else if (std::holds_alternative<SpaceNode::Formula>(node.body)) {
    formulas.push_back(&node);
  }
}

void TreeParser::check_formulas() {
  std::vector<const SpaceNode*> formulas;
  list_formulas(tree_.root, formulas);
  ensure(formulas.size() == formula_pointers_.size(), "each expression has a place");
  // By formula, those whose values it certainly needs.
  std::vector<std::vector<std::size_t>> needs(formulas.size());
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    for (const auto& name :
         std::get<SpaceNode::Formula>(formulas[i]->body).expression.variables()) {
      std::vector<Target> targets;
      find_targets(tree_.root, name, targets);
      if (targets.empty()) {
        complain(formula_pointers_[i], "'expr' uses '" + name + "', which the param space lacks");
      } else if (!has_number(targets)) {
        complain(formula_pointers_[i], "'expr' uses '" + name + "', which is not a number");
      } else if (targets.size() == 1) {
        // With several targets a config may take another branch: only a single one is needed for
        // sure, so only such needs can make a circle in every config.
        const auto needed = std::find(formulas.begin(), formulas.end(), targets[0].node);
        if (needed != formulas.end()) needs[i].push_back(needed - formulas.begin());
      }
    }
  }
  // 0: not seen, 1: under way, 2: done. Meeting one that is under way closes a circle.
  std::vector<int> seen(formulas.size());
  const std::function<void(std::size_t)> visit = [&](std::size_t i) {
    seen[i] = 1;
    for (const std::size_t needed : needs[i]) {
      if (seen[needed] == 1) {
        complain(formula_pointers_[i], "'expr' needs its own value: it and '" +
                                           formula_pointers_[needed] + "' go round in a circle");
      } else if (seen[needed] == 0) {
        visit(needed);
      }
    }
    seen[i] = 2;
  };
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    if (seen[i] == 0) visit(i);
  }
}

}  // namespace

SpaceTree parse_space_tree(const Json& json, const std::string& pointer,
                           std::vector<Problem>& problems) {
  return TreeParser(problems).parse(json, pointer);
}

std::optional<bool> find_number(const SpaceTree& tree, const std::string& name) {
  std::vector<Target> targets;
  find_targets(tree.root, name, targets);
  return targets.empty() ? std::nullopt : std::optional(has_number(targets));
}

std::uint64_t multiply_sizes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 63;
  const auto product = static_cast<unsigned __int128>(a) * b;
  return product > limit ? SpaceNode::too_many : static_cast<std::uint64_t>(product);
}

std::uint64_t add_sizes(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 63;
  return a > limit || b > limit - a ? SpaceNode::too_many : a + b;
}

}  // namespace tune
