#include "apps/dashboard/server/guard.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

const std::string token(64, 'a');

HttpRequest request(const std::string& method, const std::string& target) {
  return {.method = method,
          .target = target,
          .fields = {{"host", "127.0.0.1:8080"}, {"authorization", "Bearer " + token}},
          .body = ""};
}

HttpRequest post(const std::string& target) {
  HttpRequest made = request("POST", target);
  made.fields.emplace_back("content-type", "application/json");
  return made;
}

HttpRequest with(HttpRequest made, const std::string& name, const std::string& value) {
  std::erase_if(made.fields, [&](const auto& field) { return field.first == name; });
  made.fields.emplace_back(name, value);
  return made;
}

HttpRequest without(HttpRequest made, const std::string& name) {
  std::erase_if(made.fields, [&](const auto& field) { return field.first == name; });
  return made;
}

GuardRules rules(bool allows_control = true) {
  return {.token = token, .start_code = "", .hosts = {}, .allows_control = allows_control};
}

/// 200 if it is answered.
int status(const HttpRequest& asked, const GuardRules& by = rules()) {
  const auto checked = check_request(asked, by);
  const auto* const refusal = std::get_if<Refusal>(&checked);
  return refusal == nullptr ? 200 : refusal->status;
}

/// A path that the pattern matches.
std::string path_of(const Route& route) {
  std::string path = route.pattern;
  for (char& c : path) {
    if (c == '#') c = '3';
  }
  return path;
}

TEST_CASE("every route but the page needs the token, and none has another method",
          "[dashboard_guard]") {
  for (const Route& route : routes()) {
    INFO(route.method << " " << route.pattern);
    HttpRequest asked =
        with(request(route.method, path_of(route)), "content-type", "application/json");
    const bool is_page = route.name == Route::Name::page;
    CHECK(route.needs_token == !is_page);
    for (const HttpRequest& bad :
         {without(asked, "authorization"), with(asked, "authorization", "Bearer "),
          with(asked, "authorization", "Bearer " + token + "a"),
          with(asked, "authorization", "Bearer " + std::string(64, 'b')),
          with(asked, "authorization", "Basic " + token), with(asked, "authorization", token)}) {
      CHECK(status(bad) == (is_page ? 200 : 401));
    }
    asked.fields.emplace_back("authorization", "Bearer " + token);
    CHECK(status(asked) == (is_page ? 200 : 401));
    for (const char* const method : {"OPTIONS", "DELETE", "TRACE", "PUT", "HEAD", "PATCH", "get"}) {
      CHECK(status(request(method, path_of(route))) == 405);
    }
  }
}

TEST_CASE("a token in the query is none", "[dashboard_guard]") {
  CHECK(status(without(request("GET", "/api/experiments?token=" + token), "authorization")) == 401);
}

TEST_CASE("a request goes by exactly one host that the server knows", "[dashboard_guard]") {
  const HttpRequest asked = request("GET", "/");
  for (const char* const host : {"localhost", "localhost:1", "127.0.0.1", "127.0.0.1:65535",
                                 "[::1]", "[::1]:8080", "LocalHost:8080"}) {
    INFO(host);
    CHECK(status(with(asked, "host", host)) == 200);
  }
  for (const char* const host :
       {"evil.example", "evil.example:8080", "0.0.0.0", "0.0.0.0:8080", "127.0.0.1.evil.example",
        "localhost.evil.example", "evil.example#localhost", "localhost:", "localhost:a",
        "localhost:80:80", "[::1", "[::1]x", "::1", "", "localhost,evil.example", " localhost"}) {
    INFO(host);
    CHECK(status(with(asked, "host", host)) == 403);
  }
  CHECK(status(without(asked, "host")) == 400);
  HttpRequest two = asked;
  two.fields.emplace_back("host", "127.0.0.1:8080");
  CHECK(status(two) == 400);
  GuardRules named = rules();
  named.hosts = {"node7"};
  CHECK(status(with(asked, "host", "Node7:8080"), named) == 200);
}

TEST_CASE("a target is a path of plain words, and nothing in it is decoded", "[dashboard_guard]") {
  for (const char* const target :
       {"http://127.0.0.1/", "//evil.example/", "*", "", "api", "/api/../etc/passwd",
        "/api/e/%30/report", "/api/e/0/trials/%2e%2e/log", "/api/e/0/trials/0/log%00",
        "/api/e/0\\report", "/#x", "/api/e/0/stream?since=1&since=2",
        "/api/e/0/stream?since=", "/api/e/0/stream?since=../x", "/api/e/0/stream?=1"}) {
    INFO(target);
    CHECK(status(request("GET", target)) == 400);
  }
  for (const char* const target :
       {"/api/e/x/report", "/api/e/-1/report", "/api/e/9999999999/report", "/api/e//report",
        "/api/e/0/report/", "/api/e/0/trials/1e3/log", "/api/token", "/static/x",
        "/API/experiments"}) {
    INFO(target);
    CHECK(status(request("GET", target)) >= 400);
  }
  CHECK(status(request("GET", "/api/e/0/trials/17/log?stream=stderr")) == 200);
}

TEST_CASE("only a page of this server may steer, and only if that is allowed",
          "[dashboard_guard]") {
  const HttpRequest asked = post("/api/e/0/control");
  CHECK(status(asked) == 200);
  CHECK(status(asked, rules(false)) == 403);
  CHECK(status(without(asked, "content-type")) == 415);
  for (const char* const type : {"text/plain", "application/x-www-form-urlencoded",
                                 "multipart/form-data", "application/json; charset=utf-8"}) {
    CHECK(status(with(asked, "content-type", type)) == 415);
  }
  CHECK(status(with(asked, "sec-fetch-site", "same-origin")) == 200);
  for (const char* const site : {"cross-site", "same-site", "none", ""}) {
    CHECK(status(with(asked, "sec-fetch-site", site)) == 403);
  }
  CHECK(status(with(asked, "origin", "http://127.0.0.1:8080")) == 200);
  for (const char* const origin :
       {"http://evil.example", "null", "http://127.0.0.1:9090", "http://127.0.0.1", ""}) {
    CHECK(status(with(asked, "origin", origin)) == 403);
  }
  CHECK(status(with(with(asked, "sec-fetch-site", "cross-site"), "origin",
                    "http://127.0.0.1:8080")) == 403);
}

TEST_CASE("a start code opens the start alone, and the token does not", "[dashboard_guard]") {
  GuardRules starting = rules();
  starting.start_code = std::string(64, 'c');
  const auto by = [&](const HttpRequest& asked, const std::string& bearer) {
    return status(with(asked, "authorization", "Bearer " + bearer), starting);
  };
  CHECK(by(post("/api/start"), starting.start_code) == 200);
  CHECK(by(post("/api/start"), token) == 401);
  CHECK(by(request("GET", "/api/experiments"), starting.start_code) == 401);
  starting.start_code.clear();
  CHECK(by(post("/api/start"), "") == 401);
}

TEST_CASE("a field that goes on in the next line is noticed", "[dashboard_guard]") {
  CHECK(has_folded_line("GET / HTTP/1.1\r\nHost: localhost\r\n evil.example"));
  CHECK(has_folded_line("GET / HTTP/1.1\r\nHost:\r\n\tlocalhost"));
  CHECK_FALSE(has_folded_line("GET / HTTP/1.1\r\nHost: localhost"));
}

TEST_CASE("tokens are long, and never the same", "[dashboard_guard]") {
  const std::string one = make_token();
  CHECK(one.size() == 64);
  CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one != make_token());
}

}  // namespace
}  // namespace tune
