// Each line of its input as a line of a journal, with its checksum: for tests that put what no
// driver writes.
#include <iostream>
#include <string>

#include "tuner/journal/journal.h"

int main() {
  std::string lines;
  for (std::string line; std::getline(std::cin, line);) tune::append_journal_line(lines, line);
  std::cout << lines;
}
