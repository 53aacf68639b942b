// Compares when files were begun: which begin opens the last save, and which file is a log.
#include "tuner/plain/last_save.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

namespace tune {

namespace {

/// By kind of file.
std::map<std::string, std::vector<WriteBegin>> begins_of(const std::vector<FileWrites>& files) {
  std::map<std::string, std::vector<WriteBegin>> begins;
  for (const FileWrites& file : files) {
    auto& of_kind = begins[kind_of_file(file.name)];
    of_kind.push_back(file.last);
    if (file.before) of_kind.push_back(*file.before);
  }
  return begins;
}

/// The last begin of a file that was begun again after something was printed.
std::int64_t save_before(const std::vector<FileWrites>& files, std::int64_t launched_ns) {
  std::int64_t before_ns = launched_ns;
  for (const auto& [kind, all] : begins_of(files)) {
    const auto last =
        std::max_element(all.begin(), all.end(),
                         [](const WriteBegin& a, const WriteBegin& b) { return a.ns < b.ns; });
    for (const WriteBegin& begin : all) {
      if (begin.printed_before < last->printed_before) before_ns = std::max(before_ns, begin.ns);
    }
  }
  return before_ns;
}

}  // namespace

bool is_full_round(const std::vector<FileWrites>& files) {
  std::uint64_t printed = 0;
  auto all = begins_of(files);
  for (auto& [kind, begins] : all) {
    std::sort(begins.begin(), begins.end(),
              [](const WriteBegin& a, const WriteBegin& b) { return a.ns < b.ns; });
    printed = std::max(printed, begins.back().printed_before);
  }
  std::int64_t begun_before_ns = std::numeric_limits<std::int64_t>::max();
  for (const auto& [kind, begins] : all) {
    if (begins.back().printed_before < printed) continue;
    if (begins.size() < 2) return false;
    const WriteBegin& before = begins[begins.size() - 2];
    if (before.printed_before == printed) return false;
    begun_before_ns = std::min(begun_before_ns, before.ns);
  }
  // What is not of the last save was not of the one before, either.
  return std::all_of(all.begin(), all.end(), [&](const auto& of_kind) {
    const WriteBegin& last = of_kind.second.back();
    return last.printed_before == printed || last.ns < begun_before_ns;
  });
}

std::string kind_of_file(std::string name) {
  std::erase_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  return name;
}

bool is_log(const WriteBegin& opened, const std::vector<FileWrites>& closed) {
  for (auto [kind, all] : begins_of(closed)) {
    std::erase_if(all, [&](const WriteBegin& begin) { return begin.ns <= opened.ns; });
    const auto [first, last] =
        std::minmax_element(all.begin(), all.end(), [](const WriteBegin& a, const WriteBegin& b) {
          return a.printed_before < b.printed_before;
        });
    if (first != last && first->printed_before < last->printed_before) return true;
  }
  return false;
}

std::optional<std::size_t> first_of_last_save(const std::vector<FileWrites>& files,
                                              std::int64_t launched_ns) {
  if (files.empty()) return std::nullopt;
  // A best model that did not get better was written right behind the rest of the save before.
  constexpr std::int64_t share_of_save = 8;
  const std::int64_t before_ns = save_before(files, launched_ns);
  std::int64_t last_ns = before_ns;
  for (const FileWrites& file : files) last_ns = std::max(last_ns, file.last.ns);
  const std::int64_t from_ns = before_ns + (last_ns - before_ns) / share_of_save;
  std::size_t first = 0;
  std::int64_t first_ns = last_ns;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].last.ns < from_ns || files[i].last.ns > first_ns) continue;
    first = i;
    first_ns = files[i].last.ns;
  }
  return first;
}

}  // namespace tune
