#include "tests/support/catch.h"
#include "tuner/core/remote_config.h"

namespace tune {

TEST_CASE("A path of a remote is a remote of rclone or absolute, and never holds options") {
  for (const char* const good :
       {"s3:bucket/prefix", "s3:", "/mnt/store", "my disk:a", ":local:/x"}) {
    INFO(good);
    CHECK_FALSE(wrong_remote_path(good));
  }
  for (const char* const bad : {"backup", "./x", "", ":", "a\nb:c", "s3,env_auth=true:bucket",
                                ":s3,secret_access_key=open-sesame:bucket"}) {
    INFO(bad);
    const auto why = wrong_remote_path(bad);
    REQUIRE(why);
    CHECK(why->find("sesame") == why->npos);
  }
}

TEST_CASE("An experiment comes below the path") {
  CHECK(remote_below("s3:bucket", "digits") == "s3:bucket/digits");
  CHECK(remote_below("s3:", "digits") == "s3:digits");
  CHECK(remote_below("/", "digits") == "/digits");
}

}  // namespace tune
