#pragma once
// One table of the committed state, and what the newest commit changed in it.
//
// While a commit is being checked each changed row is there before and after; rows of one key
// within a commit count as one change, as in the store. Changes live until the next commit.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace vortex::sim {

template <class Row>
struct RowChange {
  const Row* after = nullptr;
  std::optional<Row> before;
  std::uint32_t times = 1;  // how many rows of this key the commit held

  const Row* was() const { return before ? &*before : nullptr; }
};

template <class Key, class Row>
class RowTable {
 public:
  struct Entry {
    Row row;
    std::uint64_t commit = 0;  // the newest that wrote it
    std::size_t change = 0;    // its place in `changes`, when that commit is the current one
  };

  void begin_commit() {
    ++commit_;
    changes_.clear();
  }

  void put(const Key& key, const Row& row) {
    const auto [at, is_new] = rows_.try_emplace(key);
    Entry& entry = at->second;
    if (entry.commit == commit_) {
      ++changes_[entry.change].times;
      entry.row = row;
      return;
    }
    RowChange<Row>& change = changes_.emplace_back();
    if (!is_new) change.before = std::move(entry.row);
    entry.row = row;
    entry.commit = commit_;
    entry.change = changes_.size() - 1;
    change.after = &entry.row;
  }

  const Row* find(const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second.row;
  }

  // The row as it was before the commit that is being checked.
  const Row* find_before(const Key& key) const {
    const auto found = rows_.find(key);
    if (found == rows_.end()) return nullptr;
    const Entry& entry = found->second;
    return entry.commit == commit_ ? changes_[entry.change].was() : &entry.row;
  }

  bool changed(const Key& key) const {
    const auto found = rows_.find(key);
    return found != rows_.end() && found->second.commit == commit_;
  }

  const std::vector<RowChange<Row>>& changes() const { return changes_; }
  const std::map<Key, Entry>& all() const { return rows_; }

 private:
  std::uint64_t commit_ = 0;
  std::map<Key, Entry> rows_;
  std::vector<RowChange<Row>> changes_;
};

}  // namespace vortex::sim
