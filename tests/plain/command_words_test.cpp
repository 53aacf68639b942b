// The words that bring a config into a command.
#include "tuner/plain/command_words.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

using Words = std::vector<std::string>;

const WordValues& values() {
  static const WordValues all{
      .config = {{"lr", 0.001},
                 {"opt", {{"name", "adam"}, {"beta", 0.9}}},
                 {"fast", true},
                 {"slow", false},
                 {"none", nullptr},
                 {"layers", {8, 16}}},
      .trial_id = "trial_00003",
      .trial_dir = "/runs/exp/trial_00003/work",
      .config_file = "/runs/exp/trial_00003/args.json",
  };
  return all;
}

Words expanded(const std::string& word) { return expand_command({word}, values()); }

}  // namespace

TEST_CASE("List words bring the whole config, each in its way", "[plain][words]") {
  CHECK(expanded("${args}") == Words{"--fast=true", "--layers=[8,16]", "--lr=0.001",
                                     "--opt.beta=0.9", "--opt.name=adam", "--slow=false"});
  CHECK(expanded("${args_no_equals}").at(0) == "--fast");
  CHECK(expanded("${args_no_equals}").at(1) == "true");
  CHECK(expanded("${args_no_hyphens}").at(2) == "lr=0.001");
  CHECK(expanded("${args_append_hydra}").at(2) == "+lr=0.001");
  CHECK(expanded("${args_override_hydra}").at(2) == "++lr=0.001");
  CHECK(expanded("${args_no_boolean_flags}") ==
        Words{"--fast", "--layers=[8,16]", "--lr=0.001", "--opt.beta=0.9", "--opt.name=adam"});
  const Words json = expanded("${args_json}");
  REQUIRE(json.size() == 1);
  CHECK(Json::parse(json[0]) == values().config);
}

TEST_CASE("The endings of list words combine: several arguments, opposites, one hyphen",
          "[plain][words]") {
  const auto of = [](const std::string& word, Json config) {
    return expand_command({word}, {.config = std::move(config)});
  };
  CHECK(of("${args_nargs}", {{"layers", {8, 16}}, {"lr", 0.5}}) ==
        Words{"--layers", "8", "16", "--lr=0.5"});
  CHECK(of("${args_no_equals_nargs}", {{"lr", 0.5}, {"names", {"a b", "c"}}}) ==
        Words{"--lr", "0.5", "--names", "a b", "c"});
  CHECK(of("${args_boolean_optional}", {{"bn", false}, {"lr", 0.5}, {"skip", true}}) ==
        Words{"--no-bn", "--lr=0.5", "--skip"});
  CHECK(of("${args_single_hyphen_no_equals}", {{"lr", 0.5}}) == Words{"-lr", "0.5"});
  CHECK(of("${args_single_hyphen}", {{"lr", 0.5}}) == Words{"-lr=0.5"});
  CHECK(of("${args_single_hyphen_boolean_optional_nargs}", {{"b", {1}}, {"f", false}}) ==
        Words{"-b", "1", "-no-f"});
  CHECK(complaint_about_words("${args_nargs_no_equals}", true).empty());
  CHECK(complaint_about_words("${args_nargs_equals}", true).find("unknown word") == 0);
}

TEST_CASE("A number reaches the program as it was typed, and a whole one without a point",
          "[plain][words]") {
  const Json config = {{"big", 1e300}, {"epochs", 7.0},       {"lr", 1000.0},
                       {"n", 3},       {"opt", {{"v", 3.1}}}, {"v", 3.1}};
  const WordValues typed{.config = config, .typed = {{"lr", {"1e3", "2e3"}}, {"v", {"3.10"}}}};
  CHECK(expand_command({"${args}"}, typed) ==
        Words{"--big=1e+300", "--epochs=7", "--lr=1e3", "--n=3", "--opt.v=3.1", "--v=3.10"});
  CHECK(expand_command({"${config.v}"}, typed) == Words{"3.10"});
  CHECK(expand_command({"${args}"}, {.config = {{"lr", 0.5}}, .typed = {{"lr", {"5.", ".5"}}}}) ==
        Words{"--lr=.5"});
  CHECK(expand_command({"${args}"}, {.config = {{"layers", 2.0}, {"lr", -0.0}}}) ==
        Words{"--layers=2", "--lr=-0.0"});
  const WordValues zeros{.config = {{"a", 0.0}, {"b", -0.0}},
                         .typed = {{"a", {"-0.0", "0.0"}}, {"b", {"0.00", "-0.0"}}}};
  CHECK(expand_command({"${args}"}, zeros) == Words{"--a=0.0", "--b=-0.0"});
}

TEST_CASE("A hyperparameter whose name begins with '_' is for expressions alone",
          "[plain][words]") {
  const WordValues helped{
      .config = {{"_base", 3}, {"lr", 0.5}, {"opt", {{"_scale", 2}, {"b", 1}}}}};
  CHECK(expand_command({"${args}"}, helped) == Words{"--lr=0.5", "--opt.b=1"});
  CHECK(expand_command({"${args_json}"}, helped) == Words{R"({"lr":0.5,"opt":{"b":1}})"});
  CHECK(expand_command({"${config._base}"}, helped) == Words{"3"});
}

TEST_CASE("Words within a text become a part of it", "[plain][words]") {
  CHECK(expanded("--rate=${config.lr}") == Words{"--rate=0.001"});
  CHECK(expanded("${config.opt.name}") == Words{"adam"});
  CHECK(expanded("@${args_json_file}") == Words{"@/runs/exp/trial_00003/args.json"});
  CHECK(brings_config("@${args_json_file}"));
  CHECK(expanded("${trial_dir}/out-${trial_id}") ==
        Words{"/runs/exp/trial_00003/work/out-trial_00003"});
  CHECK(expanded("$${args} costs $5 ${") == Words{"${args} costs $5 ${"});
}

TEST_CASE("What a config lacks, or has as null, leaves its argument out", "[plain][words]") {
  CHECK(expanded("--a=${config.none}").empty());
  CHECK(expanded("--a=${config.missing}").empty());
  CHECK_FALSE(expand_text("${config.missing}", values()));
}

TEST_CASE("An option whose value is the next argument is left out together with that",
          "[plain][words]") {
  const auto of = [](const Words& command) { return expand_command(command, values()); };
  CHECK(of({"p", "--resume", "${checkpoint}", "--epochs", "3"}) == Words{"p", "--epochs", "3"});
  CHECK(of({"-r", "${checkpoint}"}).empty());
  CHECK(of({"--lr", "${config.none}", "--lr", "${config.lr}"}) == Words{"--lr", "0.001"});
  CHECK(of({"--from", "${config.missing}/x"}).empty());
  // What is no option alone stays.
  CHECK(of({"--fast", "--from=${checkpoint}"}) == Words{"--fast"});
  CHECK(of({"--a=b", "${checkpoint}"}) == Words{"--a=b"});
  CHECK(of({"-1", "${checkpoint}"}) == Words{"-1"});
  CHECK(of({"--", "${checkpoint}"}) == Words{"--"});
  CHECK(of({"train", "${checkpoint}", "${checkpoint}"}) == Words{"train"});
  CHECK(of({"--from", "${checkpoint}", "${checkpoint}", "x"}) == Words{"x"});
  CHECK(of({"--bare", "${args_no_boolean_flags}", "${checkpoint}"}).front() == "--bare");
}

TEST_CASE("A name with dots of its own is found", "[plain][words]") {
  WordValues dotted;
  dotted.config = {{"opt.lr", 1}, {"a", {{"b.c", 2}}}};
  CHECK(expand_text("${config.opt.lr}", dotted) == "1");
  CHECK(expand_text("${config.a.b.c}", dotted) == "2");
}

TEST_CASE("Wrong words are complaints with the nearest right one", "[plain][words]") {
  CHECK(complaint_about_words("${arg}", true) ==
        "unknown word '${arg}', did you mean '${args}'? ($${ stands for ${)");
  CHECK(complaint_about_words("--data=${fill_in}", true) ==
        "write the value that the program needs in the place of '${fill_in}'");
  CHECK(complaint_about_words("${quite_unlike}", true)
            .starts_with("unknown word '${quite_unlike}', expected one of '${args}', "));
  CHECK(complaint_about_words("x${args}", true) ==
        "'${args}' stands for several arguments, so it must stand alone");
  CHECK(complaint_about_words("${args}", false) ==
        "'${args}' stands for several arguments: only one that is a command's, behind the "
        "program's name, can be that");
  CHECK(complaint_about_words("${config.}", true) != "");
  CHECK(complaint_about_words("--lr=${config.lr", true) ==
        "'${config.lr' has no '}' ($${ stands for ${)");
  for (const char* const right : {"", "a", "$", "${", "$${x}", "$${x", "${ x", "${args}",
                                  "${config.a.b}/c", "${envvar:HOME}", "${trial_id}"}) {
    CHECK(complaint_about_words(right, true) == "");
  }
}

TEST_CASE("Only words of the config bring the config", "[plain][words]") {
  CHECK(brings_config("${args_no_hyphens}"));
  CHECK(brings_config("--lr ${config.lr}"));
  CHECK(brings_config("${args_json}"));
  CHECK_FALSE(brings_config("${trial_dir}"));
  CHECK_FALSE(brings_config("$${args}"));
  CHECK_FALSE(brings_config("args"));
}
