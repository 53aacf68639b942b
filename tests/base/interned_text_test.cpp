#include "tuner/base/interned_text.h"

#include "tests/support/catch.h"
#include "tuner/math/random.h"

using namespace tune;

namespace {

std::string there_and_back(JsonInterner& shapes, const std::string& text) {
  InternedJson compact = std::string_view(text);
  shapes.make_compact(compact);
  CHECK(compact.empty() == text.empty());
  return compact.text();
}

}  // namespace

TEST_CASE("A compact text is the text it was, whatever that is", "[compact_text]") {
  JsonInterner shapes;
  for (const char* text :
       {"", "{}", R"({"lr":0.1})", R"({"lr":1e-05,"act":"relu","deep":{"on":true,"n":null}})",
        R"({"list":[1,-2.5,"a",[true,"b:c"]],"text":"say \"a\": {1}\\"})",
        R"({ "a" : "b" , "c":1 })", "{\"tab\":\t1}", "{\"\1\":\"\2\"}", R"({"cut":"short)",
        R"({"cut\)", "\"", "12", "nonsense", "{\"umlaut\":\"\xc3\xa4\"}"}) {
    CAPTURE(text);
    CHECK(there_and_back(shapes, text) == text);
    CHECK(there_and_back(shapes, text) == text);
  }
}

TEST_CASE("Pieces of JSON in any order come back from their compact form", "[compact_text]") {
  JsonInterner shapes;
  Random random(7);
  const std::string pieces[] = {"{", "}", "[", "]",  ",",   ":",    " ",  "\"", "\\", "\"a\"",
                                "1", "-", ".", "1e", "NaN", "true", "\n", "\1", "\2", "\"b\":"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t n = random.below(12); n > 0; --n) {
      text += pieces[random.below(std::size(pieces))];
    }
    CAPTURE(text);
    REQUIRE(there_and_back(shapes, text) == text);
  }
}

TEST_CASE("Texts that differ in their values share the rest", "[compact_text]") {
  JsonInterner shapes;
  std::vector<InternedJson> texts;
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    texts.emplace_back(R"({"learning_rate":0.)" + n + R"(,"optimizer":"name)" + n +
                       R"(","sizes":[)" + n + ",2]}");
    shapes.make_compact(texts.back());
  }
  for (const auto& text : texts) CHECK(text.own_bytes() < 30);
  texts[0] = "{}";
  CHECK(texts[0].text() == "{}");
  CHECK(texts[1].text() == R"({"learning_rate":0.1,"optimizer":"name1","sizes":[1,2]})");
}

TEST_CASE("Texts that share nothing do not fill the memory with shapes", "[compact_text]") {
  JsonInterner shapes;
  std::size_t kept_whole = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::string text = R"({")" + std::to_string(i) + std::string(1'000, 'x') + R"(":1})";
    InternedJson compact = std::string_view(text);
    shapes.make_compact(compact);
    REQUIRE(compact.text() == text);
    if (compact.own_bytes() == text.size()) ++kept_whole;
  }
  CHECK(kept_whole > 1'000);
  CHECK(there_and_back(shapes, R"({"0":1})") == R"({"0":1})");
}
