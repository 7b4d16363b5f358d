#pragma once
// Sub-DAGs: tasks that are runs of another DAG, Queued while that run lives.
//
// The run is made in the step that starts the task, one for each attempt: the task and its epoch
// name it. Ends go up, cancels, pauses and time limits go down, each in the step that they are of.
// Only core/machine.h and core/dag/*.cc include this.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/context.h"
#include "model/plan.h"
#include "model/rows.h"

namespace vortex::core {

std::uint32_t parallel_max(const NodeSpec& spec);  // of its tasks in play; 0: any number
inline bool is_paused(const Run& run) { return run.paused || run.paused_above; }
// The task is Queued and nowhere; start_children makes its run when this step settles.
void place_child(Context& cx, TaskIx ix);
void start_children(Context& cx);
void adopt_child(Context& cx, RunIx ix);  // nothing for a run that is no child
// True: its run was asked to end, and the task ends with it.
bool stop_child_of(Context& cx, TaskIx ix);
void pass_down(Context& cx, RunIx ix);               // that it is paused, resumed or ending
void on_child_ended(Context& cx, const Run& child);  // so does the attempt that it is
// What params of children and the outputs of the run read.
void read_passed(State& state, Run& run, ReadSpan span, std::string_view values);
void repair_children(Context& cx, const StoreImage& image);  // after a load
// Why no value is known of this read, for people.
std::string why_unknown(const Run& run, const ValueRead& read);

}  // namespace vortex::core
