#pragma once
// Writes runs, the definitions they use and named definitions. What never changes about a run (its
// definition and request) is written with its first row only. Writer's thread only.

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/commit.h"
#include "store/log_span.h"
#include "store/packed.h"
#include "store/sql/known.h"
#include "store/sql/statement.h"

namespace vortex::store::sql {

class RunRows {
 public:
  RunRows(Session& db, Known& known, PlanShelf& shelf, Packer& packer);

  void write(Transaction& tx, const Commit& commit);
  // Whether this run was made by the commit being written: its tasks are new too.
  bool is_new(RunId run) const { return new_runs_.contains(run.value); }
  // Runs less use this definition from now on; it goes when nobody does.
  void release_spec(Transaction& tx, std::uint64_t digest);

 private:
  void write_run(Transaction& tx, const RunRow& row);
  bool insert(Transaction& tx, const RunRow& row);
  void insert_labels(Transaction& tx, const RunRow& row);
  void note(const RunRow& row, bool inserted);
  void write_spec(Transaction& tx, const PlanPtr& plan);
  void write_dag(Transaction& tx, const DagRow& row);
  void write_schedule(Transaction& tx, const ScheduleRow& row);

  Known& known_;
  PlanShelf& shelf_;
  Packer& packer_;
  std::unordered_set<std::uint64_t> new_runs_;
  std::unordered_map<std::uint64_t, std::int64_t> new_uses_;  // by digest
  Statement& insert_;
  Statement& update_;
  Statement& insert_label_;
  Statement& insert_spec_;
  Statement& mark_applied_;
  Statement& count_uses_;
  Statement& delete_spec_;
  Statement& delete_uses_;
  Statement& write_dag_;
  Statement& delete_dag_;
  Statement& write_schedule_;
  Statement& delete_schedule_;
  Statement& spare_;
  Statement& write_signal_;
};

// Writes what attempts print: every byte once, by its offset, and no more than the limits allow.
// A piece that would leave a gap fails the commit with kBadRequest. Writer's thread only.

// By task key and epoch.
using LogHeads = std::map<std::pair<std::int64_t, std::uint64_t>, LogSpan>;

class LogRows {
 public:
  LogRows(Session& db, Packer& packer, LogLimits limits);

  // `heads` are those that the caller has read already; a span of nothing: there is none.
  void write(Transaction& tx, const std::vector<LogChunk>& chunks, LogHeads heads = {});

 private:
  LogSpan head_of(Transaction& tx, std::int64_t key, Epoch epoch, const LogHeads& heads);
  void write_chunk(Transaction& tx, const LogChunk& chunk, LogHeads& heads);
  void insert(Transaction& tx, std::int64_t key, Epoch epoch, std::uint64_t offset,
              std::string_view data);
  void cut(Transaction& tx, std::int64_t key, Epoch epoch, const LogSpan& span);

  Packer& packer_;
  LogLimits limits_;
  Statement& find_head_;
  Statement& write_head_;
  Statement& insert_chunk_;
  Statement& cut_chunks_;
};

}  // namespace vortex::store::sql
