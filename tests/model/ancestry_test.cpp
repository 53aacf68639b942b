#include "tuner/model/ancestry.h"

#include <utility>

#include "tests/support/catch.h"

using namespace tune;

namespace {

std::string config(const std::string& x) { return Json{{"x", x}}.dump(); }

/// A population, told event by event. A config is named by its one value.
struct Family {
  Experiment experiment;

  Family() { then(SessionStarted{"host", 1, "test"}); }

  void then(EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
  }
  const Trial& trial(std::uint32_t i) const { return experiment.trial(TrialId{i}); }
  void add(const std::string& x) {
    const TrialId id{static_cast<std::uint32_t>(experiment.trials().size())};
    then(TrialAdded{id, config(x), "x=" + x, ""});
  }
  /// From wherever it is to start.
  void start(std::uint32_t i) {
    const auto [owner, checkpoint] = experiment.restore_point(TrialId{i});
    then(AttemptStarted{TrialId{i},
                        trial(i).attempt + 1,
                        checkpoint ? checkpoint->index : 0,
                        {},
                        owner == TrialId{i} ? std::nullopt : std::optional(owner)});
  }
  void train(std::uint32_t i, std::int64_t until) {
    while (trial(i).iteration < until) report(i, {});
  }
  void report(std::uint32_t i, Decision decision) {
    Result result;
    result.training_iteration = trial(i).iteration + 1;
    // As if a higher trial were worse, and each got worse all the time.
    result.metrics.numbers = {{"loss", i + 0.01 * static_cast<double>(result.training_iteration)}};
    result.metrics.text = "{}";
    then(ResultReported{TrialId{i}, trial(i).attempt, result, std::move(decision)});
  }
  void save(std::uint32_t i) {
    Checkpoint checkpoint;
    checkpoint.index = trial(i).saves + 1;
    checkpoint.iteration = trial(i).iteration;
    then(CheckpointCommitted{TrialId{i}, checkpoint});
  }
  /// With a count that begins at one: nothing tells it.
  void guess(std::uint32_t i) {
    Result result;
    result.training_iteration = trial(i).iteration + 1;
    result.iteration_is_guess = true;
    result.metrics.text = "{}";
    then(ResultReported{TrialId{i}, trial(i).attempt, result, {}});
  }
  void train_and_save(std::uint32_t i, std::int64_t until) {
    train(i, until);
    save(i);
  }
  void end(std::uint32_t i, Outcome outcome = Outcome::completed) {
    then(AttemptEnded{TrialId{i}, trial(i).attempt, outcome, "", false});
  }
  /// With its next result; it has not started as a clone yet.
  void exploit(std::uint32_t i, std::uint32_t donor, const std::string& x) {
    report(i, {.action = Action::exploit, .exploit = Exploit{TrialId{donor}, config(x), "x=" + x}});
    end(i, Outcome::exploiting);
  }
  /// As a snapshot of it is read.
  Family reloaded() const {
    Family loaded;
    loaded.experiment = Experiment();
    for (const Trial& each : experiment.trials()) {
      std::string line;
      experiment.append_trial(line, each.id);
      loaded.experiment.load_trial(line);
    }
    loaded.experiment.load_totals(experiment.save_totals({}));
    return loaded;
  }
  /// "0:a 0-4, 1:b 4-9"
  std::string schedule(std::uint32_t i) const {
    std::string text;
    for (const auto& step : schedule_of(experiment, TrialId{i})) {
      text += (text.empty() ? "" : ", ") + std::to_string(index_of(step.stretch.trial)) + ":" +
              Json::parse(config_of(experiment, step.stretch))["x"].get<std::string>() + " " +
              iteration_text(step.from, step.from_is_guess) + "-" +
              iteration_text(step.to, step.to_is_guess);
    }
    return text;
  }
};

Family family_of(int n) {
  Family family;
  for (int i = 0; i < n; ++i) {
    family.add(std::string(1, static_cast<char>('a' + i)));
    family.start(static_cast<std::uint32_t>(i));
  }
  return family;
}

}  // namespace

TEST_CASE("A trial that was never cloned has one config from the first iteration on",
          "[ancestry]") {
  Family family = family_of(1);
  CHECK(family.schedule(0) == "0:a 0-0");
  family.train(0, 3);
  CHECK(family.schedule(0) == "0:a 0-3");
  CHECK(started_clonings(family.experiment).empty());
}

TEST_CASE("A clone's schedule is its donor's up to the checkpoint, then its own", "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(0, 4);
  family.train(1, 2);
  family.exploit(1, 0, "B");
  // As long as it waits, it is what it was.
  CHECK(family.schedule(1) == "1:b 0-3");
  CHECK(started_clonings(family.experiment).empty());
  CHECK(Json::parse(present_config(family.trial(1)))["x"] == "b");
  family.train(0, 6);
  family.start(1);
  CHECK(Json::parse(present_config(family.trial(1)))["x"] == "B");
  CHECK(family.schedule(1) == "0:a 0-4, 1:B 4-4");
  family.train(1, 9);
  CHECK(family.schedule(1) == "0:a 0-4, 1:B 4-9");
  CHECK(family.schedule(0) == "0:a 0-6");
  CHECK(started_clonings(family.experiment) == std::vector<Stretch>{{TrialId{1}, 1}});
  CHECK(last_iteration(family.experiment, {TrialId{1}, 0}) == 3);
}

TEST_CASE("A schedule says which of its iterations may be later ones", "[ancestry]") {
  Family family = family_of(3);
  family.train_and_save(0, 4);
  family.guess(0);
  family.save(0);
  family.train(1, 2);
  family.exploit(1, 0, "B");
  family.start(1);
  const std::string donated = "0:a 0-5 or later, ";
  CHECK(family.schedule(1) == donated + "1:B 5 or later-5 or later");
  family.train_and_save(1, 7);  // it counts itself
  CHECK(family.schedule(1) == donated + "1:B 5 or later-7");
  family.guess(1);
  family.exploit(2, 1, "C");
  family.start(2);
  const std::string present = donated + "1:B 5 or later-7, 2:C 7-7";
  CHECK(family.schedule(2) == present);
  // What it was ends with its clonings; so says its snapshot, and when its guesses are long gone.
  family.guess(2);
  family.exploit(2, 0, "D");
  family.start(2);
  family.end(2, Outcome::interrupted);
  const Family loaded = family.reloaded();
  for (const Family* each : {static_cast<const Family*>(&family), &loaded}) {
    CHECK(each->schedule(2) == donated + "2:D 5 or later-5 or later");
    CHECK_FALSE(last_is_guess(each->experiment, {TrialId{2}, 0}));
    CHECK_FALSE(first_is_guess(each->experiment, {TrialId{2}, 1}));
    CHECK(first_is_guess(each->experiment, {TrialId{2}, 2}));
  }
}

TEST_CASE("A donor that was itself a clone hands on where it came from", "[ancestry]") {
  Family family = family_of(3);
  family.train_and_save(0, 4);
  family.train(1, 2);
  family.exploit(1, 0, "B");
  family.start(1);
  family.train_and_save(1, 8);
  family.exploit(2, 1, "C");
  family.start(2);
  family.train(2, 10);
  CHECK(family.schedule(2) == "0:a 0-4, 1:B 4-8, 2:C 8-10");
}

TEST_CASE("What becomes of a donor after the checkpoint is none of its clone's past",
          "[ancestry]") {
  Family family = family_of(3);
  family.train_and_save(0, 4);
  family.train_and_save(2, 6);
  family.train(1, 2);
  family.exploit(1, 0, "B");
  // Before the clone starts, its donor has become a clone itself, and has saved again.
  family.exploit(0, 2, "A");
  family.start(0);
  family.train_and_save(0, 9);
  family.start(1);
  family.train(1, 7);
  CHECK(family.schedule(1) == "0:a 0-4, 1:B 4-7");
  CHECK(family.schedule(0) == "2:c 0-6, 0:A 6-9");
}

TEST_CASE("What a trial and those whose copy it is have reported lies in one range", "[ancestry]") {
  Family family = family_of(3);
  const auto range = [&](std::uint32_t i) {
    const auto found = reported_range(family.experiment, TrialId{i}, "loss");
    return found ? std::pair(found->least, found->greatest) : std::pair(-1.0, -1.0);
  };
  CHECK(range(0) == std::pair(-1.0, -1.0));
  family.train_and_save(0, 4);
  family.train(1, 2);
  CHECK(range(1) == std::pair(1.01, 1.02));
  family.exploit(1, 0, "B");
  CHECK(range(1).first > 1);  // it is no copy yet
  family.start(1);
  CHECK(range(1).first == 0.01);
  CHECK(range(0).second == 0.04);
  CHECK_FALSE(reported_range(family.experiment, TrialId{1}, "accuracy"));
}

TEST_CASE("A clone that waited for its donor's save has what the donor had become by then",
          "[ancestry]") {
  Family family = family_of(3);
  family.train_and_save(2, 6);
  family.train(1, 2);
  family.exploit(1, 0, "B");  // the first has saved nothing yet
  family.exploit(0, 2, "A");
  family.start(0);
  family.train_and_save(0, 8);
  family.start(1);
  family.train(1, 9);
  CHECK(family.schedule(1) == "2:c 0-6, 0:A 6-8, 1:B 8-9");
}

TEST_CASE("The clone of a trial that has not trained as a clone yet is one of that one's donor",
          "[ancestry]") {
  Family family = family_of(3);
  family.train_and_save(0, 4);
  family.exploit(1, 0, "B");
  family.exploit(2, 1, "C");
  family.start(2);
  family.train(2, 5);
  CHECK(family.schedule(2) == "0:a 0-4, 2:C 4-5");
  CHECK(family.trial(2).lineage.front().donor == TrialId{0});
}

TEST_CASE("Trials that are copies of each other in turn have schedules that end", "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(0, 2);
  family.train(1, 1);
  family.exploit(1, 0, "B");
  family.start(1);
  family.train_and_save(1, 4);
  family.exploit(0, 1, "A");
  family.start(0);
  family.train_and_save(0, 6);
  family.exploit(1, 0, "BB");
  family.start(1);
  family.train(1, 8);
  CHECK(family.schedule(1) == "0:a 0-2, 1:B 2-4, 0:A 4-6, 1:BB 6-8");
  CHECK(family.schedule(0) == "0:a 0-2, 1:B 2-4, 0:A 4-6");
  CHECK(started_clonings(family.experiment) ==
        std::vector<Stretch>{{TrialId{1}, 1}, {TrialId{0}, 1}, {TrialId{1}, 2}});
}

TEST_CASE("A trial that was restarted from scratch has no past, but its old clones have",
          "[ancestry]") {
  Family family = family_of(3);
  family.train_and_save(0, 4);
  family.exploit(1, 0, "B");
  family.start(1);
  family.train_and_save(1, 6);
  family.exploit(2, 1, "C");
  family.start(2);
  family.train(2, 7);
  family.end(1, Outcome::failed);
  family.then(TrialRequeued{TrialId{1}, true});
  family.start(1);
  family.train_and_save(1, 5);
  CHECK(family.schedule(1) == "1:B 0-5");
  CHECK(family.schedule(2) == "0:a 0-4, 1:B 4-6, 2:C 6-7");
  // And who copies it now has the new one.
  family.exploit(0, 1, "A");
  family.start(0);
  family.train(0, 6);
  CHECK(family.schedule(0) == "1:B 0-5, 0:A 5-6");
}

TEST_CASE("A clone whose donor never saved goes on from what it has itself", "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(1, 2);
  family.exploit(1, 0, "B");
  family.end(0);
  family.start(1);
  family.train(1, 5);
  CHECK(family.schedule(1) == "1:b 0-2, 1:B 2-5");
}

TEST_CASE("A clone that ended before it saved, and is taken up again, is the same clone",
          "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(0, 4);
  family.train_and_save(1, 2);
  family.exploit(1, 0, "B");
  family.start(1);
  family.train(1, 8);
  family.end(1);
  CHECK(family.schedule(1) == "0:a 0-4, 1:B 4-8");
  family.then(TrialRequeued{TrialId{1}, false});
  family.start(1);
  family.train(1, 5);
  CHECK(family.schedule(1) == "0:a 0-4, 1:B 4-5");
  family.train_and_save(1, 6);
  family.end(1, Outcome::failed);
  family.then(TrialRequeued{TrialId{1}, false});
  family.start(1);
  CHECK(started_clonings(family.experiment).size() == 1);
}

TEST_CASE("A clone that is retried before it has saved is the same clone", "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(0, 4);
  family.exploit(1, 0, "B");
  family.start(1);
  family.train(1, 6);
  family.then(AttemptEnded{TrialId{1}, family.trial(1).attempt, Outcome::failed, "", true});
  family.start(1);
  CHECK(family.schedule(1) == "0:a 0-4, 1:B 4-4");
  CHECK(started_clonings(family.experiment).size() == 1);
}

TEST_CASE("A clone whose donor's checkpoint was damaged has the one before for its past",
          "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(0, 4);
  family.train_and_save(0, 6);
  family.exploit(1, 0, "B");
  family.start(1);
  family.then(CheckpointDamaged{TrialId{0}, 2, "bad", TrialId{1}});
  family.train(1, 7);
  CHECK(family.schedule(1) == "0:a 0-4, 1:B 4-7");
  CHECK(started_clonings(family.experiment).size() == 1);
}

TEST_CASE("A trial that waits to be a clone has the tag of the config that its results are of",
          "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(0, 4);
  family.train(1, 2);
  family.exploit(1, 0, "B");
  CHECK(present_tag(family.trial(1)) == "x=b");
  CHECK(family.trial(1).tag == "x=B");
  CHECK(present_tag(family.reloaded().trial(1)) == "x=b");
  SECTION("until it has begun as one") {
    family.start(1);
    CHECK(present_tag(family.trial(1)) == "x=B");
    CHECK(family.trial(1).lineage.back().old_tag.empty());
  }
  SECTION("also where it is told to be another one before that") {
    family.then(TrialExploited{TrialId{1}, {TrialId{0}, config("C"), "x=C"}});
    CHECK(present_tag(family.trial(1)) == "x=b");
    family.start(1);
    CHECK(present_tag(family.trial(1)) == "x=C");
  }
}

TEST_CASE("The last row of a clone's own is that of the last result that it has reported itself",
          "[ancestry]") {
  Family family = family_of(2);
  const auto last_own = [&] { return last_own_iteration(family.trial(1)); };
  family.train_and_save(0, 6);
  family.train(1, 2);
  CHECK(last_own() == 2);
  family.exploit(1, 0, "B");
  CHECK(last_own() == 3);
  family.start(1);
  CHECK(last_own() == 3);  // iteration 6 is the donor's
  family.train_and_save(1, 9);
  CHECK(last_own() == 9);
  SECTION("as a clone of one that has not come so far it has the rows until there") {
    family.then(CheckpointsDropped{TrialId{0}, {1}});
    family.then(AttemptEnded{TrialId{0}, 1, Outcome::failed, "", true});
    family.start(0);
    family.train_and_save(0, 5);
    family.exploit(1, 0, "C");
    family.start(1);
    CHECK(family.trial(1).iteration == 5);
    CHECK(last_own() == 3);
  }
  SECTION("and so as itself, restored to what it had saved as a clone") {
    family.train(1, 11);
    family.end(1, Outcome::interrupted);
    family.start(1);
    CHECK(last_own() == 9);
  }
  SECTION("but what it began with is not known to be its own") {
    family.then(TrialAdded{TrialId{2}, config("c"), "", "elsewhere"});
    CHECK(last_own_iteration(family.trial(2)) == 0);
  }
}

TEST_CASE("A snapshot keeps all that a schedule is made of", "[ancestry]") {
  Family family = family_of(2);
  family.train_and_save(0, 4);
  family.exploit(1, 0, "B");
  family.start(1);
  family.train_and_save(1, 6);
  const Family loaded = family.reloaded();
  CHECK(loaded.schedule(1) == "0:a 0-4, 1:B 4-6");
  CHECK(loaded.experiment.save() == family.experiment.save());
}
