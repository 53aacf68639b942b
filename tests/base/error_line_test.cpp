// The line that says why a program failed, in what libraries really print: tests/base/stderr.
#include "tuner/base/error_line.h"

#include <fstream>
#include <iterator>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Of a file in tests/base/stderr.
ErrorLine line_of(const std::string& name) {
  std::ifstream file(std::string(TUNE_SOURCE_DIRECTORY) + "/tests/base/stderr/" + name + ".txt");
  REQUIRE(file);
  return error_line(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace

TEST_CASE("The exception is found in what libraries make of a traceback", "[core][error_line]") {
  for (const char* const name : {"typer", "hydra", "absl", "fire", "child", "torchrun"}) {
    INFO(name);
    CHECK(line_of(name).text == "ValueError: lr is too large");
  }
  const std::string broken =
      "ValueError: the learning rate 3.0 is too large for this model, which has batch "
      "normalization in each of its layers";
  CHECK(line_of("rich").text == broken);
  CHECK(line_of("rich_colours").text == broken);
  CHECK(line_of("rich_locals").text ==
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB");
  CHECK(line_of("lines").text ==
        "RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: "
        "\"fc.weight\".");
  CHECK(line_of("group").text ==
        "ExceptionGroup: workers failed (2 sub-exceptions): ValueError: lr is too large");
  CHECK(line_of("behind").text == "ZeroDivisionError: division by zero");
}

TEST_CASE("The error is found in front of a usage, and in a box", "[core][error_line]") {
  CHECK(line_of("typer_usage").text ==
        "Invalid value for '--lr': Input should be a valid number, unable to parse string as a "
        "number");
  CHECK(line_of("click_usage").text == "Error: No such option '--bogus'.");
  CHECK(line_of("fire_usage").text == "ERROR: Cannot find key: --bogus=1");
  CHECK(line_of("hydra_override").text == "Could not override 'lr'.");
  CHECK(line_of("hydra_warning").text == "Could not override 'lrr'.");
  CHECK(line_of("hydra_grammar").text == "Error parsing override '+lr'");
  CHECK(line_of("argparse").text == "argp.py: error: the following arguments are required: --lr");
  CHECK(line_of("absl_usage").text ==
        "FATAL Flags parsing error: flag --lr=x: could not convert string to float: 'x'");
}

TEST_CASE("A refused argument in front of pages of usage is the error", "[core][error_line]") {
  const std::string usage = "\nThe following arguments are optional:\n  -lr  learning rate [0.1]\n";
  for (const char* const said :
       {"Unknown argument: --lr=0.1", "train: unrecognized option '--lr=0.1'",
        "prog: invalid option -- 'z'", "illegal flag --lr", "option --lr is unknown"}) {
    CHECK(error_line(said + usage).text == said);
  }
  CHECK(error_line("no such file\n" + usage).text == "-lr  learning rate [0.1]");
}

TEST_CASE("On standard output the argument that is refused is said, or else the usage",
          "[core][error_line]") {
  const std::string usage = "Usage: train [options] file\noptions:\n-s type : solver\n-q : quiet\n";
  CHECK(usage_line(usage) == "Usage: train [options] file");
  CHECK(usage_line("Unknown option: --c\n" + usage) == "Unknown option: --c");
  CHECK(usage_line("usage: 45 % of the gpu\nepoch 3\n").empty());
  CHECK(usage_line("").empty());
}

TEST_CASE("Where nothing tells more, the error is the last line that is not blank",
          "[core][error_line]") {
  CHECK(error_line("").text.empty());
  CHECK(error_line(" \n\n").text.empty());
  const ErrorLine last = error_line("one\n two \n\n \n");
  CHECK(last.text == "two");
  CHECK(last.is_last);
  CHECK(error_line("x\n" + std::string(300, 'y')).text == std::string(200, 'y'));
  CHECK(error_line("5%\r10%\rno space left").text == "no space left");
  CHECK(line_of("typer").is_last);
  CHECK_FALSE(line_of("hydra").is_last);
}

TEST_CASE("A traceback that a program has gone on after is not why it failed",
          "[core][error_line]") {
  std::string text = "Traceback (most recent call last):\n  File \"a.py\", line 1\nOSError: busy\n";
  CHECK(error_line(text).text == "OSError: busy");
  CHECK(error_line(text + "sys:1: ResourceWarning: unclosed\n").text == "OSError: busy");
  CHECK(error_line(text + "error: no space left\n").text == "error: no space left");
  for (int i = 0; i < 30; ++i) text += "epoch " + std::to_string(i) + "\n";
  CHECK(error_line(text + "the disk is full\n").text == "the disk is full");
}
