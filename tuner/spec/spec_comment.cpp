// Wraps a sentence into comment lines.
#include "tuner/spec/spec_comment.h"

#include <algorithm>

#include "tuner/base/clean_text.h"

namespace tune {

std::string comment_lines(const std::string& indent, const std::string& text) {
  const std::string clean = clean_text(text);
  std::string out, line;
  for (std::size_t begin = 0; begin < clean.size();) {
    const std::size_t end = std::min(clean.find(' ', begin), clean.size());
    const std::string word = clean.substr(begin, end - begin);
    if (!line.empty() && indent.size() + 4 + line.size() + word.size() > page_columns) {
      out += indent + "// " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return line.empty() ? out : out + indent + "// " + line + "\n";
}

}  // namespace tune
