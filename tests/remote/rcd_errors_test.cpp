// What is made of the words in which rclone says that something has failed.
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tuner/remote/rcd.h"

namespace tune {
namespace {

using Kind = RemoteError::Kind;

TEST_CASE("A failure of rclone's is told by the status that the store gave, not by other numbers",
          "[remote][unit]") {
  const std::pair<std::string, Kind> cases[] = {
      {"corrupted on transfer: sizes differ 2500 vs 1500", Kind::damaged},
      {"corrupted on transfer: sizes differ 1507 vs 507 ", Kind::damaged},
      {"corrupted on transfer: md5 hash differ \"503 \" vs \"504 \"", Kind::damaged},
      {"can't copy - source file is being updated (size changed from 500 to 0)", Kind::damaged},
      {"failed to open step_500 of run 502 ", Kind::other},
      {"rank 507 Insufficient", Kind::other},
      {"InternalError: We encountered an internal error, status code: 500, request id: 507",
       Kind::unreachable},
      {"operation error S3: PutObject, https response error StatusCode: 503, RequestID: 1",
       Kind::unreachable},
      {"HTTP error 504 (504 Gateway Timeout) returned body", Kind::unreachable},
      {"Post \"x\": 502 Bad Gateway", Kind::unreachable},
      {"SlowDown: Please reduce your request rate, status code: 429", Kind::unreachable},
      {"Insufficient Storage: 507 Insufficient Storage", Kind::full},
      {"PutObject: status code: 507", Kind::full},
      {"write /disk/a: no space left on device", Kind::full},
      {"googleapi: Error 403: caller does not have access", Kind::denied},
      {"couldn't list files: 401 Unauthorized", Kind::denied},
      {"dial tcp 127.0.0.1:5000: connect: connection refused", Kind::unreachable},
      {"object not found", Kind::missing}};
  for (const auto& [words, kind] : cases) {
    CAPTURE(words);
    CHECK(static_cast<int>(explain_remote("upload", words).kind()) == static_cast<int>(kind));
  }
}

}  // namespace
}  // namespace tune
