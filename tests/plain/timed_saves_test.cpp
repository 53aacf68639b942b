// Programs that save by a clock, or each so many steps, whatever they print: in virtual time. No
// checkpoint claims more than it has without a mark.
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "tests/support/catch.h"
#include "tuner/plain/save_fold.h"

namespace tune {
namespace {

constexpr std::uint64_t line_bytes = 10;

struct Program {
  double epoch_s = 0.3;
  double period_s = 0.1;  ///< of its saves
  double phase_s = 0;     ///< of the first one
  int epochs = 10;
};

struct Claims {
  int marked = 0;
  int too_many = 0;  ///< without a mark
};

/// It renames a file, a millisecond after it began to write it, which is found at once.
void run(const Program& program, SaveOrders& orders, std::mt19937& draw, Claims& claims) {
  SaveFold fold(orders);
  fold.begin(0, {});
  std::normal_distribution<double> jitter(1, 0.02);
  std::map<std::string, std::int64_t> has;
  const auto name_all = [&](double now_s) {
    for (const SaveFold::Named& named : fold.name(now_s)) {
      const std::int64_t trained = has.at(named.files.name.string());
      claims.marked += named.is_guess ? 1 : 0;
      claims.too_many += !named.is_guess && named.iteration > trained ? 1 : 0;
    }
  };
  const double begin_s = 1e9;
  double print_s = begin_s, save_s = begin_s + program.phase_s;
  std::int64_t printed = 0;
  int saves = 0;
  while (printed < program.epochs) {
    const double next_s = print_s + program.epoch_s * jitter(draw);
    for (; save_s < next_s; save_s += program.period_s * jitter(draw)) {
      const std::string name = "e-" + std::to_string(++saves);
      has[name] = printed;
      constexpr double ns_per_s = 1e9;
      SavedFiles saved{.printed_before = {static_cast<std::uint64_t>(printed) * line_bytes, 0}};
      saved.files.name = name;
      saved.files.files.push_back(
          {.name = name, .changed_ns = static_cast<std::int64_t>((save_s + 0.001) * ns_per_s)});
      saved.begun_ns = static_cast<std::int64_t>(save_s * ns_per_s);
      fold.save(std::move(saved), false, save_s + 0.002);
      name_all(save_s + 0.003);
    }
    print_s = next_s;
    ++printed;
    fold.print({printed, {}}, 0, static_cast<std::uint64_t>(printed) * line_bytes,
               {print_s, PrintTime::watched_lag_s});
    fold.take();
    name_all(print_s + 0.001);
  }
  fold.end(SaveFold::End::done);
  name_all(print_s + 1);
}

TEST_CASE("Who saves by a clock is hardly ever taken for one that saves before it prints",
          "[unit][plain]") {
  std::mt19937 draw(7);
  std::uniform_real_distribution<double> part(0, 1);
  int searches = 0, wrong = 0;
  Claims claims;
  for (; searches < 400; ++searches) {
    Program program;
    program.period_s = 0.02 * std::pow(30, part(draw));
    program.epoch_s = 0.1 * std::pow(20, part(draw));
    SaveOrders orders;
    const int before = claims.too_many;
    for (int trial = 0; trial < 3; ++trial) {
      program.phase_s = part(draw) * program.period_s;
      run(program, orders, draw, claims);
    }
    wrong += claims.too_many > before ? 1 : 0;
  }
  // One that saves once an epoch, at the same place by chance, looks like one that saves first.
  CHECK(wrong * 10 < searches);
  CHECK(claims.too_many * 500 < claims.marked);
}

}  // namespace
}  // namespace tune
