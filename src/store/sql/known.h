#pragma once
// What the writer remembers of the rows it has written, so that it need not ask before every write.
//
// Only ever a copy: after any failed commit it is thrown away and read again. Writer's thread only.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "model/plan.h"
#include "model/sync.h"
#include "store/error.h"
#include "store/plan_shelf.h"
#include "store/sql/statement.h"

namespace vortex::store::sql {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
template <class Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

struct LiveRun {
  std::uint64_t digest = 0;
  PlanPtr plan;  // null: not asked for yet
};

class Known {
 public:
  Known(Session& db, PlanShelf& shelf);

  // Reads what is missing. Every other member needs it first.
  Result<void> load();
  void forget();

  // The definition of a run that is running; null with an error when it cannot be read.
  Result<PlanPtr> plan_of(std::uint64_t run);
  // From the shelf or the database; null: not kept.
  Result<PlanPtr> plan(std::uint64_t digest);

  std::unordered_map<std::uint64_t, LiveRun> live;  // runs whose row says Running
  std::unordered_set<std::uint64_t> digests;        // definitions that are stored
  ByText<std::int64_t> worker_numbers;
  ByText<std::shared_ptr<const WorkerInfo>> workers;  // as last written
  std::uint64_t highest_run = 0;                      // of all runs that are kept or being removed
  std::uint64_t finished_runs = 0;
  std::uint64_t doomed_runs = 0;

 private:
  PlanShelf& shelf_;
  Statement& live_runs_;
  Statement& digest_of_run_;
  Statement& all_digests_;
  Statement& highest_run_;
  Statement& count_finished_;
  Statement& count_doomed_;
  Statement& spec_;
  bool loaded_ = false;
};

}  // namespace vortex::store::sql
