#pragma once
// One transaction of the controller: what the core changed and what its shell adds.
//
// All of it becomes durable or nothing does. The store refuses it when `term` is not the newest.

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/rows.h"

namespace vortex::store {

// The events of one commit as lines of JSON, each ending with a newline; kept compressed.
struct EventBlock {
  std::uint64_t first_seq = 0;  // 0: the commit has no events
  std::uint64_t last_seq = 0;
  std::string lines;
};

// A piece of an attempt's output. Counted by bytes: a piece that repeats or overlaps what is there
// adds only what is new, a piece that would leave a gap is refused before it gets here.
struct LogChunk {
  Attempt attempt;
  std::uint64_t offset = 0;
  std::string data;
};

enum class Role : std::uint8_t { kViewer, kSubmitter, kOperator, kWorker, kAdmin };

struct TokenRow {  // key: name
  std::string name;
  Role role = Role::kViewer;
  std::string hash;  // of the secret; the secret itself is never stored
  Instant created_at;
  bool revoked = false;
};

// A named DAG that runs can be made from. Every version that was applied is kept by its digest.
struct DagRow {  // key: name
  std::string name;
  PlanPtr plan;
  Instant updated_at;
  bool deleted = false;
};

struct Commit {
  Term term;
  Instant now;  // the term clock; never goes back, also across restarts
  RowBatch rows;
  EventBlock events;
  std::vector<LogChunk> logs;
  std::vector<TokenRow> tokens;
  std::vector<DagRow> dags;
  std::vector<RunId> expired;  // finished runs that are forgotten: gone from reads with this commit
};

}  // namespace vortex::store
