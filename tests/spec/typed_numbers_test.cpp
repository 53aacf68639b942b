// Numbers as they were typed in a spec.
#include "tuner/spec/typed_numbers.h"

#include "tests/spec/spec_support.h"
#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("Of a param space the numbers that JSON writes otherwise are kept as typed",
          "[spec][typed]") {
  TypedNumbers typed;
  add_typed_numbers(R"({
    "seed": 1e3, // a comment
    "param_space": {"lr": {"loguniform": [1e-5, 1e-1]}, "v": 3.10, "n": 7, "w": 0.5, "p": 1.0,
                    "c": {"choice": [1e3, 1000.0, 2, "1e4", {"uniform": [1e2, 1e3]}]},
                    "m": {"size": {"grid_search": [1.50]}}},
    "stop": {"loss": 1e-3}
  })",
                    typed);
  CHECK(typed ==
        TypedNumbers{{"v", {"3.10"}}, {"c", {"1e3", "1000.0"}}, {"m", {"1.50"}}, {"p", {"1.0"}}});
}

TEST_CASE("What is no JSON has no typed numbers", "[spec][typed]") {
  TypedNumbers typed;
  add_typed_numbers_of_value("v", "3.10.2", typed);
  add_typed_numbers_of_value("v", "adam", typed);
  add_typed_numbers_of_value("v", "v1.", typed);
  add_typed_numbers("{", typed);
  CHECK(typed.empty());
  add_typed_numbers_of_value("a \"name\"", "1e3", typed);
  CHECK(typed == TypedNumbers{{"a \"name\"", {"1e3"}}});
}

TEST_CASE("A number without a digit on one side of its point is kept as typed", "[spec][typed]") {
  TypedNumbers typed;
  for (const char* const text : {".5", "5.", "-.5e3", "5.e-3"}) {
    add_typed_numbers_of_value("lr", text, typed);
  }
  CHECK(typed == TypedNumbers{{"lr", {".5", "5.", "-.5e3", "5.e-3"}}});
}
