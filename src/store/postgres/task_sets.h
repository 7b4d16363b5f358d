#pragma once
// Writes tasks, what they keep and their attempts as sets: one statement for all rows of a kind.
//
// The guesses are those of sql/task_rows.h, for all rows at once; a row for which a guess was
// wrong, and one that comes twice in a commit, is then written by itself. Writer's thread only.

#include <cstdint>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/rows.h"
#include "store/postgres/row_set.h"
#include "store/sql/task_rows.h"

namespace vortex::store::postgres {

class TaskSets {
 public:
  TaskSets(Session& db, store::sql::Known& known, const store::sql::RunRows& runs);

  void write(store::sql::Transaction& tx, const RowBatch& rows);
  void write_pieces(store::sql::Transaction& tx, const std::vector<CheckpointPiece>& pieces) {
    single_.write_pieces(tx, pieces);
  }

 private:
  using AttemptKey = std::pair<std::int64_t, std::uint64_t>;

  void add_task(store::sql::Transaction& tx, const TaskRow& row);
  void add_data(store::sql::Transaction& tx, const TaskDataRow& row);
  void add_attempt(store::sql::Transaction& tx, const AttemptRow& row);
  void check_updates(store::sql::Transaction& tx);
  void check_attempts(store::sql::Transaction& tx);

  store::sql::TaskRows single_;
  RowSet update_;
  RowSet upsert_;
  RowSet data_;
  RowSet attempts_;
  RowSet present_;
  std::unordered_set<std::int64_t> tasks_seen_;
  std::unordered_set<std::int64_t> data_seen_;
  std::set<AttemptKey> attempts_seen_;
  std::vector<const TaskRow*> updated_;
  std::vector<std::pair<const AttemptRow*, std::int64_t>> added_;  // and the number of its worker
  std::vector<const TaskRow*> again_tasks_;
  std::vector<const TaskDataRow*> again_data_;
  std::vector<const AttemptRow*> again_attempts_;
};

}  // namespace vortex::store::postgres
