// Sizes as people write them.
#include "tuner/base/byte_size.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("A size may have a unit of either kind", "[byte_size][unit]") {
  CHECK(parse_byte_size("0") == 0u);
  CHECK(parse_byte_size("1000000") == 1000000u);
  CHECK(parse_byte_size("12B") == 12u);
  CHECK(parse_byte_size("10GB") == 10'000'000'000u);
  CHECK(parse_byte_size("10 GB") == 10'000'000'000u);
  CHECK(parse_byte_size("1.5GiB") == 3u << 29);
  CHECK(parse_byte_size("256MiB") == 256u << 20);
  CHECK(parse_byte_size("2KB") == 2000u);
  CHECK(parse_byte_size("1TiB") == std::uint64_t{1} << 40);
}

TEST_CASE("What is no size is none", "[byte_size][unit]") {
  for (const char* text : {"", "GB", "-1", "10 ", "10G", "10gb", "10GBs", "10  GB", "1e30", "NaN",
                           "inf", "ten", "10TB TB", "99999999999TB"}) {
    CAPTURE(text);
    CHECK(!parse_byte_size(text));
  }
}

TEST_CASE("Sizes are shown short", "[byte_size][unit]") {
  CHECK(show_byte_size(0) == "0 B");
  CHECK(show_byte_size(1023) == "1023 B");
  CHECK(show_byte_size(1536) == "1.5 KiB");
  CHECK(show_byte_size(std::uint64_t{5} << 40) == "5.0 TiB");
  CHECK(show_byte_size(~std::uint64_t{0}) == "16.0 EiB");
}

}  // namespace
}  // namespace tune
