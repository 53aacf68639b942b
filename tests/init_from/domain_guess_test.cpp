// Which domains are proposed, by names and defaults.
#include "tuner/init_from/domain_guess.h"

#include <string>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// For an option as a program may describe it: "--lr LR  rate (default: 0.1)".
DomainGuess guess_of(const std::string& line) {
  const ProgramHelp help = read_help("  " + line + "\n");
  REQUIRE(help.options.size() == 1);
  return guess_domain(help.options.front());
}

std::string domain_of(const std::string& line) { return guess_of(line).domain; }
OptionRole role_of(const std::string& line) { return guess_of(line).role; }

}  // namespace

TEST_CASE("Rates and strengths are searched by their order of magnitude", "[plain][guess]") {
  CHECK(domain_of("--lr LR  (default: 0.01)") == R"({"loguniform": [0.001, 0.1]})");
  CHECK(domain_of("--learning-rate X  (default: 5e-05)") == R"({"loguniform": [5e-06, 0.0005]})");
  CHECK(domain_of("--lr LR") == R"({"loguniform": [1e-05, 0.1]})");
  CHECK(domain_of("--weight_decay W  (default: 0.0001)") == R"({"loguniform": [1e-06, 0.01]})");
  CHECK(domain_of("--weight-decay W  (default: 0.0)") == R"({"loguniform": [1e-06, 0.01]})");
  CHECK(domain_of("--l2 W  (default: 0.1)") == R"({"loguniform": [0.001, 10]})");
  CHECK(role_of("--optimizer.lr LR") == OptionRole::learning_rate);
  CHECK(role_of("--lr-decay X  (default: 0.9)") == OptionRole::hyperparameter);
}

TEST_CASE("Shares lie between 0 and 1", "[plain][guess]") {
  // With all left out nothing trains.
  for (const char* const dropout : {"--dropout P  (default: 0.1)", "--dropout P",
                                    "--drop-rate P  (default: 0)", "--attn.dropout FLOAT  some"}) {
    CHECK(domain_of(dropout) == R"({"uniform": [0, 0.9]})");
  }
  CHECK(domain_of("--momentum M") == R"({"uniform": [0, 1]})");
  CHECK(domain_of("--momentum M  (default: 0)") == R"({"uniform": [0, 1]})");
  CHECK(domain_of("--beta2 B  (default: 0.999)") == R"({"uniform": [0.9, 1]})");
  CHECK(domain_of("--gamma G  (default: 5.0)") == R"({"uniform": [2.5, 10]})");
}

TEST_CASE("Sizes go by powers of two, other numbers by a range", "[plain][guess]") {
  CHECK(domain_of("--batch-size N  (default: 64)") == R"({"choice": [16, 32, 64, 128, 256]})");
  CHECK(domain_of("--batch_size N") == R"({"choice": [16, 32, 64, 128, 256]})");
  CHECK(domain_of("--hidden N  (default: 100)") == R"({"lograndint": [25, 401]})");
  CHECK(domain_of("--layers N  (default: 2)") == R"({"randint": [1, 5]})");
  CHECK(domain_of("--layers N") == R"({"randint": [1, 9]})");
  CHECK(domain_of("--epochs N  (default: 14)") == R"({"randint": [7, 29]})");
  CHECK(domain_of("--n-estimators N") == R"({"lograndint": [50, 1001]})");
  CHECK(domain_of("--per_device_train_batch_size N  (default: 8)") ==
        R"({"choice": [2, 4, 8, 16, 32]})");
}

TEST_CASE("A number of an unknown name is searched around its default", "[plain][guess]") {
  CHECK(domain_of("--foo X  (default: 3.0)") == R"({"uniform": [1.5, 6]})");
  CHECK(domain_of("--foo X  (default: 0.001)") == R"({"loguniform": [0.0001, 0.01]})");
  CHECK(domain_of("--foo X  (default: 0.3)") == R"({"uniform": [0, 1]})");
  CHECK(domain_of("--foo X  (default: -2.0)") == R"({"uniform": [-4, 0]})");
  CHECK(domain_of("--foo X  (default: 5)") == R"({"randint": [1, 11]})");
  CHECK(domain_of("--foo FLOAT  something") == R"({"uniform": [0, 1]})");
  CHECK(domain_of("--foo INTEGER  something") == R"({"randint": [1, 11]})");
}

TEST_CASE("A proposal keeps to the range that the program states", "[plain][guess]") {
  CHECK(domain_of("--dropout FLOAT RANGE  [default: 0.5; 0<=x<=0.9]") ==
        R"({"uniform": [0, 0.9]})");
  CHECK(domain_of("--layers INTEGER RANGE  [1<=x<=4]") == R"({"randint": [1, 5]})");
  CHECK(domain_of("--batch-size INTEGER RANGE  [default: 32; 1<=x<=64]") ==
        R"({"choice": [8, 16, 32, 64]})");
  CHECK(domain_of("--dropout FLOAT RANGE  [0<=x<=0.5]") == R"({"uniform": [0, 0.5]})");
  CHECK(domain_of("--foo FLOAT RANGE  [default: 5; 5<=x<=5]").empty());
}

TEST_CASE("Choices are proposed as they are, numbers as numbers", "[plain][guess]") {
  CHECK(domain_of("--optimizer {sgd,adam}") == R"({"choice": ["sgd", "adam"]})");
  CHECK(domain_of("--layers {1,2,4}") == R"({"choice": [1, 2, 4]})");
  CHECK(domain_of("--mixed {1,2,all}") == R"({"choice": ["1", "2", "all"]})");
  CHECK(domain_of("--mask {01,02}") == R"({"choice": ["01", "02"]})");
  CHECK(role_of("--only {one}") == OptionRole::unknown);
}

TEST_CASE("Flags and booleans are told apart", "[plain][guess]") {
  CHECK(role_of("--nesterov  use it") == OptionRole::flag);
  const DomainGuess fp16 = guess_of("--fp16 [FP16]  (default: False)");
  CHECK(fp16.role == OptionRole::hyperparameter);
  CHECK(fp16.domain == R"({"choice": [false, true]})");
}

TEST_CASE("What is no hyperparameter is left out", "[plain][guess]") {
  for (const char* const line :
       {"--seed N  (default: 1)", "--num-workers N  (default: 4)", "--port N  (default: 80)",
        "--log-interval N  (default: 10)", "--data DIR", "--device {cpu,cuda}", "--verbose",
        "--test-batch-size N  (default: 1000)", "--eval_steps N  (default: 500)",
        "--local_rank N  (default: -1)"}) {
    INFO(line);
    CHECK(role_of(line) == OptionRole::other);
    CHECK(domain_of(line).empty());
  }
}

TEST_CASE("A directory to write to is known, and a number never is one", "[plain][guess]") {
  for (const char* const line : {"--output-dir DIR", "--out DIR", "--checkpoint_path PATH",
                                 "--logdir DIR  (default: runs)", "--save-dir D"}) {
    INFO(line);
    CHECK(role_of(line) == OptionRole::directory);
  }
  CHECK(domain_of("--out-channels N  (default: 32)") == R"({"choice": [8, 16, 32, 64, 128]})");
}

TEST_CASE("Nothing is proposed where nothing is known", "[plain][guess]") {
  CHECK(role_of("--foo FOO") == OptionRole::unknown);
  CHECK(role_of("--max_steps N  (default: -1)") == OptionRole::unknown);
  CHECK(role_of("--hidden-sizes N [N ...]  (default: [32, 32])") == OptionRole::unknown);
  CHECK(role_of("--activation NAME  (default: relu)") == OptionRole::unknown);
  CHECK(role_of("--steps N  (default: 99999999999)") == OptionRole::unknown);
}
