// Merges changes, and cuts them into frames.
#include "apps/dashboard/server/changes.h"

#include <utility>

namespace tune {

namespace {

std::string frame_of(const char* kind, std::uint64_t event, const std::string& data) {
  return std::string("event: ") + kind + "\nid: " + std::to_string(event) + "\ndata: " + data +
         "\n\n";
}

}  // namespace

void PendingChanges::add(const Changes& changes) {
  if (changes.event == event_ && changes.rows.empty() && !changes.is_reset &&
      changes.gone == gone_ && (changes.status.empty() || changes.status == status_)) {
    return;
  }
  has_news_ = true;
  event_ = changes.event;
  gone_ = changes.gone;
  columns_ = changes.columns;
  if (!changes.status.empty()) status_ = changes.status;
  if (changes.is_reset) is_reset_ = true;
  for (const ChangedRow& row : changes.rows) {
    if (is_reset_) break;
    rows_.insert_or_assign(row.trial, row.text);
    if (rows_.size() > most_rows) is_reset_ = true;
  }
  if (is_reset_) rows_.clear();
}

bool PendingChanges::is_empty() const { return !has_news_; }

std::string PendingChanges::take_frame() {
  if (!has_news_) return "";
  has_news_ = false;
  if (!gone_.empty()) return frame_of("gone", event_, gone_);
  if (std::exchange(is_reset_, false)) return frame_of("reset", event_, "{}");
  std::string data = "{\"event\":" + std::to_string(event_) +
                     ",\"status\":" + (status_.empty() ? "null" : status_) +
                     ",\"columns\":" + (columns_.empty() ? "[]" : columns_) + ",\"rows\":[";
  constexpr std::size_t ending = 128;  // brackets, and what stands around the data
  bool is_first = true;
  while (!rows_.empty()) {
    const auto row = rows_.begin();
    if (data.size() + row->second->size() + ending > most_frame_bytes) {
      // One that never fits is told by the whole.
      if (is_first) {
        rows_.clear();
        return frame_of("reset", event_, "{}");
      }
      break;
    }
    if (!std::exchange(is_first, false)) data += ',';
    data += *row->second;
    rows_.erase(row);
  }
  has_news_ = !rows_.empty();
  // What is left out is older than what comes with the number: so the page is not to go on from it.
  data += "],\"more\":";
  data += has_news_ ? "true" : "false";
  return frame_of("rows", event_, data + "}");
}

}  // namespace tune
