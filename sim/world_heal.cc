#include <algorithm>

#include "model/dag.h"
#include "sim/draw.h"
#include "sim/world.h"

namespace vortex::sim {

namespace {

bool has_all(const Labels& labels, const Labels& wanted) {
  return std::ranges::all_of(
      wanted, [&](const auto& label) { return std::ranges::find(labels, label) != labels.end(); });
}

bool has_amounts(const NamedAmounts& offered, const NamedAmounts& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& want) {
    return std::ranges::any_of(offered, [&](const auto& offer) {
      return offer.first == want.first && offer.second >= want.second;
    });
  });
}

// The pin to one worker aside: what waits for a worker that stays away expires.
bool fits(const WorkerInfo& info, const Requirements& need) {
  const bool runtime =
      need.runtime.empty() || std::ranges::find(info.runtimes, need.runtime) != info.runtimes.end();
  const bool user =
      need.user.empty() || std::ranges::find(info.users, need.user) != info.users.end();
  return std::ranges::find(info.queues, need.queue) != info.queues.end() && runtime && user &&
         has_all(info.labels, need.labels) &&
         info.resources.cpu_milli >= need.resources.cpu_milli &&
         info.resources.memory_bytes >= need.resources.memory_bytes &&
         has_amounts(info.resources.named, need.resources.named);
}

// The longest that all attempts at one task of this node may take, one after the other.
Duration longest_for(const Setup& setup, const NodeSpec& node, const NodeTraits& traits) {
  const core::Policy& policy = setup.timings.policy;
  if (node.wait) {
    const Duration faults = setup.faults_end - Instant{};
    return node.wait->length + node.wait->timeout.value_or(Duration{}) + faults +
           policy.worker_lease * 2;
  }
  const RetryPolicy& retry = node.retry ? *node.retry : policy.retry;
  // Its run is counted by itself.
  if (node.child) {
    return (retry.backoff.max_delay + policy.worker_lease) * (2 * retry.max_retries + 4);
  }
  const Duration limit = node.execution_timeout.value_or(policy.execution_timeout);
  const Duration runs =
      traits.hang_permille > 0 ? std::max(limit, traits.runs_max) : traits.runs_max;
  const Duration attempt =
      runs + policy.kill_time + retry.backoff.max_delay + policy.keep_away + policy.worker_lease;
  const std::int64_t attempts = retry.max_retries + 1 + policy.crash_limit + 4;
  return attempt * attempts + policy.worker_queue_ttl +
         (policy.scheduled_timeout + policy.worker_lease + retry.backoff.max_delay) *
             policy.never_started_limit;
}

std::int64_t task_count(const NodeSpec& node) {
  if (!node.map) return 1;
  if (is_late(*node.map)) return 60;  // at most, as they are drawn
  return static_cast<std::int64_t>(count_items(*node.map));
}

// A run of it waits, or is still to come.
bool has_work(const ScheduleRow& row) {
  const ScheduleSpec& spec = *row.plan->spec.schedule;
  const std::int64_t from_us = spec.from ? spec.from->seconds * 1'000'000 : 0;
  const std::int64_t passed = std::max<std::int64_t>(row.decided.us - from_us, 0) / spec.every.us;
  const std::int64_t next_us = from_us + (passed + 1) * spec.every.us;
  return !row.waiting.empty() || !spec.until || next_us <= spec.until->seconds * 1'000'000;
}

}  // namespace

void World::heal() {
  Rng rng = rng_.fork(88);
  scene_->faults_stopped = true;
  scene_->network.heal();
  scene_->store.heal();
  for (const auto& agent : agents_) agent->stop();
  heal_controllers(rng);
  core_ = choose_core(rng);
  heal_workers(rng);
  scene_->recorder.fact(FaultsStopped{});
  deadline_ = scene_->agenda.now() + bound_for_liveness();
  keep_lifting();
  look_whether_done();
}

std::vector<bool> World::choose_core(Rng& rng) const {
  const std::size_t count = workers_.size();
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  const bool all = rng.chance(400) || setup_.heals_all;
  const std::size_t wanted = all ? count : (count + 1) / 2;
  std::vector<bool> core(count, false);
  for (std::size_t i = 0; i < wanted; ++i) core[order[i]] = true;
  for (const RunDraft& draft : setup_.drafts) {
    for (const NodeSpec& node : draft.dag.nodes) {
      const auto can = [&](std::size_t w) {
        return !setup_.workers[w].absent && fits(setup_.workers[w].info, node.requirements);
      };
      const bool covered = std::ranges::any_of(order, [&](auto w) { return core[w] && can(w); });
      if (covered) continue;
      const auto found = std::ranges::find_if(order, can);
      if (found != order.end()) core[*found] = true;
    }
  }
  return core;
}

void World::heal_workers(Rng& rng) {
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    WorkerHost& worker = *workers_[w];
    if (core_[w]) {
      worker.come_back();
      continue;
    }
    // Left broken for ever: gone with its host, gone by itself, or standing still.
    worker.stay_down();
    switch (rng.below(3)) {
      case 0:
        worker.host_down();
        break;
      case 1:
        worker.crash_both();
        break;
      default:
        worker.pause();
        break;
    }
  }
}

void World::heal_controllers(Rng& rng) {
  const std::size_t kept = rng.below(controllers_.size());
  for (std::size_t c = 0; c < controllers_.size(); ++c) {
    Controller& controller = *controllers_[c];
    if (c == kept || setup_.heals_all || rng.chance(400)) {
      controller.resume();
      controller.boot();
    } else if (rng.chance(400)) {
      controller.crash("for good");
    } else if (rng.chance(500)) {
      controller.pause();
    } else {
      scene_->network.isolate(controller.host(), true);
    }
  }
}

void World::keep_lifting() {
  clients_->lift_everything();
  const auto& rows = scene_->store.tables().workers();
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    const auto row = rows.find(workers_[w]->id());
    if (!core_[w] || row == rows.end()) continue;
    // An operator drained it and forgot: it has to start anew to be given work again.
    const WorkerState state = row->second.state;
    const bool drained = state == WorkerState::kDraining || state == WorkerState::kInactive;
    const bool same_life = row->second.incarnation == workers_[w]->incarnation();
    if (drained && same_life) workers_[w]->drain(setup_.timings.policy.worker_lease);
  }
  scene_->agenda.after(setup_.timings.policy.worker_lease / 2, [this] { keep_lifting(); });
}

// Three leases to notice who is gone, the brake's trickle, and all work one after the other: the
// longest path cannot be longer than that, however few slots are left.
Duration World::bound_for_liveness() const {
  const core::Policy& policy = setup_.timings.policy;
  Duration bound = policy.worker_lease * 3;
  for (const RunDraft& draft : setup_.drafts) {
    for (std::size_t n = 0; n < draft.dag.nodes.size(); ++n) {
      const NodeSpec& node = draft.dag.nodes[n];
      bound += longest_for(setup_, node, draft.traits[n]) * task_count(node) * draft.runs;
    }
    if (draft.dag.schedule) bound += draft.dag.schedule->every * 4;
  }
  // A clock that was set back keeps a dead leader in its place for as long.
  if (setup_.is_on(FaultKind::kStoreClockJump)) bound += setup_.timings.leader_lease * 12;
  // The longest wait for a probation, after every attempt that can fail one.
  if (!setup_.lifts_blame) {
    std::int64_t tasks = 1;
    for (const RunDraft& draft : setup_.drafts) {
      for (const NodeSpec& node : draft.dag.nodes) tasks += task_count(node);
    }
    bound += policy.probation_after * 16 * tasks * 4;
  }
  const auto fleet = static_cast<std::int64_t>(workers_.size());
  if (fleet >= policy.brake_fleet_min) {
    const std::int64_t per_worker_us = minutes(1).us * 1000 / policy.brake_permille_per_minute;
    bound += Duration{per_worker_us} + minutes(1);
  }
  return bound;
}

bool World::is_quiet() const {
  const Tables& tables = scene_->store.tables();
  if (!clients_->are_settled() || tables.live_runs() > 0) return false;
  if (std::ranges::any_of(tables.schedules(), [](const auto& s) { return has_work(s.second); })) {
    return false;
  }
  return std::ranges::any_of(controllers_, [](const auto& c) { return c->leads(); });
}

void World::look_whether_done() {
  const Instant now = scene_->agenda.now();
  if (!is_quiet()) {
    quiet_since_ = kNever;
  } else if (quiet_since_ >= kNever) {
    quiet_since_ = now;
    reload_check_->hurry();
  }
  const Duration lease = setup_.timings.policy.worker_lease;
  const bool rested = quiet_since_ < kNever && now - quiet_since_ > lease + lease / 2;
  if (rested || now > deadline_) {
    done_ = true;
    return;
  }
  scene_->agenda.after(setup_.timings.policy.heartbeat_interval, [this] { look_whether_done(); });
}

}  // namespace vortex::sim
