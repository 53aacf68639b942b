// Records of event files, byte by byte, against those that TensorBoard's own classes make.
#include "callbacks/tensorboard_event.h"

#include <limits>
#include <string>
#include <vector>

#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::testing;

namespace {

constexpr Seconds event_time = 1700000000.25;

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string scalars_of(const std::string& metrics, int iteration = 12) {
  std::string record;
  tensorboard::append_scalars(record, result_of(iteration, metrics));
  return record;
}

}  // namespace

TEST_CASE("The checksum of event files is the CRC-32C of RFC 3720", "[callbacks][tensorboard]") {
  std::string up;
  std::string down;
  for (int i = 0; i < 32; ++i) {
    up += static_cast<char>(i);
    down += static_cast<char>(31 - i);
  }
  CHECK(tensorboard::crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(tensorboard::crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(tensorboard::crc32c(up) == 0x46dd794e);
  CHECK(tensorboard::crc32c(down) == 0x113fdb5c);
  const std::string read_command(
      "\x01\xc0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x14\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x14\x00\x00\x00\x18"
      "\x28\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00",
      48);
  CHECK(tensorboard::crc32c(read_command) == 0xd9963a56);
  CHECK(tensorboard::crc32c("") == 0);
  CHECK(tensorboard::crc32c("123456789") == 0xe3069283);  // not a whole number of eights
}

TEST_CASE("The records of event files have the bytes that TensorBoard's own classes give them",
          "[callbacks][tensorboard]") {
  std::string record;
  SECTION("of the version") {
    tensorboard::append_file_version(record, event_time);
    CHECK(hex(record) ==
          "1800000000000000a37f4b220900001040fc54d9411a0d627261696e2e4576656e743a32338d2fe9");
  }
  SECTION("of a restart") {
    tensorboard::append_restart(record, event_time, 300);
    CHECK(hex(record) == "100000000000000095fbfe180900001040fc54d94110ac023a0208016b3b88f1");
  }
  SECTION("of a result") {
    CHECK(hex(scalars_of(R"({"loss":0.5,"eval":{"acc":Infinity},"n":NaN})")) ==
          "3500000000000000d6c55de60900001040fc54d941100c2a280a0b0a046c6f7373150000003f0a0f0a086576"
          "616c2f616363150000807f0a080a016e150000c07f595c3865");
  }
  SECTION("of a config") {
    tensorboard::append_session_start(
        record, event_time, R"({"b":{"c":"x","no":null},"lr":0.1,"on":true,"q":[1,null],"e":{}})");
    CHECK(hex(record) ==
          "7d0000000000000061558d7e0900001040fc54d9412a720a700a1c5f68706172616d735f2f73657373696f6e"
          "5f73746172745f696e666f4a500a4e0a0768706172616d7312431a410a0a0a03622e6312031a01780a0f0a02"
          "6c721209119a9999999999b93f0a080a026f6e120220010a0f0a0171120a1a085b312c6e756c6c5d29000010"
          "40fc54d941b08c7727");
  }
  SECTION("of an end") {
    tensorboard::append_session_end(record, event_time, false);
    CHECK(hex(record) ==
          "4500000000000000ebe668b00900001040fc54d9412a3a0a380a1a5f68706172616d735f2f73657373696f6e"
          "5f656e645f696e666f4a1a0a180a0768706172616d73120d220b08021100001040fc54d941a428de5d");
  }
}

TEST_CASE("Numbers beyond a float are infinities in event files", "[callbacks][tensorboard]") {
  CHECK(scalars_of(R"({"a":1e300,"b":-1e300})") == scalars_of(R"({"a":Infinity,"b":-Infinity})"));
  CHECK(scalars_of(R"({"a":1e-300})") == scalars_of(R"({"a":0})"));
  CHECK(scalars_of(R"({"a":true})") == scalars_of(R"({"a":1})"));
}

TEST_CASE("Event files leave out what is no number, and the names that are not a metric's",
          "[callbacks][tensorboard]") {
  CHECK(scalars_of(R"({"a":1,"s":"x","l":[1],"done":true,"timestamp":3,"_hparams_/x":1})") ==
        scalars_of(R"({"a":1})"));
  CHECK(scalars_of(R"({"s":"x"})").empty());
  CHECK(scalars_of(R"({"x":{"timestamp":3}})") != "");
}

TEST_CASE("A record of an event file is read back whole or not at all",
          "[callbacks][tensorboard]") {
  const std::string bytes = scalars_of(R"({"loss":0.5})");
  const auto record = tensorboard::read_record(bytes + "more");
  REQUIRE(record);
  CHECK(record->size == bytes.size());
  CHECK(record->kind == tensorboard::Kind::scalars);
  CHECK(record->step == 12);
  CHECK(record->time == event_time);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(tensorboard::read_record(bytes.substr(0, length)));
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK_FALSE(tensorboard::read_record(damaged));
  }
  CHECK_FALSE(tensorboard::read_record(std::string(64, '\0')));
}
