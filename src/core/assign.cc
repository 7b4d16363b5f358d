#include <algorithm>
#include <optional>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"
#include "core/transitions.h"

namespace vortex::core {

namespace {

// How many tasks at the head of a class may be passed over because the asking worker is not for
// them. A bound keeps a claim cheap; what lies behind is freed when its keep-away ends.
constexpr int kPassOverMax = 32;

bool offers(const Worker& worker) {
  return (worker.parked || worker.answering) && worker.takes_work() && worker.capacity() > 0;
}

bool keeps_away(Context& cx, const Task& task, WorkerIx worker) {
  const auto& queued = std::get<Queued>(task.phase);
  if (queued.keep_away && queued.last_worker == worker) return true;
  if (!on_last_try(cx.state.policy, task) || !holds_last_try(cx.state, cx.worker(worker))) {
    return false;
  }
  REACHED("core: two suspects on their last try kept apart");
  return true;
}

// The first task of the class that this worker may have.
std::optional<TaskIx> pick(Context& cx, ClassIx cls, WorkerIx worker) {
  int passed = 0;
  for (const PriorityList& list : cx.state.ready[cls].lists) {
    for (TaskIx ix = list.tasks.head; ix.valid(); ix = cx.task(ix).links.next) {
      if (!keeps_away(cx, cx.task(ix), worker)) return ix;
      if (++passed >= kPassOverMax) return std::nullopt;
    }
  }
  return std::nullopt;
}

// Its run or map wants no more starts, but the sweep has not come to it yet.
bool put_aside(Context& cx, TaskIx ix) {
  Task const& task = cx.task(ix);
  Run& run = cx.run_of(task);
  if (ending_of(run, task.node) != RunEnding::kNone &&
      !planted(PlantedBug::kCancelIgnoredAfterRequeue)) {
    cancel_task(cx, ix);
    return true;
  }
  if (run.nodes[task.node].stopped) {
    unplace_task(cx, ix);
    finish_task(cx, ix, TaskEvent::kSkipped, TaskState::kSkipped);
    return true;
  }
  if (!is_paused(run)) return false;
  unplace_task(cx, ix);
  place_task(cx, ix, Turn::kBehind);
  return true;
}

void write_ledger(Context& cx, TaskIx ix, const Queued& was, WorkerIx now_on) {
  const Task& task = cx.task(ix);
  const std::string& previous = cx.worker(was.last_worker).info->id.text;
  cx.event(EventKind::kTaskReassigned, {.worker = now_on, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}},
            {"previous_worker", previous},
            {"new_worker", cx.worker(now_on).info->id.text}});
  if (was.recovery.value == 0) return;
  RecoveryItemRow& row = cx.fx.rows.recovery_items.emplace_back();
  row.recovery = was.recovery;
  row.task = cx.id_of(task);
  row.old_epoch = {task.epoch.value - 1};
  row.new_epoch = task.epoch;
  row.old_worker = WorkerId(previous);
  row.new_worker = cx.worker(now_on).info->id;
  row.attempts = task.counters.attempts;
}

void grant(Context& cx, TaskIx ix, WorkerIx worker_ix) {
  Task& task = cx.task(ix);
  const Queued was = std::get<Queued>(task.phase);
  NodeRun const& node = cx.node_of(task);
  // Ready to held: it stays in play, so it leaves the list without letting the next one move up.
  cx.state.ready.remove(cx.state.tasks, node.cls, cx.priority_of(task), ix);
  Scheduled scheduled;
  scheduled.grant.worker = worker_ix;
  scheduled.grant.granted_at = cx.now;
  move_task(cx, ix, TaskEvent::kGranted, scheduled);
  ++task.counters.attempts;
  take_slot(cx, ix, worker_ix);
  count_grant(cx, cx.node_of(task).cls);
  cx.state.timers.set({TimerKind::kTask, ix.value}, cx.judged + scheduled_timeout(cx, task));
  cx.event(EventKind::kTaskClaimed, {.worker = worker_ix, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}},
            {"epoch", static_cast<std::int64_t>(task.epoch.value)}});
  if (was.last_worker.valid()) write_ledger(cx, ix, was, worker_ix);
  tell_news(cx, worker_ix);
  refresh_offer(cx, worker_ix);
}

enum class Served : std::uint8_t { kGranted, kPutAside, kNothing };

Served try_grant(Context& cx, ClassIx cls, WorkerIx worker) {
  const auto ix = pick(cx, cls, worker);
  if (!ix) return Served::kNothing;
  if (put_aside(cx, *ix)) return Served::kPutAside;
  grant(cx, *ix, worker);
  return Served::kGranted;
}

bool can_serve(Context& cx, WorkerIx worker, ClassIx cls) {
  return worker_fits(cx, worker, cls) &&
         resources_fit(cx.worker(worker), cx.state.ready[cls].requirements.resources);
}

// The best class for this worker over all its queues, in order of priority and age.
Served serve_worker_once(Context& cx, WorkerIx ix) {
  const auto& queues = cx.state.ready[cx.worker(ix).profile].queues;
  using Cursor = std::pair<std::set<HeadKey>::const_iterator, std::set<HeadKey>::const_iterator>;
  std::vector<Cursor> cursors;
  for (const QueueIx q : queues) {
    const Queue& queue = cx.state.ready[q];
    if (!queue.paused && !queue.heads.empty()) {
      cursors.emplace_back(queue.heads.begin(), queue.heads.end());
    }
  }
  while (!cursors.empty()) {
    const auto best =
        std::min_element(cursors.begin(), cursors.end(),
                         [](const Cursor& a, const Cursor& b) { return *a.first < *b.first; });
    const ClassIx cls = best->first->cls;
    if (can_serve(cx, ix, cls)) {
      const Served served = try_grant(cx, cls, ix);
      if (served != Served::kNothing) return served;
    }
    if (++best->first == best->second) cursors.erase(best);
  }
  return Served::kNothing;
}

// False: the budget ended before its turn did.
bool serve_worker(Context& cx, WorkerIx ix, std::uint32_t& budget) {
  while (offers(cx.worker(ix))) {
    if (budget == 0) return false;
    --budget;
    if (serve_worker_once(cx, ix) == Served::kNothing) return true;
  }
  return true;
}

// Gives one task of the class away; the offers stand in order of load.
Served serve_class_once(Context& cx, ClassIx cls) {
  const QueueIx queue = cx.state.ready[cls].queue;
  for (const Offer& offer : cx.state.ready[queue].offers) {
    // One that just called is served after those that wait: it takes the best of all classes.
    if (cx.worker(offer.worker).to_serve || !can_serve(cx, offer.worker, cls)) continue;
    // The set of offers changes under a grant, so at most one is made per walk.
    const Served served = try_grant(cx, cls, offer.worker);
    if (served != Served::kNothing) return served;
  }
  return Served::kNothing;
}

// False: the budget ended before its turn did.
bool serve_class(Context& cx, ClassIx cls, std::uint32_t& budget) {
  if (cx.state.ready[cx.state.ready[cls].queue].paused) return true;
  while (cx.state.ready[cls].ready > 0 && !cx.state.ready[cls].blocked) {
    if (budget == 0) return false;
    --budget;
    if (serve_class_once(cx, cls) == Served::kNothing) return true;
  }
  return true;
}

void serve_offering(Context& cx, std::uint32_t& budget) {
  auto& offering = cx.state.offering;
  std::size_t done = 0;
  for (; done < offering.size() && budget > 0; ++done) {
    Worker& worker = cx.worker(offering[done]);
    worker.to_serve = false;
    if (serve_worker(cx, offering[done], budget)) continue;
    // It may have room for more than this step could give: its turn goes on in the next one.
    REACHED("core: a worker's turn went on in a later step");
    worker.to_serve = true;
    break;
  }
  offering.erase(offering.begin(), offering.begin() + static_cast<std::ptrdiff_t>(done));
}

void serve_dirty(Context& cx, std::uint32_t& budget) {
  auto& dirty = cx.state.ready.dirty;
  std::sort(dirty.begin(), dirty.end(),
            [&](ClassIx a, ClassIx b) { return cx.state.ready[a].head < cx.state.ready[b].head; });
  std::size_t done = 0;
  for (; done < dirty.size() && budget > 0; ++done) {
    const ClassIx cls = dirty[done];
    if (!serve_class(cx, cls, budget)) break;
    cx.state.ready[cls].dirty = false;
  }
  dirty.erase(dirty.begin(), dirty.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace

Duration scheduled_timeout(Context& cx, const Task& task) {
  const Policy& policy = cx.state.policy;
  if (planted(PlantedBug::kScheduledTimeoutBelowLease)) return policy.worker_lease / 4;
  // Never below the lease, whatever the task asks for: until then it may run unheard of.
  return std::max(cx.spec_of(task).scheduled_timeout.value_or(policy.scheduled_timeout),
                  policy.worker_lease);
}

bool refresh_offer(Context& cx, WorkerIx ix) {
  Worker& worker = cx.worker(ix);
  if (!offers(worker)) {
    cx.state.ready.remove_offer(worker, ix);
    return false;
  }
  cx.state.ready.add_offer(worker, ix);
  return true;
}

void update_offer(Context& cx, WorkerIx ix) {
  if (!refresh_offer(cx, ix) || cx.worker(ix).to_serve) return;
  cx.worker(ix).to_serve = true;
  cx.state.offering.push_back(ix);
}

void tell_news(Context& cx, WorkerIx ix) {
  Worker& worker = cx.worker(ix);
  if (!worker.has_news && !worker.answering) cx.calling.push_back(ix);
  worker.has_news = true;
}

void dispatch(Context& cx) {
  // What is left when the budget is used up stays in its list and goes on in the next step.
  std::uint32_t budget = cx.state.policy.bulk_tasks_per_step;
  serve_dirty(cx, budget);
  serve_offering(cx, budget);
}

}  // namespace vortex::core
