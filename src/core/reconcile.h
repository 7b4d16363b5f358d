#pragma once
// The whole-state check: does what we remember agree with itself?
//
// Light looks at workers, what they hold and their machines; thorough recounts every run, list and
// counter. In a quiet system both find nothing. Tasks of dead workers are repaired in place with a
// ledger entry; anything else means our memory is wrong, and is thrown away and loaded again.

#include <cstdint>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/context.h"
#include "core/state/state.h"

namespace vortex::core {

enum class Depth : std::uint8_t { kLight, kThorough };

struct Finding {
  std::string what;
};

std::vector<Finding> check_state(const State& state, Depth depth);

// What the tasks of one node really are.
struct NodeCount {
  std::uint32_t created = 0;
  std::uint32_t finals = 0;
  std::uint32_t in_play = 0;
  TaskCounts made{};
};

// A thorough check in parts, each short enough to stand between two steps. The state may change
// between the parts; what a part compares it reads at once.
struct CheckProgress {
  bool begun = false;
  std::size_t slot = 0;
  std::uint64_t runs = 0;   // looked at so far
  std::uint64_t tasks = 0;  // likewise, made or not
  std::vector<std::string> findings;
  // A run too large for one part: how far it was counted, and as of which change.
  RunId run;
  std::uint64_t changes = 0;
  std::uint32_t next = 0;
  std::uint32_t restarts = 0;
  std::vector<NodeCount> counts;
};
// Does the next part. False: that was the last.
bool check_part(const State& state, CheckProgress& progress);

// The periodic light pass. One that finds nothing is told of only in sum, once an hour.
void on_reconcile_timer(Context& cx);

// Memory is in a state that cannot be: it is to be loaded again, and `what` noted then.
void doubt(Context& cx, std::string what);
void on_note_findings(Context& cx, const NoteFindings& command);

// Before a node counts as done: is each of its tasks really final? Counted anew, once per end.
bool node_really_complete(Context& cx, RunIx run, std::uint32_t node);
// Before a level is passed: is every node of it really done, and each of its tasks final?
bool level_really_complete(Context& cx, RunIx run, std::uint32_t level);

// Tasks assigned to workers that are gone are taken back.
void repair_held(Context& cx);

void note_repair(Context& cx, TaskIx task, const char* what, RunIx run = {});
void start_own_timers(Context& cx);

}  // namespace vortex::core
