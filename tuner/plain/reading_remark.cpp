// The sentences for each kind of remark, with the expression to paste.
#include "tuner/plain/reading_remark.h"

#include <algorithm>
#include <cctype>

#include "trainable/values.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/decimal.h"
#include "tuner/plain/named_number.h"

namespace tune {

namespace {

/// For the number in the brackets of "NAME: 0.5 (0.6)".
std::string expression_in_brackets(std::string name) {
  constexpr std::string_view plain = "_@/% -";
  std::replace_if(
      name.begin(), name.end(),
      [plain](unsigned char c) { return std::isalnum(c) == 0 && plain.find(c) == plain.npos; },
      '.');
  // Without an apostrophe, as a shell is given it between two.
  return "(?:^|[^A-Za-z0-9_./-])" + name + "[^A-Za-z0-9(]+[^ ()]+ *[(] *([^ ()]+) *[)]";
}

}  // namespace

std::string sentence_of(const ReadingRemark& remark) {
  constexpr std::size_t shown_bytes = 200;
  const std::string begin = "has printed '" + clean_text(remark.line.substr(0, shown_bytes)) + "'";
  const std::string remedy =
      "; if it is a result, say how results are read: \"metrics\" (docs/plain.md)";
  switch (remark.what) {
    case ReadingRemark::What::cut:
      return begin +
             ", where a number has thousands set apart, or goes on in another way that is not "
             "read: it counts as none. Print it as 1000 or 1e3, or say which part of the line it "
             "is: \"metrics\" (docs/plain.md)";
    case ReadingRemark::What::no_result:
      return begin + ": the number of '" + remark.name +
             "' is in source, in a message, in help or in settings there, or is a target or the "
             "like, and counts as none" +
             remedy;
    case ReadingRemark::What::no_colon:
      return begin + ", which counts as none, as '" + remark.name +
             "' stood before a colon earlier" + remedy;
    case ReadingRemark::What::other_table:
      return begin + ", which has as many numbers as its table with '" + remark.name +
             "' has columns, and does not go on with that: it counts as none. If it is a row of "
             "that, print the names again above it, or say how results are read: \"metrics\" "
             "(docs/plain.md)";
    case ReadingRemark::What::lost_row:
      return begin + ", which may go on with its table with '" + remark.name +
             "' or with the rows of another one: it counts as none, and neither do rows behind it "
             "that do not go on with what has counted. Print the names again above it, or say how "
             "results are read: \"metrics\" (docs/plain.md)";
    case ReadingRemark::What::doubtful_row:
      return begin + ", which may be a row of another table: it counts as one of the table with '" +
             remark.name +
             "'. If it is none of that, say how results are read: \"metrics\" (docs/plain.md)";
    case ReadingRemark::What::several_numbers: {
      std::string number;
      NamedNumber found = find_number(remark.line, remark.name, NumberForm::colon);
      if (found.is_none()) found = find_number(remark.line, remark.name, NumberForm::blank);
      append_decimal(number, found.number.value.value_or(0));
      return begin + ", where '" + remark.name + "' has several numbers: " + number +
             " counts. If another one is meant, name the metric with the word in front of it, or "
             "say how results are read: \"metrics\" (docs/plain.md)";
    }
    case ReadingRemark::What::two_numbers: {
      const Json metrics{{remark.name, expression_in_brackets(remark.name)}};
      return begin +
             ": the number before the brackets counts. If the one in them is meant, such as a "
             "running average: --set 'trainable/plain/metrics=" +
             metrics.dump() + "'";
    }
  }
  return begin;
}

}  // namespace tune
