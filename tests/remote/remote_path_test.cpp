#include "tests/support/catch.h"
#include "tuner/model/remote_config.h"

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

TEST_CASE("What others write in place of a remote is answered with what to write") {
  for (const auto& [given, instead] :
       {std::pair("s3://bucket/prefix", "s3:bucket/prefix"), std::pair("gs://b", "gs:b"),
        std::pair("store", "\"$PWD/store\""), std::pair("~/store", "\"$HOME/store\"")}) {
    INFO(given);
    const auto why = wrong_remote_path(given);
    REQUIRE(why);
    CHECK(why->find(instead) != why->npos);
  }
}

TEST_CASE("An experiment comes below the path") {
  CHECK(remote_below("s3:bucket", "digits") == "s3:bucket/digits");
  CHECK(remote_below("s3:", "digits") == "s3:digits");
  CHECK(remote_below("/", "digits") == "/digits");
}

}  // namespace tune
