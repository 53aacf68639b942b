// The fields of a result that the driver fills in itself, as text, and where the trainable's own
// metrics have the same names, which are the driver's alone. Shared by result.json and
// progress.csv.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/model/result.h"
#include "tuner/model/trial.h"

namespace tune {

constexpr std::array<std::string_view, 12> driver_fields = {"training_iteration",
                                                            "timestamp",
                                                            "date",
                                                            "time_this_iter_s",
                                                            "time_total_s",
                                                            "time_since_restore",
                                                            "iterations_since_restore",
                                                            "timesteps_total",
                                                            "episodes_total",
                                                            "trial_id",
                                                            "done",
                                                            "iteration_is_guess"};
using FieldSet = std::bitset<driver_fields.size()>;

bool is_driver_field(std::string_view name);

/// The texts of one result's driver fields; empty where the result does not have one.
class DriverFields {
 public:
  void fill(TrialId trial, const Result& result);
  const std::string& text(std::size_t field) const { return texts_[field]; }
  static bool is_string(std::size_t field);

 private:
  std::array<std::string, driver_fields.size()> texts_;
  std::time_t date_of_ = -1;  ///< the second that the date was last made for
};

/// Where the outermost object of `metrics` has members called like driver fields: from the key to
/// the comma or brace behind the value.
using MemberPlaces = std::vector<std::pair<std::size_t, std::size_t>>;
MemberPlaces driver_fields_in(std::string_view metrics);

/// Appends result.json's row of `result`, with the line's end.
void append_json_row(std::string& out, const DriverFields& fields, const Result& result);

}  // namespace tune
