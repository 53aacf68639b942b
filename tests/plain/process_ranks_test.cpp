// Lines that say which process prints them.
#include "tuner/plain/process_ranks.h"

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Of lines with results, which count: "y", do not: "n"; what waits at the end: "?"; "!" behind one
/// that is told late.
std::string counted(const std::vector<std::string>& lines, KnownRanks& known) {
  using Answer = ProcessRanks::Answer;
  ProcessRanks ranks(known);
  std::string all;
  for (const std::string& line : lines) {
    const auto label = process_label(line + " loss: 1", "loss");
    const Answer answer = label ? ranks.take(*label, true) : Answer{};
    const std::size_t waits = all.find('?');
    if (waits != all.npos && answer.held != Answer::Held::waits) {
      all[waits] = answer.held == Answer::Held::counts ? 'y' : 'n';
    }
    all += "yn?"[static_cast<std::size_t>(answer.line)];
    if (answer.is_late) all += '!';
  }
  return all;
}
std::string counted(const std::vector<std::string>& lines) {
  KnownRanks known;
  return counted(lines, known);
}

/// Two epochs of two processes, whose lines begin with `label`, ? in the place of the rank.
std::vector<std::string> epochs_of(const std::string& label,
                                   const std::vector<const char*>& order) {
  std::vector<std::string> lines;
  for (const char* const epoch : {"1", "2"}) {
    for (const char* const rank : order) {
      std::string line = label + "epoch " + epoch;
      for (std::size_t at = line.find('?'); at != line.npos; at = line.find('?')) {
        line.replace(at, 1, rank);
      }
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("Whatever people and launchers call a process, the lowest one has the results",
          "[unit][plain]") {
  for (const char* const label : {"[rank?]: ",
                                  "[default?]:",
                                  "[RANK ?] ",
                                  "[1,?]<stdout>:",
                                  "[prterun-a@1,?]<stdout>:",
                                  "rank ? ",
                                  "Rank ?: ",
                                  "[Rank ?] ",
                                  "(rank ?) ",
                                  "rank=? ",
                                  "local_rank: ?, ",
                                  "[GPU?] ",
                                  "GPU ?: ",
                                  "[gpu:?] ",
                                  "cuda:? ",
                                  "[cuda:?] ",
                                  "worker ?: ",
                                  "Process ?: ",
                                  "node?: ",
                                  "INFO:rank?:",
                                  "RANK ? | ",
                                  "2026-11-28 00:00:01,123 [rank?] INFO ",
                                  "[00:00:01] node ? | ",
                                  "[?] ",
                                  "?: ",
                                  "[?]: ",
                                  "<?> ",
                                  "[?/2] ",
                                  "{\"rank\": ?, ",
                                  "node ? gpu 0 "}) {
    CAPTURE(label);
    CHECK(counted(epochs_of(label, {"0", "1"})) == "ynyn");
    CHECK(counted(epochs_of(label, {"1", "0"})) == "nyny");
  }
  for (const char* const label : {"(Trainer pid=12?4) ", "worker ?: ", "node? | ", "[GPU ?] "}) {
    CAPTURE(label);
    CHECK(counted(epochs_of(label, {"3", "5"})) == "ynyn");
    CHECK(counted(epochs_of(label, {"5", "3"})) == "nyny");
  }
  CHECK(counted({"epoch 1 (gpu 0)", "epoch 1 (gpu 1)", "epoch 2 gpu 1:", "epoch 2 gpu 0:"}) ==
        "ynny");
  // Behind the metric in brackets.
  KnownRanks known;
  ProcessRanks ranks(known);
  using Count = ProcessRanks::Answer::Count;
  const auto take = [&](const char* line) {
    return ranks.take(process_label(line, "loss").value(), true).line;
  };
  CHECK(take("epoch 1 loss: 0.5 [rank 0]") == Count::yes);
  CHECK(take("epoch 1 loss: 0.7 [rank 1]") == Count::no);
}

TEST_CASE("A process is none that is part of another number, or of a name", "[unit][plain]") {
  for (const char* const line :
       {"", "ranking 3", "rank 3rd", "gpu 45%", "gpu 45 %", "gpu 1.5 GB", "gpu_mem 3",
        "mean_rank 3", "gpu", "epoch 3", "workers 4", "Rank-1", "[3]"}) {
    CAPTURE(line);
    CHECK_FALSE(process_label(line + std::string(" loss: 1"), "loss"));
  }
  CHECK_FALSE(process_label("loss: 1, gpu 45", "loss"));
}

TEST_CASE("The lowest rank that prints results has them", "[unit][plain]") {
  CHECK(counted({"[rank0]", "[rank1]", "[rank1]", "[rank0]"}) == "ynny");
  CHECK(counted({"[rank1]", "[rank0]", "[rank1]", "[rank0]"}) == "nyny");
  CHECK(counted({"[rank2]", "[rank1]", "[rank3]", "[rank0]"}) == "nyny!");
  CHECK(counted({"[rank7]", "[rank7]", "[rank7]"}) == "yyy");
  CHECK(counted({"[rank7]"}) == "?");
  CHECK(counted({"rank 0", "rank 1", "rank 0"}) == "yny");
  CHECK(counted({"rank 1", "rank 0", "rank 1", "rank 0"}) == "nyny");
  // A line of the lowest one that names its device alone.
  CHECK(counted({"rank 0 epoch 1", "rank 1 epoch 1", "GPU 1 epoch 2", "rank 1 epoch 2"}) == "ynyn");
  // Of a matrix.
  CHECK(counted({"rank 4", "rank 8", "rank 16"}) == "yyy");
  CHECK(counted({"rank 4 epoch 1", "rank 4 epoch 2", "rank 8 epoch 1", "rank 8 epoch 2"}) ==
        "yyyy");
  CHECK(counted({"rank 1", "rank 2", "rank 1", "rank 2"}) == "yyy!n");
  // One that is ahead, or whose lines say other numbers.
  CHECK(counted({"gpu 0 epoch 1 n 7", "gpu 1 epoch 1 n 8", "gpu 1 epoch 2 n 9"}) == "ynn");
  CHECK(counted({"gpu 0 epoch 1", "gpu 0 epoch 2", "gpu 1 epoch 1", "gpu 1 epoch 2"}) == "yynn");
}

TEST_CASE("Results of other ranks before those of the lowest one are told, and not counted again",
          "[unit][plain]") {
  KnownRanks known;
  CHECK(counted({"[rank1]: 1", "[rank1]: 2", "[rank0]: 1", "[rank1]: 3", "[rank0]: 2"}, known) ==
        "yyy!ny");
  CHECK(known.has_zero);
  CHECK(counted({"[rank1]: 1", "[rank1]: 2", "[rank0]: 1"}, known) == "nny");
  // The nodes of another trial may be others.
  known = {};
  CHECK(counted({"node0 epoch 1", "node1 epoch 1"}, known) == "yn");
  CHECK(counted({"node2 epoch 1", "node3 epoch 1"}, known) == "yn");
  CHECK(counted({"[1] epoch 1", "[1] epoch 2", "[0] epoch 1", "[1] epoch 3"}, known) == "yyy!n");
  CHECK_FALSE(known.has_zero);
  CHECK(counted({"[1] epoch 1", "[0] epoch 1"}, known) == "ny");
}

TEST_CASE("Numbers that count something are no processes", "[unit][plain]") {
  KnownRanks known;
  ProcessRanks ranks(known);
  for (const char* const line : {"[0] epoch 1 Loss 0.5 / 0.75", "[1] epoch 2 Loss 0.4 / 0.7"}) {
    CHECK(ranks.take(process_label(line, "").value(), true).line ==
          ProcessRanks::Answer::Count::yes);
  }
  CHECK(counted({"[0]", "[1]", "[2]", "[0]"}) == "yyyy");
  CHECK(counted({"fold 0 epoch 1", "fold 1 epoch 1", "fold 2 epoch 1"}) == "yyy");
  CHECK(counted({"[0/500] epoch 1", "[100/500] epoch 1", "[200/500] epoch 1"}) == "yyy");
  CHECK(counted({"12:00:00 epoch 1", "12:00:01 epoch 1", "epoch 2"}) == "yyy");
  CHECK(counted({"[0] train-auc:1", "[1] train-auc:1", "[2] train-auc:1"}) == "yyy");
  // How much a device is used.
  CHECK(counted({"step 1 GPU: 45", "step 2 GPU: 40", "step 3 GPU: 0", "step 4 GPU: 45"}) == "yyyy");
}
