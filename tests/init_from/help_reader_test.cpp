// What is found in help texts that real programs have printed, and in what is none.
#include "tuner/init_from/help_reader.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/init_from/domain_guess.h"

using namespace tune;

namespace {

std::string recorded_help(const std::string& name) {
  std::ifstream file(std::string(TUNE_RECORDED_HELP) + "/" + name + ".txt");
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

ProgramHelp read_recorded(const std::string& name) { return read_help(recorded_help(name)); }

/// The option with that name among its names.
HelpOption option_of(const ProgramHelp& help, const std::string& name) {
  for (const HelpOption& option : help.options) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) {
      return option;
    }
  }
  FAIL("no option " + name);
  return {};
}

std::vector<std::string> names_of(const ProgramHelp& help) {
  std::vector<std::string> names;
  for (const HelpOption& option : help.options) names.push_back(option.names.back());
  return names;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("argparse of 3.9 and of 3.13 says the same in two ways", "[plain][help]") {
  for (const std::string version : {"argparse_3_9", "argparse_3_13"}) {
    const ProgramHelp help = read_recorded(version);
    CHECK(help.options.size() == 19);
    CHECK(help.positionals == Words{"data"});
    CHECK(help.commands.empty());
    const HelpOption batch = option_of(help, "--batch-size");
    CHECK(batch.names == Words{"-b", "--batch-size"});
    CHECK(batch.takes_value);
    CHECK_FALSE(batch.takes_several);
    CHECK(batch.default_value == "64");
    CHECK(option_of(help, "--wd").names == Words{"--weight_decay", "--wd"});
    CHECK(option_of(help, "--lr").default_value == "1.0");
    CHECK_FALSE(option_of(help, "--save-model").takes_value);
    CHECK(option_of(help, "--optimizer").choices == Words{"sgd", "adam", "adamw"});
    CHECK(option_of(help, "--layers").choices == Words{"1", "2", "4"});
  }
}

TEST_CASE("Help that is wrapped belongs to its option, and groups are read, too", "[plain][help]") {
  const ProgramHelp help = read_recorded("argparse_3_9");
  CHECK(option_of(help, "--wd").default_value == "0.0001");
  CHECK(option_of(help, "--output-dir").text == "where checkpoints are written");
  CHECK(option_of(help, "--num-workers").text.empty());
}

TEST_CASE("What is said of an option may name another one", "[plain][help]") {
  const ProgramHelp help = read_recorded("argparse_3_9");
  const HelpOption long_one = option_of(help, "--a-very-long-option-name-for-dropout");
  CHECK(long_one.text == "drop, see --lr: 0.1");
  const ProgramHelp wrapped = read_help(
      "options:\n  --warmup STEPS        steps until the rate is that of\n"
      "                        --lr 0.1 (default: 5)\n  --lr LR\n");
  CHECK(names_of(wrapped) == Words{"--warmup", "--lr"});
  CHECK(option_of(wrapped, "--warmup").default_value == "5");
  // An example at the end is no second option.
  CHECK(read_help("  --lr LR  rate\n\nexample:\n  --lr 0.1 --epochs 3\n").options.size() == 1);
}

TEST_CASE("A flag has no value, and one with an opposite is known as such", "[plain][help]") {
  const HelpOption argparse = option_of(read_recorded("argparse_3_9"), "--amp");
  CHECK((argparse.has_opposite && !argparse.takes_value));
  const HelpOption click = option_of(read_recorded("click"), "--amp");
  CHECK((click.has_opposite && !click.takes_value));
  const HelpOption typer = option_of(read_recorded("typer"), "--amp");
  CHECK((typer.has_opposite && !typer.takes_value));
  const HelpOption absl = option_of(read_recorded("absl"), "--nesterov");
  CHECK((absl.has_opposite && absl.takes_value && absl.type == ValueType::boolean));
}

TEST_CASE("A flag and its opposite that stand in entries of their own are one", "[plain][help]") {
  const ProgramHelp help = read_help(
      "usage: train.py [-h] [--amp] [--no-amp] [--no-cuda]\n\noptions:\n"
      "  -h, --help  show this help message and exit\n"
      "  --amp       mixed precision\n  --no-amp    full precision\n  --no-cuda   on the CPU\n");
  REQUIRE(help.options.size() == 2);
  CHECK(help.options[0].names == std::vector<std::string>{"--amp"});
  CHECK(help.options[0].has_opposite);
  CHECK(help.options[1].names == std::vector<std::string>{"--no-cuda"});
  CHECK_FALSE(help.options[1].has_opposite);
}

TEST_CASE("Lists in words of their own are told from single values", "[plain][help]") {
  CHECK(option_of(read_recorded("argparse_3_9"), "--hidden-sizes").takes_several);
  CHECK(option_of(read_recorded("click"), "--betas").takes_several);
  CHECK_FALSE(option_of(read_recorded("click"), "--dropout").takes_several);
  CHECK_FALSE(option_of(read_recorded("hugging_face"), "--fp16").takes_several);
  CHECK(option_of(read_help("  --pair X Y  two\n"), "--pair").takes_several);
}

TEST_CASE("ArgumentDefaultsHelpFormatter says each default", "[plain][help]") {
  const ProgramHelp help = read_recorded("argparse_defaults");
  CHECK(option_of(help, "--learning-rate").default_value == "0.0003");
  CHECK(option_of(help, "--clip").default_value == "None");
  CHECK(option_of(help, "--nesterov").default_value == "False");
  CHECK_FALSE(option_of(help, "--layers").default_value);
}

TEST_CASE("Commands are no options", "[plain][help]") {
  CHECK(read_recorded("argparse_commands").commands == Words{"train", "eval"});
  CHECK(read_recorded("argparse_commands").positionals.empty());
  CHECK(read_recorded("click_commands").commands == Words{"eval", "train"});
  // A positional argument of few values has no dots behind it.
  const ProgramHelp choice =
      read_help("usage: t [-h] {a,b}\n\npositional arguments:\n  {a,b}  which one\n");
  CHECK(choice.commands.empty());
  CHECK(choice.positionals == Words{"{a,b}"});
}

TEST_CASE("Arguments without a name are required where the usage has no brackets around them",
          "[plain][help]") {
  const auto required = [](const std::string& usage, const std::string& entries) {
    return read_help("usage: t " + usage + "\n\npositional arguments:\n" + entries)
        .required_positionals;
  };
  CHECK(required("[-h] --out OUT data [more ...]", "  data  where\n  more  others\n") ==
        Words{"data"});
  CHECK(required("[-h] files [files ...]", "  files  which\n") == Words{"files"});
  CHECK(required("[-h] [data]", "  data  where\n").empty());
  CHECK(required("[-h] --data data", "  data  where\n").empty());
  CHECK(read_recorded("argparse_3_13").required_positionals == Words{"data"});
  CHECK(read_recorded("click").required_positionals == Words{"DATA"});
  CHECK(read_recorded("typer").required_positionals == Words{"data"});
  CHECK(read_recorded("argparse_commands").required_positionals.empty());
  CHECK(read_recorded("click_commands").required_positionals.empty());
}

TEST_CASE("click says types, ranges, defaults and what is required", "[plain][help]") {
  const ProgramHelp help = read_recorded("click");
  CHECK(option_of(help, "--lr").type == ValueType::real);
  CHECK(option_of(help, "--lr").default_value == "0.1");
  CHECK(option_of(help, "--seed").type == ValueType::integer);
  const HelpOption dropout = option_of(help, "--dropout");
  CHECK(dropout.default_value == "0.5");
  CHECK(dropout.lower == 0);
  CHECK(dropout.upper == 0.9);
  CHECK(option_of(help, "--optimizer").choices == Words{"sgd", "adam"});
  CHECK(option_of(help, "--optimizer").default_value == "sgd");
  CHECK(option_of(help, "--scale").is_required);
  CHECK_FALSE(option_of(help, "--lr").is_required);
}

TEST_CASE("typer's and tyro's frames are seen through", "[plain][help]") {
  const ProgramHelp typer = read_recorded("typer");
  CHECK(typer.positionals == Words{"data"});
  CHECK(option_of(typer, "--lr").type == ValueType::real);
  const HelpOption batch = option_of(typer, "--batch-size");
  CHECK(batch.names == Words{"--batch-size", "-b"});
  CHECK(batch.type == ValueType::integer);
  CHECK(batch.lower == 1);
  CHECK(batch.upper == 512);
  CHECK(batch.default_value == "32");
  CHECK(option_of(typer, "--scale").is_required);
  const ProgramHelp tyro = read_recorded("tyro");
  CHECK(option_of(tyro, "--lr").default_value == "0.1");
  CHECK(option_of(tyro, "--layers").type == ValueType::integer);
}

TEST_CASE("absl, jsonargparse, Hugging Face, Go and C are read", "[plain][help]") {
  const ProgramHelp absl = read_recorded("absl");
  CHECK(option_of(absl, "--learning_rate").default_value == "0.1");
  CHECK(option_of(absl, "--learning_rate").type == ValueType::real);
  CHECK(option_of(absl, "--batch_size").type == ValueType::integer);
  CHECK(option_of(absl, "--optimizer").choices == Words{"sgd", "adam"});
  CHECK(option_of(absl, "--workdir").takes_value);
  const ProgramHelp json = read_recorded("jsonargparse");
  CHECK(option_of(json, "--layers").type == ValueType::integer);
  CHECK(option_of(json, "--layers").default_value == "2");
  const ProgramHelp hugging_face = read_recorded("hugging_face");
  CHECK(option_of(hugging_face, "--learning_rate").default_value == "5e-05");
  CHECK(option_of(hugging_face, "--model_name").is_required);
  const ProgramHelp go = read_recorded("go");
  CHECK(option_of(go, "--lr").default_value == "0.1");  // by one hyphen or by two
  CHECK(option_of(go, "--layers").default_value == "2");
  CHECK_FALSE(option_of(go, "--nesterov").takes_value);
  const ProgramHelp gnu = read_recorded("gnu");
  CHECK(option_of(gnu, "--lr").names == Words{"-l", "--lr"});
  CHECK(option_of(gnu, "--lr").default_value == "0.1");
  CHECK(option_of(gnu, "--layers").default_value == "3");
  CHECK(option_of(gnu, "--momentum").default_value == "0.9");
  CHECK(name_for_args(option_of(gnu, "-n"), gnu.form) == std::nullopt);
}

TEST_CASE("Defaults are found as people write them", "[plain][help]") {
  const auto default_of = [](const std::string& text) {
    return option_of(read_help("  --x X  " + text + "\n"), "--x").default_value;
  };
  CHECK(default_of("size (default: 0.1)") == "0.1");
  CHECK(default_of("size (default 0.1)") == "0.1");
  CHECK(default_of("size [default: 0.1]") == "0.1");
  CHECK(default_of("size (default=0.1)") == "0.1");
  CHECK(default_of("size, default: 0.1.") == "0.1");
  CHECK(default_of("size; defaults to 0.1, which is good") == "0.1");
  CHECK(default_of("size. Default is 3") == "3");
  CHECK(default_of("(type: float, default: 0.1)") == "0.1");
  CHECK(default_of("the default one (default: 'b')") == "b");
  CHECK(default_of("list (default: [1, 2])") == "[1, 2]");
  CHECK(default_of("size [0.1]") == "0.1");
  CHECK(default_of("uses the default of the library") == std::nullopt);
  CHECK(default_of("see [1] for this") == std::nullopt);
}

TEST_CASE("What the usage has outside of brackets is required", "[plain][help]") {
  const ProgramHelp help = read_help(
      "usage: train.py [-h] --lr LR [--layers LAYERS]\n                (--a A | --b B)\n\n"
      "options:\n  --lr LR\n  --layers LAYERS\n  --a A\n");
  CHECK(option_of(help, "--lr").is_required);
  CHECK_FALSE(option_of(help, "--layers").is_required);
  CHECK_FALSE(option_of(help, "--a").is_required);
}

TEST_CASE("Colours are no part of a name", "[plain][help]") {
  const ProgramHelp help = read_help(
      "\x1b[1;34moptions:\x1b[0m\n  \x1b[1;36m--lr\x1b[0m \x1b[1;33mLR\x1b[0m  rate (default: "
      "0.1)\n");
  CHECK(option_of(help, "--lr").default_value == "0.1");
}

TEST_CASE("Where there is no help nothing is found, and nothing takes long", "[plain][help]") {
  CHECK(read_help("").options.empty());
  CHECK(read_help("epoch 1 - loss: 0.3\nTraceback (most recent call last):\n").options.empty());
  CHECK(read_help(std::string("  --lr LR\0  rate\n", 16)).options.empty());
  CHECK(read_help("usage: t.py [-h] --lr LR\nt.py: error: --lr is required\n").options.empty());
  std::string noise(1 << 20, ' ');
  unsigned state = 1;
  for (char& c : noise)
    c = static_cast<char>(1 + ((state = state * 1664525 + 1013904223) >> 24) % 255);
  read_help(noise);
  constexpr std::size_t long_line = 10'000'000;
  read_help(std::string(long_line, 'x'));
  for (const std::string piece :
       {"--lr ", "  --a, -b / ", "{[<(", "-a, ", "  --x X  (default: ", "│ "}) {
    std::string text = "  ";
    while (text.size() < (1 << 20)) text += piece;
    CHECK(read_help(text).options.size() <= 1);
  }
  std::string many;
  for (int i = 0; i < 50'000; ++i)
    many += "  --x" + std::to_string(i) + " X  default default (((\n";
  CHECK(read_help(many).options.size() <= 1000);
}

TEST_CASE("A program whose options have one hyphen has no others", "[plain][help]") {
  const ProgramHelp help = read_recorded("argparse_single_hyphen");
  CHECK(help.form == OptionForm::single_hyphen);
  CHECK(names_of(help) == Words{"-lr", "-batch-size", "-hidden", "-bn", "-checkpoint"});
  CHECK(name_for_args(option_of(help, "-batch-size"), help.form) == "batch-size");
  CHECK(option_of(help, "-hidden").takes_several);
  CHECK(guess_domain(option_of(help, "-lr")).role == OptionRole::learning_rate);
  CHECK(read_recorded("argparse_3_13").form == OptionForm::two_hyphens);
  CHECK(read_recorded("go").form == OptionForm::two_hyphens);
}

TEST_CASE("A list in Hydra's config is one option, whatever its items are", "[plain][help]") {
  const ProgramHelp help = read_help(
      "== Config ==\nlayers:\n- name: a\n  size: 3\n- name: b\nlr: 0.1\nopt:\n  betas:\n"
      "  - - 1\n    - 2\n  eps: 1e-8\nPowered by Hydra\n");
  CHECK(names_of(help) == Words{"layers", "lr", "opt.betas", "opt.eps"});
}

TEST_CASE("Hydra's config is read as options without hyphens, and its groups as choices",
          "[plain][help]") {
  const ProgramHelp help = read_recorded("hydra");
  CHECK(help.form == OptionForm::no_hyphens);
  CHECK(names_of(help) == Words{"db", "db.driver", "lr", "bn", "name", "steps", "layers",
                                "optimizer.type", "optimizer.betas", "optimizer.weight_decay",
                                "seed"});
  CHECK(guess_domain(option_of(help, "layers")).role == OptionRole::unknown);
  CHECK(option_of(help, "db").choices == Words{"mysql", "postgresql"});
  CHECK(option_of(help, "optimizer.weight_decay").default_value == "0.0001");
  CHECK(guess_domain(option_of(help, "lr")).role == OptionRole::learning_rate);
  CHECK(guess_domain(option_of(help, "bn")).domain == R"({"choice": [false, true]})");
  CHECK(guess_domain(option_of(help, "seed")).role == OptionRole::other);
}
