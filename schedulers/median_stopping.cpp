// The median stopping rule: a trial whose best result is worse than the median of the others'
// averages so far ends.
//
// Averages are kept on a grid of times, so that nothing is looked up trial by trial: the others' at
// one time are one sample, whose median is at hand.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "schedulers/copy_on_write.h"
#include "schedulers/progress.h"
#include "schedulers/schedulers.h"
#include "tuner/base/error.h"
#include "tuner/base/wide_sum.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The times at which averages are compared. Iterations are exact up to 4096; other times, and
/// later iterations, have so many significant bits that neighbours differ by less than 2 % (0.05
/// %).
class TimeGrid {
 public:
  explicit TimeGrid(bool counts_iterations)
      : bits_(counts_iterations ? 12 : 7), finest_(counts_iterations ? 1 : 0) {}

  /// The last one that is not after `time`; not above 0 if there is none.
  double at_or_before(double time) const {
    if (time < finest_ || time <= 0) return 0;
    int exponent = 0;
    const double fraction = std::frexp(finest_ > 0 ? std::floor(time) : time, &exponent);
    return std::ldexp(std::floor(std::ldexp(fraction, bits_)), exponent - bits_);
  }
  double after(double point) const {
    int exponent = 0;
    std::frexp(point, &exponent);
    return point + std::max(finest_, std::ldexp(1, exponent - bits_));
  }

 private:
  int bits_;
  double finest_;
};

/// Numbers, of which the median is known: two heaps that meet there.
class Sample {
 public:
  std::size_t size() const { return lower_.size() + upper_.size(); }

  void add(double value) {
    const bool goes_low = lower_.empty() || value <= lower_.front();
    goes_low ? push(lower_, value, std::less<>()) : push(upper_, value, std::greater<>());
    if (lower_.size() > upper_.size() + 1) {
      push(upper_, pop(lower_, std::less<>()), std::greater<>());
    } else if (upper_.size() > lower_.size()) {
      push(lower_, pop(upper_, std::greater<>()), std::less<>());
    }
  }

  double median() const {
    ensure(size() > 0, "there is a number to take the median of");
    if (lower_.size() > upper_.size()) return lower_.front();
    return std::midpoint(lower_.front(), upper_.front());
  }

  Json save() const { return Json::array({numbers_of(lower_), numbers_of(upper_)}); }
  static Sample loaded(const Json& state) {
    Sample sample;
    for (const Json& number : state.at(0)) sample.lower_.push_back(load_number(number));
    for (const Json& number : state.at(1)) sample.upper_.push_back(load_number(number));
    const auto surplus = std::ssize(sample.lower_) - std::ssize(sample.upper_);
    if (surplus < 0 || surplus > 1 || sample.size() == 0) throw std::invalid_argument("no halves");
    return sample;
  }

 private:
  template <class Order>
  static void push(std::vector<double>& heap, double value, Order order) {
    heap.push_back(value);
    std::push_heap(heap.begin(), heap.end(), order);
  }
  template <class Order>
  static double pop(std::vector<double>& heap, Order order) {
    std::pop_heap(heap.begin(), heap.end(), order);
    const double value = heap.back();
    heap.pop_back();
    return value;
  }
  static Json numbers_of(const std::vector<double>& heap) {
    Json numbers = Json::array();
    for (const double number : heap) numbers.push_back(encode_number(number));
    return numbers;
  }

  std::vector<double> lower_;  ///< greatest first; as many as upper_, or one more
  std::vector<double> upper_;  ///< least first
};

/// A number, or, where that is not all of it, [sum,rest,whether they are divided].
Json save_sum(const WideSum& sum) {
  if (sum.rest == 0 && !sum.is_divided) return encode_number(sum.value);
  return {encode_number(sum.value), sum.rest, sum.is_divided};
}
WideSum load_sum(const Json& state) {
  if (!state.is_array()) return {.value = load_number(state)};
  return {load_number(state.at(0)), load_number(state.at(1)), state.at(2).get<bool>()};
}

/// A trial that has not ended, as far as it has come.
struct Course {
  double time = -infinity;  ///< of the last result that counted
  double best = not_a_number;
  WideSum sum;               ///< of the scores since the grace period that are numbers
  std::int64_t numbers = 0;  ///< how many those are
  std::int64_t results = 0;  ///< since the grace period, with NaN
  double point = 0;          ///< on the grid: the last one that it has passed; 0: none
  double paused = -infinity;
  bool is_let_go = false;   ///< would have been stopped: first in, first out from then on
  bool is_waiting = false;  ///< and nothing but resources is in its way

  /// NaN, if there is no number, is worse than all.
  double mean() const {
    const double value = numbers > 0 ? sum.average_of(static_cast<double>(numbers)) : -infinity;
    return std::isnan(value) ? -infinity : value;  // of an old state, whose sum was infinite
  }
};

class MedianStopping : public Scheduler {
 public:
  explicit MedianStopping(MedianStoppingOptions options)
      : options_(std::move(options)),
        objective_reader_(options_.time_attr, options_.objective),
        grid_(options_.time_attr == "training_iteration") {}

  void on_trial_add(const Trial& trial) override {
    Course course;
    if (const auto progress = objective_reader_.of(trial)) {
      // Queued again: what it has done before is in the samples already.
      course.time = progress->time;
      course.best = progress->score;
      course.point = grid_.at_or_before(progress->time);
    }
    courses_[trial.id] = course;
    set_waiting(courses_[trial.id], true);
  }

  void on_trial_start(const Trial& trial) override {
    if (Course* const course = courses_.find(trial.id)) set_waiting(*course, false);
  }

  void on_trial_wait(const Trial& trial) override {
    Course* const course = courses_.find(trial.id);
    if (course == nullptr) return;
    // To give way to one that must not run yet, or need not, helps nobody.
    set_waiting(*course, trial.not_before == 0 && !course->is_let_go);
  }

  void on_trial_end(const Trial& trial) override {
    Course* const found = courses_.find(trial.id);
    if (found == nullptr) return;
    Course& course = *found;
    const auto progress = objective_reader_.of(trial);
    const bool counts = trial.state == TrialState::terminated && !course.is_let_go;
    if (counts && progress && progress->time > course.time) add(course, *progress);
    set_waiting(course, false);
    courses_.erase(trial.id);
  }

  Decision on_result(const Trial& trial, const Result& result) override {
    const auto progress = objective_reader_.of(result);
    Course* const found = courses_.find(trial.id);
    if (!progress || found == nullptr) return {};
    Course& course = *found;
    // What is repeated after a restore has been counted.
    if (course.is_let_go || progress->time <= course.time) return {};
    const auto others = add(course, *progress);
    if (!others) return {};
    if (others->count < options_.min_samples_required) {
      const bool pauses = waiting_ > 0 && progress->time - course.paused > options_.min_time_slice;
      if (!pauses) return {};
      course.paused = progress->time;
      return {Action::pause};
    }
    // Where the median is that of trials without a number, nobody is worse.
    const double best = std::isnan(course.best) ? -infinity : course.best;
    Rationale why;
    why.add("best", objective_reader_.value_of(best))
        .add("median", objective_reader_.value_of(others->median))
        .add("of", others->count);
    if (reaches(best, others->median, std::abs(others->median))) return {.why = std::move(why)};
    if (!options_.hard_stop) course.is_let_go = true;
    return {.action = options_.hard_stop ? Action::stop : Action::pause, .why = std::move(why)};
  }

  std::unique_ptr<Scheduler> copy() const override {
    return std::make_unique<MedianStopping>(*this);
  }

  Json save() const override {
    Json samples = Json::array();
    for (const auto& [point, sample] : samples_) samples.push_back({point, sample->save()});
    Json courses = Json::array();
    courses_.for_each([&](TrialId id, const Course& course) {
      courses.push_back({index_of(id), encode_number(course.time), encode_number(course.best),
                         save_sum(course.sum), course.numbers, course.results, course.point,
                         encode_number(course.paused), course.is_let_go, course.is_waiting});
    });
    return {{"samples", std::move(samples)}, {"trials", std::move(courses)}};
  }

  void load(const Json& state) override {
    load_state("the scheduler median_stopping", [&] {
      std::map<double, CopyOnWrite<Sample>> samples;
      for (const Json& saved : state.at("samples")) {
        samples[saved.at(0).get<double>()].change() = Sample::loaded(saved.at(1));
      }
      TrialTable<Course> courses;
      std::int64_t waiting = 0;
      for (const Json& saved : state.at("trials")) {
        Course& course = courses[TrialId(load_whole<std::uint32_t>(saved.at(0)))];
        course.time = load_number(saved.at(1));
        course.best = load_number(saved.at(2));
        course.sum = load_sum(saved.at(3));
        course.numbers = load_whole<std::int64_t>(saved.at(4));
        course.results = load_whole<std::int64_t>(saved.at(5));
        course.point = saved.at(6).get<double>();
        course.paused = load_number(saved.at(7));
        course.is_let_go = saved.at(8).get<bool>();
        course.is_waiting = saved.at(9).get<bool>();
        if (course.is_waiting) ++waiting;
      }
      samples_ = std::move(samples);
      courses_ = std::move(courses);
      waiting_ = waiting;
    });
  }

 private:
  void set_waiting(Course& course, bool is_waiting) {
    if (course.is_waiting != is_waiting) waiting_ += is_waiting ? 1 : -1;
    course.is_waiting = is_waiting;
  }

  /// What a trial is held against.
  struct Others {
    std::int64_t count = 0;
    double median = 0;  ///< of their averages
  };

  /// Takes in a result that is later than those before, and enters the trial's average at the
  /// points of the grid that it has passed. The others at the last of them, if it is a new one.
  std::optional<Others> add(Course& course, const TrialProgress& progress) {
    const double time = course.time = progress.time;
    if (better(Mode::max, progress.score, course.best)) course.best = progress.score;
    const double here = grid_.at_or_before(time);
    if (time < options_.grace_period || here <= 0) return std::nullopt;
    std::optional<Others> others;
    if (here > course.point) {
      const auto found = samples_.find(here);
      others = found == samples_.end()
                   ? Others{}
                   : Others{std::ssize(*found->second), found->second->median()};
    }
    // At a point between two results the average is that of the results up to the first.
    if (course.results > 0) {
      const double mean = course.mean();
      for (double point = grid_.after(course.point); point < time; point = grid_.after(point)) {
        samples_[point].change().add(mean);
      }
    }
    ++course.results;
    if (!std::isnan(progress.score)) {
      course.sum.add(progress.score);
      ++course.numbers;
    }
    if (here == time && here > course.point) samples_[here].change().add(course.mean());
    course.point = here;
    return others;
  }

  const MedianStoppingOptions options_;
  const ObjectiveReader objective_reader_;
  const TimeGrid grid_;
  std::map<double, CopyOnWrite<Sample>>
      samples_;  ///< by point of the grid; each trial is there once
  TrialTable<Course> courses_;
  std::int64_t waiting_ = 0;
};

}  // namespace

std::unique_ptr<Scheduler> make_median_stopping(MedianStoppingOptions options) {
  return std::make_unique<MedianStopping>(std::move(options));
}

}  // namespace tune
