#include <algorithm>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/reconcile.h"
#include "model/check.h"
#include "model/value.h"

namespace vortex::core {
namespace {

std::string_view how_it_ended(NodeOutcome outcome) {
  constexpr std::string_view kTexts[] = {"completed", "failed", "was skipped", "was cancelled"};
  return kTexts[static_cast<std::size_t>(outcome)];
}

ItemList list_from(const Value& value, std::size_t items_max) {
  ItemList list;
  if (value.kind == Value::Kind::kMissing) return list;
  auto texts = item_texts(value, items_max);
  if (!texts) {
    list.wrong = "the value " + texts.error();
    return list;
  }
  for (std::size_t i = 0; i < texts->size(); ++i) {
    auto complaint = complain_of_argument("the value", (*texts)[i], kArgumentBytesMax);
    if (!complaint) continue;
    list.wrong = "item " + std::to_string(i) + ": " + *complaint;
    return list;
  }
  list.items = std::make_shared<const std::vector<std::string>>(*std::move(texts));
  return list;
}

// Of both kinds of it: the text and what a string takes up beside it.
std::uint64_t bytes_of(const ItemList& list) {
  std::uint64_t bytes = list.wrong.size();
  if (!list.items) return bytes;
  for (const std::string& item : *list.items) bytes += item.size() + sizeof(std::string);
  return bytes;
}

std::string prefix_of(const Run& run, std::uint32_t index) {
  const auto& over = std::get<MapOver>(run.plan->node_spec(index).map->over);
  return "cannot make the items of the map over " + over.text + ": ";
}

std::expected<MapItems, std::string> items_for(const Run& run, std::uint32_t index) {
  const std::uint32_t source = *run.plan->nodes[index].map_source;
  const ItemList& list = run.lists[source];
  if (list.items) return list.items;
  return std::unexpected(prefix_of(run, index) + (list.wrong.empty()
                                                      ? why_unknown(run, run.plan->lists[source])
                                                      : list.wrong));
}

void take_plan(Context& cx, RunIx run_ix, PlanPtr plan) {
  Run& run = cx.run(run_ix);
  book_tasks(cx.state, run, plan->tasks - run.plan->tasks);
  run.plan = std::move(plan);
  run.tasks.resize(run.plan->tasks);
  ++run.changes;
  cx.touch(run_ix);
}

}  // namespace

std::string why_unknown(const Run& run, const ValueRead& read) {
  if (!read.node) return "the run has no such param";
  const std::string name = in_quotes(run.plan->node_spec(*read.node).name);
  const NodeOutcome outcome = run.nodes[*read.node].outcome;
  if (outcome == NodeOutcome::kSuccess) return "task " + name + " has no such output";
  return "task " + name + " " + std::string(how_it_ended(outcome)) + ", so it has no outputs";
}

void read_lists(State& state, Run& run, ReadSpan span, std::string_view values) {
  if (span.count == 0 || values.empty()) return;
  std::vector<const Steps*> paths;
  paths.reserve(span.count);
  for (std::uint32_t i = 0; i < span.count; ++i) {
    paths.push_back(&run.plan->lists[span.first + i].steps);
  }
  const auto picked = pick_values(values, paths, values.size());
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < span.count; ++i) {
    ItemList& list = run.lists[span.first + i];
    list = picked ? list_from((*picked)[i], state.policy.dag_limits.tasks_max)
                  : ItemList{nullptr, "cannot read the value: " + picked.error()};
    bytes += bytes_of(list);
  }
  book_reads(state, run, bytes);
}

RuleSays judge_map(const Run& run, std::uint32_t index) {
  const DagPlan& plan = *run.plan;
  if (!plan.is_late(index) || plan.laid_out(index) != nullptr) return RuleSays::kStart;
  const ValueRead& source = plan.lists[*plan.nodes[index].map_source];
  if (source.node && run.nodes[*source.node].phase != NodePhase::kDone) return RuleSays::kWait;
  return items_for(run, index) ? RuleSays::kStart : RuleSays::kFail;
}

std::string why_no_items(const Run& run, std::uint32_t index) {
  if (judge_map(run, index) != RuleSays::kFail) return {};
  return items_for(run, index).error();
}

std::vector<std::string> map_waits_for(const Run& run, std::uint32_t index) {
  if (judge_map(run, index) != RuleSays::kWait) return {};
  const ValueRead& source = run.plan->lists[*run.plan->nodes[index].map_source];
  return {"its map goes over an output of '" + run.plan->node_spec(*source.node).name +
          "', which has not ended"};
}

std::string lay_out_map(Context& cx, RunIx run_ix, std::uint32_t index) {
  const Run& run = cx.run(run_ix);
  auto items = items_for(run, index);
  if (!items) return items.error();
  auto tasks = static_cast<std::uint32_t>((*items)->size());
  const std::uint32_t most = cx.state.policy.dag_limits.tasks_max;
  if (tasks > most - std::min(run.plan->tasks, most)) {
    return prefix_of(run, index) + std::to_string(tasks) + " more tasks after " +
           std::to_string(run.plan->tasks) + " are too many; the limit is " + std::to_string(most);
  }
  const std::string wrong = over_quota(cx.state, run, tasks);
  if (!wrong.empty()) return prefix_of(run, index) + wrong;
  if (planted(PlantedBug::kLateItemForgotten) && tasks > 1) {
    *items = std::make_shared<const std::vector<std::string>>((*items)->begin(), --(*items)->end());
    --tasks;
  }
  REACHED("core: map made at run time");
  if (tasks == 0) REACHED("core: map without items completed");
  take_plan(cx, run_ix, lay_out(*run.plan, {index, 0, tasks, false, *std::move(items)}));
  return {};
}

void lay_out_failed(Context& cx, RunIx run_ix, std::uint32_t index) {
  const Run& run = cx.run(run_ix);
  if (!run.plan->is_late(index) || run.plan->laid_out(index) != nullptr) return;
  REACHED("core: map at run time had no items to be made of");
  take_plan(cx, run_ix, lay_out(*run.plan, {index, 0, 1, true, nullptr}));
}

void give_items(Context& cx, RunIx run_ix) {
  Run& run = cx.run(run_ix);
  for (std::size_t i = 0; i < run.plan->late.size(); ++i) {
    const LaidOut& map = run.plan->late[i];
    if (map.failed || map.items) continue;
    const auto items = items_for(run, map.node);
    if (items && (*items)->size() == map.tasks) {
      MapItems given = *items;
      if (planted(PlantedBug::kLateItemsTurned)) {
        given =
            std::make_shared<const std::vector<std::string>>((*items)->rbegin(), (*items)->rend());
      }
      run.plan = with_items(*run.plan, map.node, std::move(given));
    } else {
      note_repair(cx, {}, "items of a map are not known any more", run_ix);
    }
  }
}

TaskIx first_task_of(const Run& run, std::uint32_t index) {
  if (run.plan->tasks_of(index) == 0) return TaskIx::none();
  return run.tasks[run.plan->first_task(index)];
}

}  // namespace vortex::core
