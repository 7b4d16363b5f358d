#pragma once
// Writes tasks, what they keep and their attempts: most of what a controller ever writes.
//
// A row that is probably there is updated first, one that is probably new is inserted first; both
// guesses may be wrong and cost only a second look. Writer's thread only.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "model/rows.h"
#include "store/sql/known.h"
#include "store/sql/run_rows.h"
#include "store/sql/statement.h"

namespace vortex::store::sql {

class TaskRows {
 public:
  TaskRows(Session& db, Known& known, const RunRows& runs);

  void write(Transaction& tx, const RowBatch& rows);

  // ---- The same row by row, for a store that writes most of them as a set ----
  void begin();
  void write_task(Transaction& tx, const TaskRow& row);
  void write_data(Transaction& tx, const TaskDataRow& row);
  void write_attempt(Transaction& tx, const AttemptRow& row);
  bool looks_new(const TaskRow& row);
  // What only a new task is written with. Fails the transaction for one that cannot be.
  struct Identity {
    std::string id;
    std::string_view name;  // as long as the plan
  };
  Identity identity_of(Transaction& tx, const TaskRow& row);
  void drop_pieces(Transaction& tx, std::int64_t key, const TaskDataRow& row);
  std::int64_t worker_number(Transaction& tx, const WorkerId& worker);
  void count_end(std::int64_t worker, Verdict verdict);
  void end(Transaction& tx);

  void write_pieces(Transaction& tx, const std::vector<CheckpointPiece>& pieces);

 private:
  struct Ends {
    std::int64_t completed = 0;
    std::int64_t ended = 0;
  };

  void upsert(Transaction& tx, const TaskRow& row);
  const DagPlan* plan_of(Transaction& tx, RunId run);
  void take_back(Transaction& tx, std::int64_t key, const AttemptRow& row);

  Known& known_;
  const RunRows& runs_;
  // Tasks come run by run: the last answer is mostly the next one.
  RunId last_run_;
  PlanPtr last_plan_;
  bool last_new_ = false;
  std::unordered_map<std::int64_t, Ends> ends_;  // by worker number
  Statement& update_;
  Statement& upsert_;
  Statement& write_data_;
  Statement& drop_pieces_;
  Statement& drop_unfinished_;
  Statement& insert_piece_;
  Statement& insert_attempt_;
  Statement& find_attempt_;
  Statement& delete_attempt_;
  Statement& find_number_;
  Statement& insert_number_;
  Statement& count_ends_;
};

}  // namespace vortex::store::sql
