// Which failures a rule finds, and which rule wins.
#include "tuner/model/failure_rules.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

const FailureRule out_of_memory{.name = "out_of_memory"};
const FailureRule lost_device{.name = "lost_device"};

bool matches(const FailureRule& rule, const FailureFacts& facts) {
  return FailureJudge(std::nullopt, {rule}).objection(facts).has_value();
}

FailureFacts said(std::string text) { return {.said = std::move(text)}; }

TEST_CASE("Running out of memory is known by what programs say of it", "[failure_rules][unit]") {
  for (const char* text :
       {"Traceback (most recent call last):\n  File \"a.py\"\nMemoryError\n",
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7 GiB",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB",
        "RuntimeError: CUDA error: out of memory",
        "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
        "std::bad_alloc",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes."}) {
    CAPTURE(text);
    CHECK(matches(out_of_memory, said(text)));
    CHECK(!matches(lost_device, said(text)));
  }
  for (const char* text : {"", "memory", "killed", "the memoryless model", "CUDA error: invalid"}) {
    CAPTURE(text);
    CHECK(!matches(out_of_memory, said(text)));
  }
}

TEST_CASE("A lost device is known by what programs and the kernel say of it",
          "[failure_rules][unit]") {
  for (const char* text :
       {"RuntimeError: No CUDA GPUs\nCUDA error: no CUDA-capable device is detected",
        "CUDA error: uncorrectable ECC error encountered", "CUDA error: unspecified launch failure",
        "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."}) {
    CAPTURE(text);
    CHECK(matches(lost_device, said(text)));
    CHECK(!matches(out_of_memory, said(text)));
  }
  CHECK(!matches(lost_device, said("CUDA error: device-side assert triggered")));
}

TEST_CASE("A failure is blamed on the config or on the machine by what the program said",
          "[failure_rules][unit]") {
  const FailureJudge judge(std::nullopt, {{.stderr_pattern = "^NaN in the loss$"}});
  CHECK(judge.blame(said("torch.cuda.OutOfMemoryError: CUDA out of memory.")) == Blame::config);
  CHECK(judge.blame(said("epoch 3\nNaN in the loss\n")) == Blame::config);
  for (const char* text :
       {"OSError: [Errno 28] No space left on device: '/scratch/a'",
        "OSError: [Errno 116] Stale file handle", "OSError: [Errno 30] Read-only file system",
        "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
        "OSError: [Errno 5] Input/output error"}) {
    CAPTURE(text);
    CHECK(judge.blame(said(text)) == Blame::machine);
  }
  CHECK(judge.blame(said("ValueError: lr must be positive")) == Blame::unknown);
  // What the user says about a failure comes first.
  const FailureJudge knows(std::nullopt, {{.stderr_pattern = "No space left"}});
  CHECK(knows.blame(said("No space left on device")) == Blame::config);
}

TEST_CASE("A rule's conditions must all hold", "[failure_rules][unit]") {
  const FailureRule rule{.exit_code = 3, .stderr_pattern = "^no luck$"};
  CHECK(matches(rule, {.exit_code = 3, .said = "well\nno luck\n"}));
  CHECK(!matches(rule, {.exit_code = 4, .said = "well\nno luck\n"}));
  CHECK(!matches(rule, {.exit_code = 3, .said = "well, no luck\n"}));
  CHECK(!matches(rule, {.signal = 3, .said = "no luck"}));
  CHECK(matches(FailureRule{.signal = 7}, {.signal = 7}));
  CHECK(!matches(FailureRule{.signal = 7}, {.exit_code = 7}));
}

TEST_CASE("never_retry_on wins over retry_on, and both are named", "[failure_rules][unit]") {
  const FailureJudge judge(
      {{FailureRule{.exit_code = 3}}},
      {out_of_memory, FailureRule{.exit_code = 3, .stderr_pattern = "fatal.*"}});
  CHECK(!judge.objection({.exit_code = 3, .said = "it is ill"}));
  CHECK(judge.objection({.exit_code = 3, .said = "a fatal end\nand more"}) ==
        "/failure_config/never_retry_on/1 matched exit code 3 and 'fatal end'");
  CHECK(judge.objection({.exit_code = 3, .said = "MemoryError"}) ==
        "/failure_config/never_retry_on/0 (out_of_memory) matched 'MemoryError'");
  CHECK(judge.objection({.exit_code = 4}) == "nothing in /failure_config/retry_on matched");
  CHECK(!FailureJudge(std::nullopt, {}).objection({.exit_code = 4}));
  CHECK(FailureJudge(std::vector<FailureRule>{}, {}).objection({.exit_code = 4}));
}

TEST_CASE("A pattern that would take for ever elsewhere is found or not at once",
          "[failure_rules][unit]") {
  const std::string line(64 << 10, 'a');
  CHECK(!matches(FailureRule{.stderr_pattern = "(a+)+$b"}, said(line)));
  CHECK(!matches(FailureRule{.stderr_pattern = "(a|aa)+b"}, said(line)));
  CHECK(matches(FailureRule{.stderr_pattern = "(.*)+"}, said(line)));
}

TEST_CASE("Bytes that are no text do no harm", "[failure_rules][unit]") {
  std::string bytes = "\xff\xfe caf\xc3\xa9 MemoryError ";
  bytes += '\0';
  CHECK(matches(out_of_memory, said(bytes)));
  CHECK(matches(FailureRule{.stderr_pattern = "café"}, said(bytes)));
}

TEST_CASE("A long match is told by its beginning, in whole characters", "[failure_rules][unit]") {
  const FailureJudge judge(std::nullopt, {FailureRule{.stderr_pattern = "x*(é)+"}});
  const auto told = [&](int ascii, int accents) {
    std::string text(static_cast<std::size_t>(ascii), 'x');
    for (int i = 0; i < accents; ++i) text += "é";
    const std::string objection = judge.objection(said(text)).value();
    return objection.substr(objection.find("matched '") + 9);
  };
  CHECK(told(118, 1) == std::string(118, 'x') + "é'");
  CHECK(told(118, 2) == std::string(118, 'x') + "é...'");
  CHECK(told(119, 2) == std::string(119, 'x') + "...'");
}

TEST_CASE("A bad pattern is told by what is wrong with it", "[failure_rules][unit]") {
  CHECK(complaint_about_pattern("a.*b").empty());
  CHECK(complaint_about_pattern("a(b").find("missing )") != std::string::npos);
  CHECK(!complaint_about_pattern("(?=ahead)").empty());
}

}  // namespace
}  // namespace tune
