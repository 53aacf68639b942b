// Reading JSON that a person wrote: each slip gets one sentence with file, line and column.
// Knows no spec.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/spec/spec.h"

using namespace tune;

namespace fs = std::filesystem;

namespace {

/// A file of the test's own, gone at its end.
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    std::string name = (fs::temp_directory_path() / "tune_spec_json_XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    std::ofstream(path(), std::ios::binary) << text;
  }
  ~TextFile() { fs::remove_all(directory_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  fs::path path() const { return directory_ / "spec.json"; }

 private:
  fs::path directory_;
};

Json read(const std::string& text) { return read_json_file(TextFile(text).path()); }

/// The error of `text` without the path before the line; empty if there is none.
std::string error_of(const std::string& text) {
  const TextFile file(text);
  try {
    read_json_file(file.path());
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::user);
    const std::string sentence = error.what();
    const std::string prefix = file.path().string() + ":";
    CHECK(sentence.rfind(prefix, 0) == 0);
    CHECK(sentence.find('\n') == std::string::npos);
    return sentence.substr(prefix.size());
  }
  return "";
}

}  // namespace

TEST_CASE("Comments and a byte order mark are allowed", "[spec_json][comments]") {
  CHECK(read("\xEF\xBB\xBF// first\n{\"a\": /* one */ [1, 2.5, \"// no comment\"]}\n// last") ==
        Json{{"a", {1, 2.5, "// no comment"}}});
}

TEST_CASE("A syntax error names line and column and what was expected", "[spec_json][errors]") {
  CHECK(error_of("{\n  \"a\": 1\n  \"b\": 2\n}") ==
        "3:5: syntax error while parsing object - unexpected string literal; expected '}'");
  CHECK(error_of("{\"a\" 1}") ==
        "1:6: syntax error while parsing object separator - unexpected number literal; expected "
        "':'");
  CHECK(error_of("[1, 2") ==
        "1:6: syntax error while parsing array - unexpected end of input; expected ']'");
  CHECK(error_of("{} {}") ==
        "1:4: syntax error while parsing value - unexpected '{'; expected end of input");
  CHECK(error_of("{\"a\": \"\xFF\"}") ==
        "1:8: syntax error while parsing value - invalid string: ill-formed UTF-8 byte");
}

TEST_CASE("Habits from other languages are named", "[spec_json][errors]") {
  CHECK(error_of("{\"a\": [1, 2,]}") == "1:13: no comma may stand before ']'");
  CHECK(error_of("{\n  \"a\": 1,\n}") == "3:1: no comma may stand before '}'");
  CHECK(error_of("{'a': 1}") == "1:2: strings take double quotes, got a single quote");
  CHECK(error_of("{\"a\": True}") == "1:7: write true in lower case, got True");
  CHECK(error_of("{\"a\": None}") == "1:7: write null instead of None");
  CHECK(error_of("{a: 1}") ==
        "1:2: expected a JSON value, got the bare word 'a'; text belongs in double quotes");
}

TEST_CASE("YAML is called YAML", "[spec_json][errors]") {
  for (const char* const yaml :
       {"metric: loss\nmode: min\n", "# mine\n---\n\ntrainable:\n  command: [a]\n", "a_1:\r\n"}) {
    CHECK(error_of(yaml) ==
          "1:1: this looks like YAML; a spec is JSON, in which comments are allowed: tune init "
          "writes one, and with --from FILE.yaml of a sweep of W&B or an experiment of Katib");
  }
  for (const char* const other : {"metric loss", "http://a", ": a", "# only a comment"}) {
    CHECK(error_of(other).find("YAML") == std::string::npos);
  }
}

TEST_CASE("A program in the place of the spec is called one", "[spec_json][errors]") {
  CHECK(error_of("#!/bin/sh\necho loss 1\n") ==
        " this is a program, and no spec: tune init writes a spec, whose trainable/command names "
        "the program");
}

TEST_CASE("Bare NaN and Infinity are refused with a hint", "[spec_json][errors]") {
  const std::string hint =
      " is not a JSON number; write null where a value may be left out, or \"NaN\" or \"Infinity\" "
      "in quotes";
  CHECK(error_of("{\"a\": NaN}") == "1:7: 'NaN'" + hint);
  CHECK(error_of("{\"a\": nan}") == "1:8: 'nan'" + hint);
  CHECK(error_of("{\"a\": Infinity}") == "1:7: 'Infinity'" + hint);
  CHECK(error_of("{\"a\": -Infinity}") == "1:8: 'Infinity'" + hint);
}

TEST_CASE("A key that is given twice is refused at its second place", "[spec_json][errors]") {
  CHECK(error_of("{\n  \"lr\": 1,\n  \"lr\": 2\n}") ==
        "3:6: 'lr' is given twice in the same object");
  CHECK(error_of("{\"a\": {\"b\": 1, \"\\u0062\": 1}}") ==
        "1:23: 'b' is given twice in the same object");
  CHECK(error_of("{\"a\": {\"b\": 1}, \"b\": {\"a\": 1}, \"c\": [{\"b\": 1}, {\"b\": 2}]}") == "");
}

TEST_CASE("Nesting is read 64 deep and no deeper", "[spec_json][errors]") {
  CHECK(error_of(std::string(64, '[') + std::string(64, ']')) == "");
  CHECK(error_of(std::string(65, '[') + std::string(65, ']')) ==
        "1:65: objects and lists are nested more than 64 deep");
  CHECK(error_of(std::string(1'000'000, '[')) ==
        "1:65: objects and lists are nested more than 64 deep");
}

TEST_CASE("A number that no double holds is refused", "[spec_json][errors]") {
  CHECK(error_of("{\"a\": 1e999}").find("the number is too large for") != std::string::npos);
}

TEST_CASE("An empty file is called empty", "[spec_json][errors]") {
  CHECK(error_of("") == " the file is empty, expected JSON");
  CHECK(error_of(" \n\t\n") == " the file is empty, expected JSON");
}

TEST_CASE("A file that is not there, or is a directory, is the user's error",
          "[spec_json][errors]") {
  const TextFile file("{}");
  const std::string directory = file.path().parent_path().string();
  CHECK_THROWS_WITH(read_json_file(directory + "/no.json"),
                    "cannot read " + directory + "/no.json: No such file or directory");
  CHECK_THROWS_WITH(read_json_file(directory), "cannot read " + directory + ": Is a directory");
}

TEST_CASE("A file without end is given up at 64 MiB", "[spec_json][errors]") {
  CHECK_THROWS_WITH(read_json_file("/dev/zero"), "cannot read /dev/zero: it is larger than 64 MiB");
}

TEST_CASE("A file of any bytes gives a value or an error of the user's", "[spec_json][errors]") {
  const std::string text =
      "{\"a\": [1, -2.5e3, \"x\\u00e9\", true, null], \"b\": {\"c\": {}}} // end";
  for (std::size_t end = 0; end < text.size(); ++end) {
    CHECK_NOTHROW(error_of(text.substr(0, end)));
    for (const char byte : {'\0', '"', '{', ']', ',', '\xFF', '\n'}) {
      std::string damaged = text;
      damaged[end] = byte;
      CHECK_NOTHROW(error_of(damaged));
    }
  }
}
