#include <algorithm>
#include <string>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/transitions.h"
#include "model/reuse.h"

namespace vortex::core {
namespace {

void keep_task(Context& cx, TaskIx ix, const KeptTask& kept) {
  Task& task = cx.task(ix);
  task.notes_for_writing().reused_from = kept.from;
  if (!kept.outputs.empty()) {
    if (!planted(PlantedBug::kKeptOutputsLost)) {
      cx.fx.rows.task_data.push_back(
          {.id = cx.id_of(task), .epoch = task.epoch, .outputs = kept.outputs});
    }
    read_outputs(cx.state, cx.run_of(task), task.node, kept.outputs);
  }
  cx.event(EventKind::kTaskComplete, {.worker = {}, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}}, {"reused_from", kept.from}});
  finish_task(cx, ix, TaskEvent::kKept, TaskState::kCompleted);
}

}  // namespace

const KeptNode* kept_for(const Context& cx, RunIx run_ix, std::uint32_t index) {
  if (cx.kept == nullptr || cx.keeping != run_ix) return nullptr;
  const auto found = std::ranges::lower_bound(cx.kept->nodes, index, {}, &KeptNode::node);
  if (found == cx.kept->nodes.end() || found->node != index) return nullptr;
  const DagPlan& plan = *cx.state.runs[run_ix].plan;
  return found->tasks.size() == plan.tasks_of(index) ? &*found : nullptr;
}

void keep_node(Context& cx, RunIx run_ix, std::uint32_t index, const KeptNode& kept) {
  REACHED("core: result of an earlier run kept");
  const std::uint32_t first = cx.run(run_ix).plan->first_task(index);
  for (std::uint32_t i = 0; i < kept.tasks.size(); ++i) {
    TaskIx ix = cx.run(run_ix).tasks[first + i];
    if (!ix.valid()) ix = make_task(cx, run_ix, index, first + i);
    keep_task(cx, ix, kept.tasks[i]);
  }
}

}  // namespace vortex::core
