// Remarks for the user about how a program's lines are read.
#pragma once

#include <string>

namespace tune {

struct ReadingRemark {
  enum class What {
    cut,              ///< a number goes on in a way that is not read
    no_result,        ///< a number is left out, since it stands in source, in settings and the like
    no_colon,         ///< a number is left out, since its name stood before a colon earlier
    two_numbers,      ///< of two numbers the first one is taken: "0.5 (0.6)"
    several_numbers,  ///< of the numbers with that name in one line one is taken
    other_table,      ///< a row of numbers is left out, since it does not go on with the table
    lost_row,         ///< one is left out that may go on with it, or with the one below it
    doubtful_row,     ///< one counts that may be another table's
  };
  static constexpr int whats = 8;

  What what{};
  std::string line;
  std::string name;  ///< of the metric
};

/// Without its subject, the program.
std::string sentence_of(const ReadingRemark& remark);

}  // namespace tune
