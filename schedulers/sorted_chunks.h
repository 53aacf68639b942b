// A sorted set that knows ranks and is copied fast: its entries lie side by side, some hundreds in
// a chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tune {

/// Each change and look-up costs O(log n + n / chunk_entries) steps, each of which is very cheap.
/// `Entry` is a small value.
template <class Entry, class Less>
class SortedChunks {
 public:
  class Iterator {
   public:
    const Entry& operator*() const { return (*chunk_)[place_]; }
    Iterator& operator++() {
      if (++place_ == chunk_->size()) {
        ++chunk_;
        place_ = 0;
      }
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    friend class SortedChunks;
    using Chunk = typename std::vector<std::vector<Entry>>::const_iterator;
    Iterator(Chunk chunk, std::size_t place) : chunk_(chunk), place_(place) {}
    Chunk chunk_;
    std::size_t place_;
  };

  Iterator begin() const { return {chunks_.begin(), 0}; }
  Iterator end() const { return {chunks_.end(), 0}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Nothing happens if there is an equal one.
  void insert(const Entry& entry) {
    if (chunks_.empty()) chunks_.emplace_back();
    auto chunk = chunk_of(entry);
    if (chunk == chunks_.end()) --chunk;
    const auto place = std::lower_bound(chunk->begin(), chunk->end(), entry, Less());
    if (place != chunk->end() && !Less()(entry, *place)) return;
    chunk->insert(place, entry);
    ++size_;
    if (chunk->size() > chunk_entries) split(chunk);
  }

  /// Nothing happens if there is none.
  void erase(const Entry& entry) {
    const auto chunk = chunk_of(entry);
    if (chunk == chunks_.end()) return;
    const auto place = std::lower_bound(chunk->begin(), chunk->end(), entry, Less());
    if (place == chunk->end() || Less()(entry, *place)) return;
    chunk->erase(place);
    --size_;
    const auto next = chunk + 1;
    if (chunk->empty()) {
      chunks_.erase(chunk);
    } else if (next != chunks_.end() && chunk->size() + next->size() < chunk_entries / 4) {
      chunk->insert(chunk->end(), next->begin(), next->end());
      chunks_.erase(next);
    }
  }

  /// The one that `rank` others come before; `rank` is less than `size()`.
  const Entry& at(std::size_t rank) const {
    auto chunk = chunks_.begin();
    for (; rank >= chunk->size(); ++chunk) rank -= chunk->size();
    return (*chunk)[rank];
  }

  /// How many come before `entry`, which need not be there.
  std::size_t rank(const Entry& entry) const {
    const auto last = chunk_of(entry);
    std::size_t before = 0;
    for (auto chunk = chunks_.begin(); chunk != last; ++chunk) before += chunk->size();
    if (last == chunks_.end()) return before;
    const auto place = std::lower_bound(last->begin(), last->end(), entry, Less());
    return before + static_cast<std::size_t>(place - last->begin());
  }

 private:
  static constexpr std::size_t chunk_entries = 512;

  /// The first whose last entry does not come before `entry`.
  template <class Chunks>
  static auto chunk_in(Chunks& chunks, const Entry& entry) {
    return std::partition_point(chunks.begin(), chunks.end(), [&](const auto& chunk) {
      return !chunk.empty() && Less()(chunk.back(), entry);
    });
  }
  auto chunk_of(const Entry& entry) { return chunk_in(chunks_, entry); }
  auto chunk_of(const Entry& entry) const { return chunk_in(chunks_, entry); }

  void split(typename std::vector<std::vector<Entry>>::iterator chunk) {
    const auto middle = chunk->begin() + chunk_entries / 2;
    std::vector<Entry> upper(middle, chunk->end());
    chunk->erase(middle, chunk->end());
    chunks_.insert(chunk + 1, std::move(upper));
  }

  std::vector<std::vector<Entry>> chunks_;  ///< none is empty
  std::size_t size_ = 0;
};

}  // namespace tune
