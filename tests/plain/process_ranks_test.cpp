// Lines that begin with the rank of a process.
#include "tuner/plain/process_ranks.h"

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Of lines with results, which count: "y", do not: "n"; what waits at the end: "?".
std::string counted(const std::vector<std::string>& lines) {
  using Answer = ProcessRanks::Answer;
  ProcessRanks ranks;
  std::string all;
  for (const std::string& line : lines) {
    const Answer answer = ranks.take(rank_of(line).value(), true);
    const std::size_t waits = all.find('?');
    if (waits != all.npos && answer.held != Answer::Held::waits) {
      all[waits] = answer.held == Answer::Held::counts ? 'y' : 'n';
    }
    all += "yn?"[static_cast<std::size_t>(answer.line)];
  }
  return all;
}

}  // namespace

TEST_CASE("A rank is found where launchers and people put it", "[unit][plain]") {
  for (const char* const line : {"[rank3]: loss: 1", "[default3]:loss: 1", "[RANK 3] loss: 1",
                                 "[1,3]<stdout>:loss: 1", "rank 3 loss: 1", "Rank: 3, loss: 1"}) {
    CAPTURE(line);
    CHECK(rank_of(line).value().rank == 3);
  }
  for (const char* const line : {"", "[3] loss: 1", "ranking 3", "loss of rank 3: 1", "rank 3rd"}) {
    CAPTURE(line);
    CHECK_FALSE(rank_of(line));
  }
}

TEST_CASE("The lowest rank that prints results has them", "[unit][plain]") {
  CHECK(counted({"[rank0]", "[rank1]", "[rank1]", "[rank0]"}) == "ynny");
  CHECK(counted({"[rank1]", "[rank0]", "[rank1]", "[rank0]"}) == "nyny");
  CHECK(counted({"[rank2]", "[rank1]", "[rank3]", "[rank0]"}) == "nyny");
  CHECK(counted({"[rank7]", "[rank7]", "[rank7]"}) == "yyy");
  CHECK(counted({"[rank7]"}) == "?");
  CHECK(counted({"rank 0", "rank 1", "rank 0"}) == "yny");
  CHECK(counted({"rank 1", "rank 0", "rank 1", "rank 0"}) == "nyny");
  // Of a matrix.
  CHECK(counted({"rank 4", "rank 8", "rank 16", "rank 0"}) == "yyyy");
}
