#include "tests/core/driver.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"

namespace vortex::core {

namespace {

constexpr int kMovesMax = 3'000;

NodeSpec random_node(Rng& rng, std::uint32_t index, const DriverOptions& options) {
  NodeSpec spec = node(fmt::format("n{}", index));
  for (std::uint32_t need = 0; need < index; ++need) {
    if (rng.chance(250)) spec.needs.push_back(fmt::format("n{}", need));
  }
  if (rng.chance(500)) spec.trigger = static_cast<TriggerRule>(rng.below(7));
  spec.retry = retries(static_cast<std::uint16_t>(rng.below(3)), millis(rng.between(0, 3'000)));
  spec.priority = static_cast<std::int8_t>(rng.between(-2, 2));
  if (rng.chance(300)) {
    spec.map = range(1, rng.between(1, 6));
    spec.map->max_parallel = static_cast<std::uint32_t>(rng.below(4));
    if (options.count_limits && rng.chance(500)) {
      spec.map->max_failures = static_cast<std::uint32_t>(rng.below(3));
    }
  }
  return spec;
}

enum class NodeEnd : std::uint8_t { kOpen, kOk, kFailed, kSkipped };

struct NeedEnds {
  std::uint32_t ok = 0, failed = 0, skipped = 0, open = 0;
};

// The trigger rules once more, in other words than the core's.
bool is_met(TriggerRule rule, const NeedEnds& ends) {
  const bool all_done = ends.open == 0;
  switch (rule) {
    case TriggerRule::kAllSuccess:
      return all_done && ends.failed + ends.skipped == 0;
    case TriggerRule::kAllFailed:
      return all_done && ends.ok + ends.skipped == 0;
    case TriggerRule::kAllDone:
      return all_done;
    case TriggerRule::kOneSuccess:
      return ends.ok > 0;
    case TriggerRule::kOneFailed:
      return ends.failed > 0;
    case TriggerRule::kNoneFailed:
      return all_done && ends.failed == 0;
    case TriggerRule::kNoneSkipped:
      return all_done && ends.skipped == 0;
  }
  return false;
}

// Could it still be met, if the open needs ended in the best way for it?
bool can_be_met(TriggerRule rule, const NeedEnds& ends) {
  NeedEnds best = ends;
  best.open = 0;
  const bool wants_failures = rule == TriggerRule::kAllFailed || rule == TriggerRule::kOneFailed;
  (wants_failures ? best.failed : best.ok) += ends.open;
  return is_met(rule, best);
}

NeedEnds ends_of_needs(const World& world, RunId run, const DagPlan& plan, std::uint32_t index);

// How a node ended, judged from the rows alone. A map that was skipped whole has none.
NodeEnd end_of(const World& world, RunId run, const DagPlan& plan, std::uint32_t index) {
  const PlanNode& node = plan.nodes[index];
  std::uint32_t made = 0, failed = 0, cancelled = 0, skipped = 0;
  for (std::uint32_t i = 0; i < plan.tasks_of(index); ++i) {
    const auto row = world.mirror.tasks.find({run, plan.first_task(index) + i});
    if (row == world.mirror.tasks.end()) continue;
    if (!is_final(row->second.state)) return NodeEnd::kOpen;
    ++made;
    failed += row->second.state == TaskState::kFailed;
    cancelled += row->second.state == TaskState::kCancelled;
    skipped += row->second.state == TaskState::kSkipped;
  }
  const NodeSpec& spec = plan.node_spec(index);
  if (made == 0) {
    const bool hopeless =
        !node.needs.empty() && !can_be_met(spec.trigger, ends_of_needs(world, run, plan, index));
    return hopeless ? NodeEnd::kSkipped : NodeEnd::kOpen;
  }
  const std::uint32_t tolerated = spec.map ? spec.map->max_failures.value_or(0) : 0;
  if (failed > tolerated || cancelled > 0) return NodeEnd::kFailed;
  if (skipped > 0) return NodeEnd::kSkipped;
  return made == plan.tasks_of(index) ? NodeEnd::kOk : NodeEnd::kOpen;
}

NeedEnds ends_of_needs(const World& world, RunId run, const DagPlan& plan, std::uint32_t index) {
  NeedEnds ends;
  for (const std::uint32_t need : plan.nodes[index].needs) {
    const NodeEnd end = end_of(world, run, plan, need);
    ends.ok += end == NodeEnd::kOk;
    ends.failed += end == NodeEnd::kFailed;
    ends.skipped += end == NodeEnd::kSkipped;
    ends.open += end == NodeEnd::kOpen;
  }
  return ends;
}

bool may_start(const World& world, RunId run, const DagPlan& plan, std::uint32_t index) {
  if (plan.nodes[index].needs.empty()) return true;
  return is_met(plan.node_spec(index).trigger, ends_of_needs(world, run, plan, index));
}

bool barrier_holds(const World& world, RunId run, const DagPlan& plan, std::uint32_t index) {
  if (!plan.spec.barrier_levels) return true;
  for (const TaskRow& row : world.mirror.tasks_of(run)) {
    const bool below = plan.nodes[row.node].level < plan.nodes[index].level;
    if (below && !is_final(row.state)) return false;
  }
  return true;
}

}  // namespace

DagSpec random_dag(Rng& rng, const DriverOptions& options) {
  DagSpec spec = dag({});
  const auto nodes = static_cast<std::uint32_t>(rng.between(1, 10));
  for (std::uint32_t i = 0; i < nodes; ++i) spec.nodes.push_back(random_node(rng, i, options));
  spec.barrier_levels = rng.chance(300);
  return spec;
}

Driver::Driver(std::uint64_t seed, const DriverOptions& options)
    : options_(options), rng_(seed), behaviour_(rng_.next()), world_(test_policy(), seed) {
  const auto workers = rng_.between(1, 4);
  for (int i = 0; i < workers; ++i) {
    world_.join("w" + std::to_string(i), static_cast<std::uint32_t>(rng_.between(1, 4)));
  }
  run_ = world_.submit(random_dag(rng_, options_));
}

void Driver::look_at_grants() {
  const DagPlan& plan = *world_.row(run_).plan;
  for (auto& [name, hand] : world_.hands) {
    while (!hand.assigned.empty()) {
      const Assignment given = hand.assigned.front();
      hand.assigned.pop_front();
      if (!started_.insert(given.attempt).second) broken_ = "an epoch was handed out twice";
      const std::uint32_t node = std::get<PlannedWork>(given.work).node;
      if (!may_start(world_, run_, plan, node)) broken_ = "started before its needs";
      if (!barrier_holds(world_, run_, plan, node)) broken_ = "started before the barrier";
    }
    if (hand.held.size() > hand.slots) broken_ = "more held than slots";
  }
}

void Driver::finish_some(Hand& hand, const Attempt& attempt) {
  const TaskCounters& counters = world_.row(attempt.task).counters;
  Hasher hasher;
  hasher.add(behaviour_);
  hasher.add(attempt.task.index);
  hasher.add(counters.failures + counters.stalls);
  const std::uint64_t dice = hasher.value() % 100;
  if (dice < 65) return world_.complete(hand, attempt);
  if (dice < 90) return world_.fail(hand, attempt);
  world_.end(hand, attempt, TimedOut{});
}

void Driver::move_worker(Hand& hand) {
  if (hand.held.empty()) return;
  const Attempt attempt = hand.held[rng_.below(hand.held.size())].attempt;
  if (rng_.chance(100)) {
    return world_.end(hand, attempt, Released{Released::Cause::kDrained});
  }
  if (rng_.chance(400)) return world_.start(hand, attempt);
  finish_some(hand, attempt);
}

void Driver::kill_some() {
  auto victim = world_.hands.begin();
  std::advance(victim, static_cast<std::ptrdiff_t>(rng_.below(world_.hands.size())));
  Hand& hand = victim->second;
  if (rng_.chance(500)) world_.kill(hand);
  world_.join(hand.info, hand.incarnation.next());
}

void Driver::move() {
  auto chosen = world_.hands.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(world_.hands.size())));
  if (rng_.chance(options_.reload_permille)) return world_.reload();
  if (rng_.chance(options_.kill_permille)) return kill_some();
  if (rng_.chance(300)) return world_.advance(millis(rng_.between(1, 2'000)));
  move_worker(chosen->second);
}

std::string Driver::run() {
  for (int moves = 0; world_.state_of(run_) == RunState::kRunning; ++moves) {
    if (moves == kMovesMax) return "the run does not end: " + outcome();
    look_at_grants();
    move();
    if (!broken_.empty()) return broken_;
  }
  return broken_at_end();
}

std::string Driver::broken_at_end() const {
  if (world_.state->tasks.live() != 0) return "tasks of an ended run are still in memory";
  if (world_.count(EventKind::kStateReconcileFix) != 0) return "a restart had to repair something";
  for (const TaskRow& row : world_.mirror.tasks_of(run_)) {
    const auto rows = world_.mirror.attempts_of(row.id);
    const TaskCounters& c = row.counters;
    const std::uint32_t retries_max = world_.row(run_).plan->node_spec(row.node).retry->max_retries;
    const std::uint32_t unsuccessful = c.failures + c.crashes + c.stalls + c.releases;
    const std::uint32_t successes = row.state == TaskState::kCompleted ? 1 : 0;
    if (!is_final(row.state)) return "a task is open in an ended run";
    if (rows.size() != c.attempts) return "attempts and their rows differ";
    if (c.failures > retries_max + 1) return "more failures than retries allow";
    if (c.attempts != unsuccessful + successes) return "the counters do not add up";
  }
  return {};
}

std::string Driver::outcome() const {
  std::string out(to_text(world_.state_of(run_)));
  for (const TaskRow& row : world_.mirror.tasks_of(run_)) {
    out += fmt::format(" {}:{}/{}/{}", row.id.index, to_text(row.state), row.counters.failures,
                       row.counters.stalls);
  }
  return out;
}

std::uint64_t Driver::history() const {
  Hasher hasher;
  for (const Event& event : world_.events) {
    hasher.add(event.seq);
    hasher.add(static_cast<std::uint64_t>(event.at.us));
    hasher.add(static_cast<std::uint64_t>(event.kind));
    hasher.add(event.worker.text);
    if (event.task) hasher.add(event.task->index);
  }
  for (const auto& [attempt, row] : world_.mirror.attempts) {
    hasher.add(attempt.task.index);
    hasher.add(static_cast<std::uint64_t>(row.verdict));
    hasher.add(row.worker.text);
    hasher.add(static_cast<std::uint64_t>(row.ended_at.us));
  }
  hasher.add(outcome());
  return hasher.value();
}

}  // namespace vortex::core
