// Two searchers, one after the other.
#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

/// Suggests its name, and keeps a list of what it is told.
class Listener : public Searcher {
 public:
  explicit Listener(std::string name) : name_(std::move(name)) {}

  Answer suggest(TrialId) override { return Suggestion{{{"from", name_}}, name_}; }
  void on_trial_add(TrialId id, const std::string&) override { note("add", id); }
  void on_result(TrialId id, const Observation&) override { note("result", id); }
  void on_trial_pause(TrialId id, const Observation&) override { note("pause", id); }
  void on_trial_end(TrialId id, const Observation&, Ended) override { note("end", id); }
  Json save() const override { return told_; }
  void load(const Json& state) override {
    if (!state.is_array()) throw user_error("not a list");
    told_ = state;
  }

 private:
  void note(const char* what, TrialId id) {
    told_.push_back(std::string(what) + " " + std::to_string(index_of(id)));
  }

  const std::string name_;
  Json told_ = Json::array();
};

std::unique_ptr<Searcher> listeners(std::int64_t switch_after) {
  return make_stages(std::make_unique<Listener>("first"), switch_after,
                     std::make_unique<Listener>("then"));
}

/// Trial `id`, from its suggestion to its end. Returns who suggested it.
std::string live(Searcher& searcher, std::uint32_t id) {
  const Json config = next_config(searcher, id);
  searcher.on_trial_add(TrialId(id), config.dump());
  searcher.on_result(TrialId(id), {1, {0}});
  searcher.on_trial_pause(TrialId(id), {1, {0}});
  searcher.on_trial_end(TrialId(id), {2, {0}}, Ended::complete);
  return config.at("from");
}

}  // namespace

TEST_CASE("After so many suggestions another searcher goes on, which was told everything",
          "[stages]") {
  const auto searcher = listeners(2);
  std::vector<std::string> from;
  for (std::uint32_t id = 0; id < 4; ++id) from.push_back(live(*searcher, id));
  CHECK(from == std::vector<std::string>{"first", "first", "then", "then"});
  const Json told = searcher->save().at("then");
  CHECK(told.size() == 16);
  CHECK(told[2] == "pause 0");
  CHECK(searcher->save().at("first").is_null());  // nothing that a snapshot would have to carry
}

TEST_CASE("Two stages go on from a save in either of them, and refuse half a state", "[stages]") {
  for (const std::uint32_t lived : {1u, 3u}) {
    const auto one = listeners(2), two = listeners(2);
    for (std::uint32_t id = 0; id < lived; ++id) live(*one, id);
    const Json state = one->save();
    two->load(state);
    CHECK(two->save() == state);
    for (std::uint32_t id = lived; id < 5; ++id) CHECK(live(*one, id) == live(*two, id));
    CHECK(two->save() == one->save());
  }
  const auto searcher = listeners(2);
  live(*searcher, 0);
  const Json before = searcher->save();
  Json half = before;
  half["first"] = nullptr;
  half["then"] = Json::array();
  CHECK_THROWS_AS(searcher->load(half), Error);
  CHECK(searcher->save() == before);
}

TEST_CASE("stages suggests what gp would, and then not", "[stages]") {
  const Json plane = {{"x", {{"uniform", {-5, 5}}}}, {"y", {{"uniform", {-5, 5}}}}};
  const auto gp = make_searcher("gp", plane, -1);
  const auto stages = make_searcher("stages", plane, -1, {{"switch_after", 15}});
  for (std::uint32_t id = 0; id < 20; ++id) {
    const Json config = next_config(*stages, id);
    CAPTURE(id);
    CHECK((config == next_config(*gp, id)) == (id < 15));
    for (Searcher* const each : {gp.get(), stages.get()}) {
      each->on_trial_add(TrialId(id), config.dump());
      each->on_trial_end(TrialId(id), {1, {-config["x"].get<double>()}}, Ended::complete);
    }
  }
  CHECK_THROWS_AS(make_searcher("stages", plane, -1, {{"switch_after", 0}}), OptionError);
}
