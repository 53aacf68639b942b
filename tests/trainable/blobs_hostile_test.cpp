// Files of tensors as nobody should write them: each is refused with one sentence.
#include <sys/stat.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/trainable/blobs_fixture.h"
#include "trainable/blobs_header.h"

using namespace tune;
namespace fs = std::filesystem;

namespace {

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  std::uint64_t begin, std::uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

struct Case {
  std::string header;
  std::string data;
  std::string sentence;  ///< behind the file's name
};

}  // namespace

TEST_CASE("A header that is not as the format demands is refused with one sentence",
          "[unit][blobs]") {
  const BlobDirectory directory;
  const std::string cannot = " is no sound safetensors file: its header cannot be read: ";
  const std::string wrong = " is no sound safetensors file: its header is wrong: tensor ";
  const std::string a4 = entry("a", "F32", "[1]", 0, 4);
  const std::vector<Case> cases = {
      {"", "", cannot + "it does not begin with '{'"},
      {" {}", "", cannot + "it does not begin with '{'"},
      {"{", "", cannot + "'\"' should stand where it ends"},
      {"[]", "", cannot + "it does not begin with '{'"},
      {"{}x", "", cannot + "something follows on its closing '}'"},
      {"{},", "", cannot + "something follows on its closing '}'"},
      {"{" + a4 + ",}", "0123", cannot + "'\"' should stand at its byte 54"},
      {"{\"a", "", cannot + "a string does not end"},
      {"{\"a\\", "", cannot + "a string does not end"},
      {"{\"a\":1}", "", cannot + "'{' should stand at its byte 5"},
      {"{\"a\":[[[[[[[[[[", "", cannot + "'{' should stand at its byte 5"},
      {"{\"a\":{\"b\":{\"c\":{\"d\":{", "", wrong + "'a' has 'b', which the format does not know"},
      {"{\"\xC3\x28\":{}}", "", cannot + "it is not UTF-8"},
      {"{\"\xED\xA0\x80\":{}}", "", cannot + "it is not UTF-8"},
      {"{\"a\nb\":{}}", "", cannot + "a string has a control character that is not escaped"},
      {"{\"a\\u0041\nb\":{}}", "", cannot + "a string has a control character that is not escaped"},
      {"{\"\\x\":{}}", "", cannot + "a string has an escape that JSON does not know"},
      {"{\"\\u12G4\":{}}", "", cannot + "a string has an escape that JSON does not know"},
      {"{\"\\uD800\":{}}", "", cannot + "a string has half of a surrogate pair"},
      {"{\"\\uDC00\":{}}", "", cannot + "a string has half of a surrogate pair"},
      {"{\"\\uD800\\u0041\":{}}", "", cannot + "a string has half of a surrogate pair"},
      {"{\"__metadata__\":{\"a\":1}}", "", cannot + "__metadata__ has 'a', which is no string"},
      {"{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", "", cannot + "__metadata__ has 'a' twice"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", "", cannot + "it has __metadata__ twice"},
      {"{\"a\":{}}", "", wrong + "'a' has not all of dtype, shape and data_offsets"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "", wrong + "'a' has 'dtype' twice"},
      {"{" + entry("a", "F31", "[1]", 0, 4) + "}", "0123",
       wrong + "'a' is of the type 'F31', which is not known"},
      {"{" + entry("a", "f32", "[1]", 0, 4) + "}", "0123",
       wrong + "'a' is of the type 'f32', which is not known"},
      {"{" + entry("a", "F32", "[-1]", 0, 4) + "}", "0123",
       wrong + "'a' has something else where a whole number from 0 on should stand"},
      {"{" + entry("a", "F32", "[1.0]", 0, 4) + "}", "0123",
       wrong + "'a' has something else where a whole number from 0 on should stand"},
      {"{" + entry("a", "F32", "[01]", 0, 4) + "}", "0123",
       wrong + "'a' has something else where a whole number from 0 on should stand"},
      {"{" + entry("a", "F32", "[1e0]", 0, 4) + "}", "0123",
       wrong + "'a' has something else where a whole number from 0 on should stand"},
      {"{" + entry("a", "F32", "[18446744073709551616]", 0, 4) + "}", "0123",
       wrong + "'a' has a number of more than 64 bits"},
      {"{" + entry("a", "F32", "[4294967296,4294967296]", 0, 4) + "}", "0123",
       wrong + "'a' is F32 [4294967296,4294967296], which is no number of bytes"},
      {"{" + entry("a", "F64", "[2305843009213693952]", 0, 0) + "}", "",
       wrong + "'a' is F64 [2305843009213693952], which is no number of bytes"},
      {"{" + entry("a", "F6_E2M3", "[3]", 0, 2) + "}", "01",
       wrong + "'a' is F6_E2M3 [3], which is no number of bytes"},
      {"{" + entry("a", "F32", "[2]", 0, 4) + "}", "0123",
       wrong + "'a' is F32 [2] of 8 bytes, and has 4"},
      {"{" + entry("a", "F32", "[0]", 0, 4) + "}", "0123",
       wrong + "'a' is F32 [0] of 0 bytes, and has 4"},
      {"{" + entry("a", "F32", "[1]", 4, 0) + "}", "0123", wrong + "'a' ends before it begins"},
      {"{" + entry("a", "U8", "[10000000000]", 0, 10000000000) + "}", "0123",
       wrong + "'a' ends at byte 10000000000 of the data, which is 4 bytes long"},
      {"{" + entry("a", "U8", "[0]", 5, 5) + "}", "0123",
       wrong + "'a' ends at byte 5 of the data, which is 4 bytes long"},
      {"{" + a4 + "," + entry("b", "U8", "[2]", 3, 5) + "}", "01234",
       wrong + "'b' begins within the one before it"},
      {"{" + a4 + "," + entry("b", "F32", "[1]", 0, 4) + "}", "0123",
       wrong + "'b' begins within the one before it"},
      {"{" + a4 + "," + entry("b", "U8", "[1]", 6, 7) + "}", "0123456",
       wrong + "'b' begins 2 bytes behind the end of the one before it"},
      {"{" + entry("a", "U8", "[1]", 1, 2) + "}", "01",
       wrong + "'a' begins 1 bytes behind the end of the one before it"},
      {"{" + a4 + "}", "01234", " is no sound safetensors file: 1 bytes follow on its last tensor"},
      {"{}", "0", " is no sound safetensors file: 1 bytes follow on its last tensor"},
  };
  for (const auto& [header, data, sentence] : cases) {
    CAPTURE(header);
    const fs::path file = directory.put("f", blob_file(header, data));
    CHECK(refusal_of(file) == file.string() + sentence);
  }
  const fs::path twice = directory.put(
      "f", blob_file("{" + a4 + "," + entry("\\u0061", "F32", "[1]", 4, 8) + "}", "01234567"));
  CHECK(refusal_of(twice) == twice.string() + " has the tensor 'a' twice");
}

TEST_CASE("A header's length is believed as far as the file goes, and to 100 MB", "[unit][blobs]") {
  const BlobDirectory directory;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", " is no safetensors file: it has only 0 bytes"},
      {"1234567", " is no safetensors file: it has only 7 bytes"},
      {blob_file("{}", "", 3),
       " is no safetensors file, or cut off: its header is said to have 3 "
       "bytes, and the file has 10"},
      {blob_file("{}", "", 10'000'000'000),
       " is no safetensors file, or cut off: its header is said to have 10000000000 bytes, and the "
       "file has 10"},
      {blob_file("{}", "", std::numeric_limits<std::uint64_t>::max()),
       " is no safetensors file, or cut off: its header is said to have 18446744073709551615 "
       "bytes, and the file has 10"},
  };
  for (const auto& [bytes, sentence] : cases) {
    const fs::path file = directory.put("f", bytes);
    CHECK(refusal_of(file) == file.string() + sentence);
  }
  // A hole in the file: so large without its bytes.
  const fs::path large = directory.put("large", blob_file("{}", "", 100'000'001));
  fs::resize_file(large, 10'000'000'000);
  CHECK(refusal_of(large) ==
        large.string() + " has a header of 100000001 bytes, more than 100000000");
}

TEST_CASE("Every file that was cut off somewhere is refused", "[unit][blobs]") {
  const BlobDirectory directory;
  const std::string whole = blob_file(
      "{" + entry("a", "F32", "[1]", 0, 4) + "," + entry("b", "U8", "[3]", 4, 7) + "}", "0123456");
  CHECK(refusal_of(directory.put("whole", whole)).empty());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(refusal_of(directory.put("cut", whole.substr(0, length))).empty());
  }
}

TEST_CASE("What is no file of its own is refused and not waited for", "[unit][blobs]") {
  const BlobDirectory directory;
  const fs::path file = directory.put("whole", blob_file("{}", ""));
  CHECK(refusal_of(file).empty());
  fs::create_symlink(file, directory.path / "link.safetensors");
  CHECK(refusal_of(directory.path / "link.safetensors") ==
        (directory.path / "link.safetensors").string() + " is a symbolic link and no file");
  CHECK(refusal_of(directory.path) ==
        (directory.path / "link.safetensors").string() + " is a symbolic link and no file");
  const fs::path fifo = directory.path / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refusal_of(fifo) == fifo.string() + " is no regular file");
  CHECK(refusal_of("/dev/zero") == "/dev/zero is no regular file");
  CHECK(refusal_of(directory.path / "none") ==
        (directory.path / "none").string() + " cannot be opened: No such file or directory");
  const BlobDirectory empty;
  CHECK(refusal_of(empty.path) == empty.path.string() + " has no file *.safetensors");
}

TEST_CASE("What the format allows is read: blanks, no tensors, no bytes, odd places",
          "[unit][blobs]") {
  const BlobDirectory directory;
  for (const auto& [header, data] : std::vector<std::pair<std::string, std::string>>{
           {"{}", ""},
           {"{ } \n\r\t ", ""},
           {"{\"__metadata__\":{}}", ""},
           {"{\n \"a\" : { \"shape\" : [ 1 , 1 ] , \"data_offsets\" : [ 0 , 4 ] , \"dtype\" : "
            "\"F32\" } } ",
            "0123"},
           // Data of wide elements at odd places of the file.
           {"{" + entry("a", "U8", "[1]", 0, 1) + "," + entry("b", "F64", "[1]", 1, 9) + "}",
            "012345678"},
           {"{" + entry("a", "F32", "[0,4294967296]", 0, 0) + "," + entry("b", "U8", "[1]", 0, 1) +
                "," + entry("c", "U8", "[0]", 1, 1) + "}",
            "0"},
           {"{" + entry("b", "U8", "[1]", 1, 2) + "," + entry("a", "U8", "[1]", 0, 1) + "}", "01"},
       }) {
    CAPTURE(header);
    CHECK(refusal_of(directory.put("f", blob_file(header, data))) == "");
  }
}

TEST_CASE("Text is UTF-8 or it is not", "[unit][blobs]") {
  for (const char* good : {"", "plain", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CHECK(blobs::is_utf8(good));
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC2",
                          "\xE1\x80", "\xF1\x80\x80", "\xE1\x80\x41", "\xFF"}) {
    CHECK_FALSE(blobs::is_utf8(bad));
  }
}
