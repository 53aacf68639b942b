// What the console shows, to the letter.
#include "callbacks/console_table.h"

#include <limits>

#include "tests/support/catch.h"

using namespace tune;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + '\n';
  return text;
}

ConsoleView example() {
  ConsoleView view;
  view.name = "digits";
  view.metrics = {"val_loss"};
  view.elapsed = 3725;
  view.running = 5;
  view.waiting = 2;
  view.completed = 8;
  view.pruned = 3;
  view.stopped = 1;
  view.failed = 1;
  view.total = 20;
  view.results_per_s = 45.25;
  view.resources = {{"cpu", 5, 8}, {"gpu", 2.5, 4}};
  view.best = BestTrial{"trial_00004", "lr=0.01,hidden=32", 17, 0.03125};
  for (int i = 0; i < 5; ++i) {
    RunningTrial trial;
    trial.trial = "trial_0001" + std::to_string(i);
    trial.tag = "lr=0.0" + std::to_string(i) + ",hidden=64,activation=relu";
    trial.iteration = i * 7;
    trial.time_s = 61 * i;
    trial.values = {i > 0 ? std::optional(1.0 / i) : std::nullopt};
    if (i > 1) trial.checkpoint = std::to_string(i * 5);
    view.trials.push_back(trial);
  }
  return view;
}

}  // namespace

TEST_CASE("The view of an experiment is a table of fixed width", "[callbacks][console]") {
  CHECK(joined(render_view(example(), {72, false}, 40)) ==
        "digits  1:02:05  45.2 results/s  cpu 5/8  gpu 2.5/4\n"
        "5 running, 2 waiting, 8 completed, 3 pruned, 1 stopped, 1 failed of 20\n"
        "best val_loss 0.03125 by trial_00004 at iteration 17 (lr=0.01,hidden=32)\n"
        "\n"
        "trial        iteration  val_loss  checkpoint     time  config\n"
        "trial_00010          0         -           -  0:00:00  lr=0.00,hidden...\n"
        "trial_00011          7         1           -  0:01:01  lr=0.01,hidden...\n"
        "trial_00012         14       0.5          10  0:02:02  lr=0.02,hidden...\n"
        "trial_00013         21  0.333333          15  0:03:03  lr=0.03,hidden...\n"
        "trial_00014         28      0.25          20  0:04:04  lr=0.04,hidden...\n");
}

TEST_CASE("An iteration that may be a later one says so", "[callbacks][console]") {
  ConsoleView view = example();
  view.best->is_guess = view.trials[2].is_guess = true;
  CHECK_THAT(best_line(view), Catch::Matchers::Contains("by trial_00004 at iteration 17 or later"));
  const std::string text = joined(render_view(view, {100, false}, 40));
  CHECK_THAT(text, Catch::Matchers::Contains("\ntrial_00012  14 or later "));
  CHECK_THAT(text, Catch::Matchers::Contains("\ntrial_00013           21 "));
}

TEST_CASE("What the next trial waits for stands in the line and in the table",
          "[callbacks][console]") {
  ConsoleView view = example();
  view.waits_for = "disk space (5 MiB of 256 MiB)";
  CHECK_THAT(status_line(view),
             Catch::Matchers::Contains("| waits for: disk space (5 MiB of 256 MiB) |"));
  CHECK_THAT(joined(render_view(view, {72, false}, 40)),
             Catch::Matchers::Contains("\nwaits for: disk space (5 MiB of 256 MiB)\n"));
}

TEST_CASE("The view names a trial whose saves have failed three times in a row",
          "[callbacks][console]") {
  ConsoleView view = example();
  view.trials[3].failed_saves = 2;
  view.trials[4].failed_saves = 3;
  const std::string text = joined(render_view(view, {72, false}, 40));
  CHECK(text.find("no save x3") != std::string::npos);
  CHECK(text.find("no save x2") == std::string::npos);
}

TEST_CASE("The view fits every width and height that a terminal may have", "[callbacks][console]") {
  for (int width = 1; width <= 100; ++width) {
    for (int height = 1; height <= 14; ++height) {
      const auto lines = render_view(example(), {width, false}, height);
      REQUIRE(lines.size() <= static_cast<std::size_t>(height));
      for (const auto& line : lines) REQUIRE(line.size() <= static_cast<std::size_t>(width));
    }
  }
}

TEST_CASE("The view says how many running trials it has no room for", "[callbacks][console]") {
  const auto lines = render_view(example(), {72, false}, 8);
  REQUIRE(lines.size() == 8);
  CHECK(lines[6].starts_with("trial_00011"));
  CHECK(lines[7] == "and 3 more running");
  CHECK(render_view(example(), {72, false}, 6).size() == 3);
}

TEST_CASE("Text is cut at characters and shows no control characters", "[callbacks][console]") {
  CHECK(fit("h\u00e9llo w\u00f6rld", {8, true}) == "h\u00e9llo w\u2026");
  CHECK(fit("h\u00e9llo w\u00f6rld", {8, false}) == "h?llo...");
  CHECK(fit("h\u00e9llo", {5, true}) == "h\u00e9llo");
  CHECK(fit("a\033[2Jb\tc\nd\x7f", {80, true}) == "a [2Jb c d ");
  CHECK(fit("abc", {2, false}).size() <= 2);
}

TEST_CASE("Values are short: metrics, durations, and a status in one line",
          "[callbacks][console]") {
  CHECK(format_metric(0.123456789) == "0.123457");
  CHECK(format_metric(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(format_duration(359999.9) == "99:59:59");
  CHECK(status_line(example()) ==
        "1:02:05 5 running, 2 waiting, 8 completed, 3 pruned, 1 stopped, 1 failed of 20 | "
        "45.2 results/s | cpu 5/8, gpu 2.5/4 | best val_loss 0.03125 by trial_00004 at iteration "
        "17 (lr=0.01,hidden=32)");
}

TEST_CASE("The view says when all is over, what is left of the budget, and who has which GPU",
          "[callbacks][console]") {
  ConsoleView view = example();
  view.end = {.remaining_s = 11400, .reason = "13 of 20 trials ended"};
  view.budget_left_s = 14400;
  view.trials[1].gpus = "0,1";
  CHECK(status_line(view).find(" | about 3 h 10 min left, 4 h of the time budget | best") !=
        std::string::npos);
  const std::string text = joined(render_view(view, {100, false}, 40));
  CHECK(text.find("\nends in about 3 h 10 min: 13 of 20 trials ended\n") != std::string::npos);
  CHECK(text.find("  0,1  ") != std::string::npos);
  view.end = {.remaining_s = 14400, .is_bound = true, .reason = "the time budget is over then"};
  CHECK(status_line(view).find(" | at most 4 h left | best") != std::string::npos);
}
