#pragma once
// What one commit will make true, gathered from many steps, and what leaves after it.
//
// Rows with the same key are merged: the last state wins, so a task that was granted and finished
// between two commits is written once. Owned by the engine's thread until it is handed over.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/effects.h"
#include "model/commit.h"
#include "model/event.h"

namespace vortex::engine {

// Where the row with a key is in the list that is being gathered: a hash table from one number to
// another that is only ever asked and added to.
//
// Nobody can see an order in it, so it keeps the engine's promise of same input, same output.

class KeyIndex {
 public:
  struct Found {
    std::size_t place;
    bool is_new;
  };
  // The place of this key; `place` when it was not known.
  Found find_or_add(std::uint64_t key, std::size_t place) {
    if ((size_ + 1) * 2 > cells_.size()) grow();
    Cell& cell = cell_of(key);
    if (cell.place_plus_one != 0) return {cell.place_plus_one - 1, false};
    cell = {key, place + 1};
    ++size_;
    return {place, true};
  }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::size_t place_plus_one = 0;  // 0: empty
  };
  static constexpr std::size_t kFirstCells = 64;  // a power of two, as all sizes are

  Cell& cell_of(std::uint64_t key) {
    const std::size_t mask = cells_.size() - 1;
    // Neighbouring keys are the rule: the multiplication spreads them over all cells.
    std::size_t at = (key * 0x9E3779B97F4A7C15U >> 20U) & mask;
    while (cells_[at].place_plus_one != 0 && cells_[at].key != key) at = (at + 1) & mask;
    return cells_[at];
  }

  void grow() {
    std::vector<Cell> old(cells_.empty() ? kFirstCells : cells_.size() * 2);
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.place_plus_one != 0) cell_of(cell.key) = cell;
    }
  }

  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

// How an event becomes a line of the event log.
using WriteEvent = void (*)(std::string& lines, const Event& event);

class Batch {
 public:
  // Null: nobody reads the lines, there are none.
  explicit Batch(WriteEvent write_event = nullptr) : write_event_(write_event) {}

  void add(core::Effects&& effects, Instant now);
  void add(LogChunk chunk) { commit_.logs.push_back(std::move(chunk)); }
  void add(CheckpointPiece piece) { commit_.pieces.push_back(std::move(piece)); }
  void add(TokenRow row) { commit_.tokens.push_back(std::move(row)); }
  void add(WebhookRow row) { commit_.webhooks.push_back(std::move(row)); }
  void add(WebhookStep step) { commit_.webhook_steps.push_back(std::move(step)); }
  void add(WebhookSeal seal) { commit_.webhook_seals.push_back(std::move(seal)); }
  void add(SecretChange change) { commit_.secrets.push_back(std::move(change)); }
  void add(SecretRewrap rewrap) { commit_.rewraps.push_back(std::move(rewrap)); }
  void add(std::vector<AuditRow> rows) {
    std::ranges::move(rows, std::back_inserter(commit_.audit));
  }
  void expire(RunId run) { commit_.expired.push_back(run); }
  void answer(core::Reply reply) { replies.push_back(std::move(reply)); }

  // Nothing to write: its answers need no commit of their own.
  bool writes_nothing() const;
  bool is_empty() const {
    return writes_nothing() && replies.empty() && probes.empty() && samples.empty() && !self_check;
  }
  std::size_t rows() const;

  // The transaction, complete with its term and time.
  const Commit& seal(Term term, Instant now);
  const Commit& commit() const { return commit_; }

  std::vector<core::Reply> replies;
  std::vector<core::Probe> probes;
  std::vector<Event> events;  // for the metrics; the lines are in the commit
  bool self_check = false;
  std::vector<core::Sample> samples;

 private:
  void add_rows(RowBatch&& rows);
  void drop_forgotten(RowBatch& rows);

  WriteEvent write_event_;
  Commit commit_;
  // Where in commit_.rows the row with this key is.
  KeyIndex task_at_;
  KeyIndex run_at_;
  std::map<std::string, std::size_t> worker_at_;
};

}  // namespace vortex::engine
