// A directory of a test's own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/catch.h"

namespace tune::test {

class Place {
 public:
  Place() {
    std::string name = (std::filesystem::temp_directory_path() / "tune-files-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
  }
  ~Place() { std::filesystem::remove_all(directory_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  std::string operator/(const char* name) const { return (directory_ / name).string(); }

 private:
  std::filesystem::path directory_;
};

}  // namespace tune::test
