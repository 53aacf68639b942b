#include "tuner/policy/options.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// The error that `read` ends with, as "pointer: sentence".
template <class Read>
std::string complaint(const Json& options, Read read) {
  try {
    OptionReader reader(options);
    read(reader);
    reader.finish();
  } catch (const OptionError& error) {
    return error.pointer + ": " + error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("OptionReader gives what is written and the default for what is not", "[options][unit]") {
  const Json json = {{"i", 3},         {"whole", 1e3},   {"d", 0.5},   {"as_double", 2},
                     {"s", "x"},       {"b", true},      {"m", "min"}, {"none", nullptr},
                     {"names", {"a"}}, {"json", {1, 2}}, {"big", 1e15}};
  OptionReader reader(json);
  CHECK(reader.get("i", 1) == 3);
  CHECK(reader.get("whole", 1) == 1000);
  CHECK(reader.get("d", 1.0) == 0.5);
  CHECK(reader.get("as_double", 1.0) == 2.0);
  CHECK(reader.get("s", std::string("y")) == "x");
  CHECK(reader.get("b", false));
  CHECK(reader.get("m", Mode::max) == Mode::min);
  CHECK(reader.get("none", 7) == 7);
  CHECK(reader.get("missing", 8) == 8);
  CHECK_FALSE(reader.get_optional<double>("missing"));
  CHECK(reader.get_optional<double>("d") == 0.5);
  CHECK(reader.get_required<std::vector<std::string>>("names") == std::vector<std::string>{"a"});
  CHECK(reader.get("json", Json()) == Json({1, 2}));
  CHECK(reader.get<std::int64_t>("big", 0) == 1'000'000'000'000'000);
  CHECK_NOTHROW(reader.finish());
}

TEST_CASE("OptionReader takes null for no options and refuses anything but an object",
          "[options][unit]") {
  CHECK(complaint(nullptr, [](OptionReader& r) { r.get("n", 1); }) == "none");
  CHECK(complaint(Json::array(), [](OptionReader&) {}) == ": options must be an object, got []");
}

TEST_CASE("OptionReader says where and what is wrong with an option", "[options][unit]") {
  const auto get_int = [](OptionReader& r) { r.get("n", 1); };
  CHECK(complaint({{"n", "x"}}, get_int) == "/n: 'n' must be a whole number, got \"x\"");
  CHECK(complaint({{"n", 1.5}}, get_int) == "/n: 'n' must be a whole number, got 1.5");
  CHECK(complaint({{"n", 3'000'000'000}}, get_int) ==
        "/n: 'n' must be a whole number, got 3000000000");
  CHECK(complaint({{"n", true}}, get_int) == "/n: 'n' must be a whole number, got true");
  CHECK(complaint({{"n", -1}}, [](OptionReader& r) { r.get<std::uint64_t>("n", 1); }) ==
        "/n: 'n' must be a whole number from 0, got -1");
  CHECK(complaint({{"d", "1"}}, [](OptionReader& r) { r.get("d", 1.0); }) ==
        "/d: 'd' must be a number, got \"1\"");
  CHECK(complaint({{"m", "up"}}, [](OptionReader& r) { r.get("m", Mode::min); }) ==
        "/m: 'm' must be \"min\" or \"max\", got \"up\"");
  CHECK(complaint({{"b", 1}}, [](OptionReader& r) { r.get("b", true); }) ==
        "/b: 'b' must be true or false, got 1");
  CHECK(complaint({{"n", 0}}, [](OptionReader& r) {
          r.require(r.get("n", 1) >= 1, "n", "at least 1");
        }) == "/n: 'n' must be at least 1, got 0");
  CHECK(complaint(Json::object(), [](OptionReader& r) { r.get_required<double>("d"); }) ==
        ": 'd' is needed here and has no default");
}

TEST_CASE("OptionReader names the nearest known option for an unknown one", "[options][unit]") {
  const auto read = [](OptionReader& r) {
    r.get("patience", 1);
    r.get("top", 1);
  };
  CHECK(complaint({{"pateince", 3}}, read) ==
        "/pateince: unknown option 'pateince', did you mean 'patience'?");
  CHECK(complaint({{"a/b~", 3}}, read) ==
        "/a~1b~0: unknown option 'a/b~', expected one of 'patience', 'top'");
}

TEST_CASE("OptionReader tells all that is wrong at once, each option once", "[options][unit]") {
  const Json options = {{"d", "x"}, {"maxt", 10}, {"n", 0}};
  try {
    OptionReader reader(options);
    CHECK(reader.get("d", 0.5) == 0.5);
    reader.require(reader.get("n", 1) >= 1, "n", "at least 1");
    reader.require(reader.get_required<double>("needed") > 0, "needed", "above 0");
    reader.get("max_t", 1);
    reader.finish();
    FAIL("nothing was wrong");
  } catch (const OptionError& error) {
    CHECK(error.problems ==
          std::vector<Problem>{{"/d", "'d' must be a number, got \"x\""},
                               {"/n", "'n' must be at least 1, got 0"},
                               {"", "'needed' is needed here and has no default"},
                               {"/maxt", "unknown option 'maxt', did you mean 'max_t'?"}});
  }
}
