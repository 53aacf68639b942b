// Walks a value and the tree together, and finds the branch that the value came through.
#include "tuner/space/space_match.h"

#include <algorithm>

#include "tuner/base/nearest_name.h"

namespace tune {

namespace {

using Fixed = SpaceNode::Fixed;
using Object = SpaceNode::Object;
using List = SpaceNode::List;
using Number = SpaceNode::Number;
using Branches = SpaceNode::Branches;
using Formula = SpaceNode::Formula;

/// Compares values with a space: may they come from there?
class Matcher {
 public:
  struct Rules {
    bool complete = false;       ///< nothing may be left out
    bool exact = false;          ///< fixed values must be the same, not only equal
    bool formulas = true;        ///< a number may be the value of an expression
    bool within_domains = true;  ///< what is drawn must be in its domain
  };

  /// `problems`, if not null, is told what is wrong.
  Matcher(const std::vector<SpaceLeaf>& leaves, Rules rules, std::vector<Problem>* problems)
      : leaves_(leaves), rules_(rules), problems_(problems) {}

  bool fits(const SpaceNode& node, const Json& value, const std::string& pointer) {
    if (value.is_null() && !rules_.complete && !std::holds_alternative<Fixed>(node.body))
      return true;
    return std::visit([&](const auto& body) { return matches(body, value, pointer); }, node.body);
  }

 private:
  bool complain(const std::string& pointer, const std::string& sentence) {
    if (problems_) problems_->push_back({pointer, sentence});
    return false;
  }

  std::string below(const std::string& pointer, const std::string& key) const {
    return problems_ ? append_pointer(pointer, key) : pointer;
  }

  bool matches(const Fixed& fixed, const Json& value, const std::string& pointer) {
    if (rules_.exact ? is_same(fixed.value, value) : fixed.value == value) return true;
    return problems_ && complain(pointer, shorten(value) + " differs from the fixed value " +
                                              shorten(fixed.value));
  }

  bool matches(const Object& object, const Json& value, const std::string& pointer) {
    if (!value.is_object()) {
      return problems_ && complain(pointer, "an object is expected, got " + shorten(value));
    }
    bool all = !rules_.complete || value.size() == object.members.size();
    for (const auto& [key, part] : value.items()) {
      const auto member = std::find_if(object.members.begin(), object.members.end(),
                                       [&k = key](const auto& m) { return m.first == k; });
      if (member != object.members.end()) {
        all = fits(member->second, part, below(pointer, key)) && all;
      } else if (problems_) {
        std::vector<std::string> names;
        for (const auto& known : object.members) names.push_back(known.first);
        all = complain(below(pointer, key), unknown_name("hyperparameter", key, names));
      } else {
        all = false;
      }
    }
    return all;
  }

  bool matches(const List& list, const Json& value, const std::string& pointer) {
    if (!value.is_array() || value.size() != list.elements.size()) {
      return problems_ &&
             complain(pointer, "a list of " + std::to_string(list.elements.size()) +
                                   " values is expected (null for what is to be drawn), got " +
                                   shorten(value));
    }
    bool all = true;
    for (std::size_t i = 0; i < value.size(); ++i) {
      all = fits(list.elements[i], value[i], below(pointer, std::to_string(i))) && all;
    }
    return all;
  }

  bool matches(const Number& number, const Json& value, const std::string& pointer) {
    const SpaceLeaf& leaf = leaves_[number.leaf];
    if (rules_.within_domains ? contains(leaf.domain, value) : value.is_number()) return true;
    return problems_ && complain(pointer, shorten(value) + " cannot be drawn from " + leaf.text);
  }

  bool matches(const Branches& branches, const Json& value, const std::string& pointer) {
    if (!rules_.within_domains) return true;
    Matcher quiet(leaves_, rules_, nullptr);
    for (const SpaceNode& branch : branches.values) {
      if (quiet.fits(branch, value, pointer)) return true;
    }
    return problems_ &&
           complain(pointer, shorten(value) + " is none of the values of " + branches.text);
  }

  bool matches(const Formula&, const Json& value, const std::string& pointer) {
    if (rules_.formulas && value.is_number()) return true;
    return problems_ && complain(pointer, "a number is expected, got " + shorten(value));
  }

  const std::vector<SpaceLeaf>& leaves_;
  const Rules rules_;
  std::vector<Problem>* const problems_;
};

}  // namespace

std::optional<std::size_t> find_branch(const std::vector<SpaceLeaf>& leaves,
                                       const SpaceNode::Branches& branches, const Json& value) {
  const auto find = [&](Matcher::Rules rules) -> std::optional<std::size_t> {
    Matcher matcher(leaves, rules, nullptr);
    for (std::size_t i = 0; i < branches.values.size(); ++i) {
      if (matcher.fits(branches.values[i], value, "")) return i;
    }
    return std::nullopt;
  };
  for (const bool complete : {true, false}) {
    if (!complete && value.is_null()) break;
    for (const bool formulas : {false, true}) {
      for (const bool exact : {true, false}) {
        if (const auto found = find({complete, exact, formulas})) return found;
      }
    }
  }
  if (value.is_null()) return std::nullopt;
  return find({.complete = true, .within_domains = false});
}

std::vector<Problem> match(const SpaceTree& tree, const Json& value) {
  std::vector<Problem> problems;
  Matcher(tree.leaves, {}, &problems).fits(tree.root, value, "");
  return problems;
}

}  // namespace tune
