// What a policy's program says: any bytes are an answer or a refusal in words; and what is accepted
// is accepted again where it is read back. The first byte chooses the question:
//   s  suggest, d  a result to a scheduler, v  a result to a stopper, t  save;
//   r  none: each line of the rest answers one more question, those that begin with '!' come
//   unasked.
#include <cstdint>
#include <string>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/host/policy_answer.h"

namespace {

const tune::ConfigRules& rules() {
  static const tune::ConfigRules made = [] {
    std::vector<tune::Problem> problems;
    tune::ConfigRules of{tune::SearchSpace::parse(tune::Json::parse(R"({
              "x": {"uniform": [-5, 5]}, "n": {"randint": [0, 9]}, "l": [{"quniform": [0, 1, 0.25]}, 2],
              "o": {"choice": [{"k": "a", "m": {"loguniform": [1e-3, 1]}}, {"k": "b"}, null, "t", [1]]},
              "g": {"grid_search": [1, 2.5, "z"]}, "e": {"expr": "n * 2 + x"}, "d": {"randn": [0, 1]}})"),
                                                  "", problems),
                         {},
                         7};
    tune::ensure(problems.empty(), "the space is one");
    of.constraints.push_back(of.space.constraint("n * x <= 20"));
    return of;
  }();
  return made;
}

void check_config(const tune::Json& given) {
  const tune::JudgedConfig judged = tune::judge_config(given, tune::TrialId{3}, rules(), "gave");
  tune::ensure(rules().space.check_preset(judged.config.config).empty(),
               "a config that is taken is of the space");
  tune::ensure(tune::levels_of(judged.text) <= tune::most_config_levels, "a config is not deep");
  tune::ensure(tune::encode_numbers(judged.config.config) == tune::Json::parse(judged.text),
               "a config is read as it was written");
  if (!judged.unfit.empty()) return;
  const auto again =
      tune::judge_config(judged.config.config, tune::TrialId{4}, rules(), "gave again");
  tune::ensure(again.text == judged.text && again.unfit.empty(),
               "a whole config is taken as it is");
}

void check_state(const tune::Said& said) {
  const std::string state = tune::state_in(said);
  tune::AnswerReader reader;
  reader.open();
  reader.take("{\"type\":\"load\",\"state\":" + state + "}\n");
  const auto again = reader.answer();
  tune::ensure(again && tune::state_in(*again) == state, "a state is read as it was written");
}

void judge(char question, const tune::Said& said) {
  tune::ensure(tune::levels_of(said.line) <= tune::most_answer_levels, "an answer is not deep");
  if (question == 's') {
    const auto suggestion = tune::suggestion_in(said);
    if (const auto* const given = std::get_if<tune::Json>(&suggestion)) check_config(*given);
  } else if (question == 'd') {
    const auto decision = tune::decision_in(said);
    for (const auto& stop : decision.stops) {
      tune::ensure(tune::is_utf8(stop.reason), "a reason is text");
    }
    if (decision.action == tune::Action::exploit) check_config(decision.config);
  } else if (question == 'v') {
    (void)tune::verdict_in(said);
  } else if (question == 't') {
    check_state(said);
  }
}

/// A conversation: whatever is taken for an answer is one to the question that was open.
void talk(std::string_view text) {
  tune::AnswerReader reader;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with('!')) {
      reader.take(std::string(line.substr(1)) + "\n");
      tune::ensure(!reader.answer(), "what is unasked is no answer");
      reader.hear_last();
      continue;
    }
    const auto number = reader.open();
    reader.take(line);
    tune::ensure(!reader.answer(), "half a line is no answer");
    reader.take("\n");
    const auto said = reader.answer();
    if (!said) {  // it was blank, and the question is open still
      reader.take("{}\n");
      tune::ensure(reader.answer().has_value(), "a blank line is no answer");
      continue;
    }
    const auto given = said->fields.find("question");
    tune::ensure(given == said->fields.end() || given->is_null() || *given == number,
                 "a number is that of the question");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const char question = static_cast<char>(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (question == 'r') {
      talk(text);
      return 0;
    }
    tune::AnswerReader reader;
    reader.open();
    reader.take(text);
    reader.take("\n");
    if (const auto said = reader.answer()) judge(question, *said);
  } catch (const tune::BadAnswer& bad) {
    const std::string why = bad.what();
    // A trace of the program's has lines.
    tune::ensure(!why.empty() && tune::clean_text(why, tune::Lines::keep) == why,
                 "a refusal is words");
  }
  return 0;
}
