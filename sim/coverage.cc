#include "sim/coverage.h"

#include <algorithm>

namespace vortex::sim {

namespace {

template <class Test>
std::uint64_t count_nodes(const Setup& setup, const Test& test) {
  std::uint64_t count = 0;
  for (const RunDraft& draft : setup.drafts) {
    for (const NodeSpec& node : draft.dag.nodes) count += test(node) ? 1 : 0;
  }
  return count;
}

template <class Test>
std::uint64_t count_traits(const Setup& setup, const Test& test) {
  std::uint64_t count = 0;
  for (const RunDraft& draft : setup.drafts) {
    count += static_cast<std::uint64_t>(std::ranges::count_if(draft.traits, test));
  }
  return count;
}

template <class Test>
std::uint64_t count_drafts(const Setup& setup, const Test& test) {
  return static_cast<std::uint64_t>(std::ranges::count_if(setup.drafts, test));
}

template <class Test>
std::uint64_t count_workers(const Setup& setup, const Test& test) {
  return static_cast<std::uint64_t>(std::ranges::count_if(setup.workers, test));
}

template <class Test>
std::uint64_t if_policy(const Setup& setup, const Test& test) {
  return test(setup.timings.policy, core::Policy{}) ? 1 : 0;
}

template <auto Member>
std::uint64_t differs(const Setup& setup) {
  return setup.timings.policy.*Member != core::Policy{}.*Member ? 1 : 0;
}

template <ActKind Kind>
std::uint64_t count_acts(const Setup& setup) {
  return static_cast<std::uint64_t>(std::ranges::count(setup.acts, Kind, &Act::kind));
}

template <class Test>
std::uint64_t count_schedules(const Setup& setup, const Test& test) {
  return count_drafts(setup, [&](const RunDraft& draft) {
    return draft.dag.schedule && test(*draft.dag.schedule);
  });
}

template <Overlap Rule>
std::uint64_t count_overlap(const Setup& setup) {
  return count_schedules(setup, [](const ScheduleSpec& spec) { return spec.overlap == Rule; });
}

// Faults that are always there count once for each seed that has them on.
template <FaultKind Kind>
std::uint64_t count_faults(const Setup& setup) {
  if (Kind < kFirstTimedFault) return setup.is_on(Kind) ? 1 : 0;
  return static_cast<std::uint64_t>(std::ranges::count(setup.faults, Kind, &Fault::kind));
}

constexpr Feature kFeatures[] = {
    {"setting", "worker_lease", "19-no-early-silence", differs<&core::Policy::worker_lease>},
    {"setting", "heartbeat_interval", "19-no-early-silence",
     differs<&core::Policy::heartbeat_interval>},
    {"setting", "kill_time", "08-no-two-processes", differs<&core::Policy::kill_time>},
    {"setting", "self_fence", "08-no-two-processes", differs<&core::Policy::self_fence>},
    {"setting", "scheduled_timeout", "13-not-started-counts",
     differs<&core::Policy::scheduled_timeout>},
    {"setting", "execution_timeout", "27-all-ends", differs<&core::Policy::execution_timeout>},
    {"setting", "stale_after", "27-all-ends", differs<&core::Policy::stale_after>},
    {"setting", "stale_for_all", "reload-knows-all", differs<&core::Policy::stale_for_all>},
    {"setting", "reconnect_grace", "19-no-early-silence", differs<&core::Policy::reconnect_grace>},
    {"setting", "worker_queue_ttl", "27-all-ends", differs<&core::Policy::worker_queue_ttl>},
    {"setting", "keep_away", "27-all-ends", differs<&core::Policy::keep_away>},
    {"setting", "partition_lease", "23-leases-apart", differs<&core::Policy::partition_lease>},
    {"setting", "sweep", "19-no-early-silence", differs<&core::Policy::sweep>},
    {"setting", "health_check_interval", "21-status-true",
     differs<&core::Policy::health_check_interval>},
    {"setting", "reconcile_interval", "21-status-true", differs<&core::Policy::reconcile_interval>},
    {"setting", "retain_workers", "reload-knows-all", differs<&core::Policy::retain_workers>},
    {"setting", "retain_leases", "23-leases-apart reload-knows-all",
     differs<&core::Policy::retain_leases>},
    {"setting", "cordon_after", "15-blame-only-started", differs<&core::Policy::cordon_after>},
    {"setting", "cordon_share_percent", "45-blame-capped",
     differs<&core::Policy::cordon_share_percent>},
    {"setting", "probation_after", "46-one-on-probation 47-probation-begins",
     differs<&core::Policy::probation_after>},
    {"setting", "quota", "48-quota-kept",
     [](const Setup& s) -> std::uint64_t {
       return s.timings.policy.quota.runs + s.timings.policy.quota.tasks > 0;
     }},
    {"setting", "quota_per_token", "48-quota-kept",
     [](const Setup& s) -> std::uint64_t {
       const core::Quota& quota = s.timings.policy.quota_per_token;
       return quota.runs + quota.tasks + quota.bytes > 0;
     }},
    {"setting", "never_started_limit", "13-not-started-counts",
     differs<&core::Policy::never_started_limit>},
    {"setting", "release_limit", "13-attempts-add-up", differs<&core::Policy::release_limit>},
    {"setting", "brake_fleet_min", "19-no-early-silence", differs<&core::Policy::brake_fleet_min>},
    {"setting", "brake_permille_per_minute", "19-no-early-silence",
     differs<&core::Policy::brake_permille_per_minute>},
    {"setting", "bulk_tasks_per_step", "27-all-ends", differs<&core::Policy::bulk_tasks_per_step>},
    {"setting", "nodes_at_once", "27-all-ends reload-knows-all",
     differs<&core::Policy::nodes_at_once>},
    {"setting", "spread_from_tasks", "18-ledger-complete",
     differs<&core::Policy::spread_from_tasks>},
    {"setting", "flapping_losses", "reload-knows-all", differs<&core::Policy::flapping_losses>},
    {"setting", "flapping_window", "reload-knows-all", differs<&core::Policy::flapping_window>},
    {"setting", "checkpoint_bytes_max", "26-nonsense-refused reload-knows-all",
     differs<&core::Policy::checkpoint_bytes_max>},
    {"setting", "upload_bytes_max", "26-nonsense-refused",
     differs<&core::Policy::upload_bytes_max>},
    {"setting", "outputs_bytes_max", "03-one-result", differs<&core::Policy::outputs_bytes_max>},
    {"setting", "retry.max_retries", "13-attempts-add-up",
     [](const Setup& s) {
       return if_policy(s, [](const auto& p, [[maybe_unused]] const auto& d) {
         return p.retry.max_retries != d.retry.max_retries;
       });
     }},
    {"setting", "retry.backoff", "27-all-ends",
     [](const Setup& s) {
       return if_policy(s, [](const auto& p, [[maybe_unused]] const auto& d) {
         return p.retry.backoff.delay != d.retry.backoff.delay;
       });
     }},
    {"setting", "crash_limit = 1", "16-crash-limit",
     [](const Setup& s) {
       return if_policy(
           s, [](const auto& p, [[maybe_unused]] const auto& d) { return p.crash_limit == 1; });
     }},
    {"setting", "crash_limit > 1", "16-crash-limit",
     [](const Setup& s) {
       return if_policy(
           s, [](const auto& p, [[maybe_unused]] const auto& d) { return p.crash_limit > 1; });
     }},
    {"setting", "F + tick + K = 0.95 L", "08-no-two-processes",
     [](const Setup& s) -> std::uint64_t {
       const core::Policy& p = s.timings.policy;
       return s.timings.self_fence + s.timings.agent_tick + p.kill_time ==
              p.worker_lease * 95 / 100;
     }},
    {"setting", "finished runs kept for a while", "01-submit-kept 02-one-key-one-run",
     [](const Setup& s) -> std::uint64_t {
       return s.retention && s.retention->runs_for > Duration{};
     }},
    {"setting", "finished runs kept up to a number", "01-submit-kept 02-one-key-one-run",
     [](const Setup& s) -> std::uint64_t { return s.retention && s.retention->runs_max > 0; }},
    {"DAG", "trigger all_success", "09-needs-met 10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.trigger == TriggerRule::kAllSuccess && !n.needs.empty();
       });
     }},
    {"DAG", "trigger all_failed", "09-needs-met 10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.trigger == TriggerRule::kAllFailed && !n.needs.empty();
       });
     }},
    {"DAG", "trigger all_done", "09-needs-met 10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.trigger == TriggerRule::kAllDone && !n.needs.empty();
       });
     }},
    {"DAG", "trigger one_success", "09-needs-met 10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.trigger == TriggerRule::kOneSuccess && !n.needs.empty();
       });
     }},
    {"DAG", "trigger one_failed", "09-needs-met 10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.trigger == TriggerRule::kOneFailed && !n.needs.empty();
       });
     }},
    {"DAG", "trigger none_failed", "09-needs-met 10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.trigger == TriggerRule::kNoneFailed && !n.needs.empty();
       });
     }},
    {"DAG", "trigger none_skipped", "09-needs-met 10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.trigger == TriggerRule::kNoneSkipped && !n.needs.empty();
       });
     }},
    {"DAG", "retry of its own", "13-attempts-add-up",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.retry.has_value(); });
     }},
    {"DAG", "retry.unless_exit", "13-attempts-add-up",
     [](const Setup& s) {
       return count_nodes(
           s, [](const NodeSpec& n) { return n.retry && !n.retry->unless_exit.empty(); });
     }},
    {"DAG", "queue", "27-all-ends",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.requirements.queue != "default"; });
     }},
    {"DAG", "labels", "27-all-ends",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.requirements.labels.empty(); });
     }},
    {"DAG", "runtime", "27-all-ends",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.requirements.runtime.empty(); });
     }},
    {"DAG", "one worker only", "27-all-ends",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.requirements.worker.empty(); });
     }},
    {"DAG", "cpu and memory", "25-limits-kept",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.requirements.resources.cpu_milli > 0 || n.requirements.resources.memory_bytes > 0;
       });
     }},
    {"DAG", "named resources", "25-limits-kept",
     [](const Setup& s) {
       return count_nodes(
           s, [](const NodeSpec& n) { return !n.requirements.resources.named.empty(); });
     }},
    {"DAG", "priority", "27-all-ends",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.priority != 0; });
     }},
    {"DAG", "exclusive", "08-no-two-processes",
     [](const Setup& s) { return count_nodes(s, [](const NodeSpec& n) { return n.exclusive; }); }},
    {"DAG", "execution_timeout", "27-all-ends",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.execution_timeout.has_value(); });
     }},
    {"DAG", "scheduled_timeout", "13-not-started-counts",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.scheduled_timeout.has_value(); });
     }},
    {"DAG", "stale_after", "27-all-ends",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.stale_after.has_value(); });
     }},
    {"DAG", "stale_counts output", "reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.stale_counts.output; });
     }},
    {"DAG", "stale_counts without progress", "reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.stale_counts.progress; });
     }},
    {"DAG", "map over a range", "03-one-result",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.map && std::holds_alternative<MapRange>(n.map->over);
       });
     }},
    {"DAG", "map over a list", "03-one-result",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         return n.map && std::holds_alternative<std::vector<std::string>>(n.map->over);
       });
     }},
    {"DAG", "map over an output", "52-late-map-made 53-own-item 54-empty-map-done reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         const auto* over = n.map ? std::get_if<MapOver>(&n.map->over) : nullptr;
         return over != nullptr && over->text.contains(".outputs.");
       });
     }},
    {"DAG", "map over a param", "52-late-map-made 53-own-item 54-empty-map-done reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) {
         const auto* over = n.map ? std::get_if<MapOver>(&n.map->over) : nullptr;
         return over != nullptr && over->text.contains("params.");
       });
     }},
    {"DAG", "map max_parallel", "25-limits-kept",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.map && n.map->max_parallel > 0; });
     }},
    {"DAG", "map max_failures", "10-hopeless-is-skipped",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.map && n.map->max_failures; });
     }},
    {"DAG", "map as", "03-one-result",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.map && n.map->as != "item"; });
     }},
    {"DAG", "command and environment", "reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.command.env.empty(); });
     }},
    {"DAG", "shell", "reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.command.shell.empty(); });
     }},
    {"DAG", "outputs", "03-one-result",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.outputs.empty(); });
     }},
    {"DAG", "if", "09-needs-met 10-hopeless-is-skipped 50-conditions-decide",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.condition.empty(); });
     }},
    {"DAG", "if, over an output", "50-conditions-decide reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.condition.contains(".outputs."); });
     }},
    {"DAG", "continue_on_error", "09-needs-met 31-run-end-follows",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.continue_on_error; });
     }},
    {"DAG", "retry.on", "51-only-named-causes",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.retry && !n.retry->on.empty(); });
     }},
    {"DAG", "retry.only_exit", "51-only-named-causes",
     [](const Setup& s) {
       return count_nodes(s,
                          [](const NodeSpec& n) { return n.retry && !n.retry->only_exit.empty(); });
     }},
    {"DAG", "wait for a time", "58-waits-end-right reload-knows-all",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.wait && !n.wait->asks(); });
     }},
    {"DAG", "wait for a signal", "58-waits-end-right 59-said-is-taken reload-knows-all",
     [](const Setup& s) {
       return count_nodes(
           s, [](const NodeSpec& n) { return n.wait && n.wait->kind == WaitKind::kSignal; });
     }},
    {"DAG", "wait for an approval", "58-waits-end-right 59-said-is-taken reload-knows-all",
     [](const Setup& s) {
       return count_nodes(
           s, [](const NodeSpec& n) { return n.wait && n.wait->kind == WaitKind::kApproval; });
     }},
    {"DAG", "timeout of a wait", "58-waits-end-right",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return n.wait && n.wait->timeout; });
     }},
    {"DAG", "sub-DAG", "70-one-child-per-attempt 72-outcome-of-child",
     [](const Setup& s) { return count_nodes(s, [](const NodeSpec& n) { return !!n.child; }); }},
    {"DAG", "finally", "60-finally-is-last 61-finally-runs 24-cancel-holds",
     [](const Setup& s) { return count_nodes(s, [](const NodeSpec& n) { return n.finally; }); }},
    {"DAG", "concurrency", "62-group-limit-kept 63-turns-in-order reload-knows-all",
     [](const Setup& s) {
       return count_drafts(s, [](const RunDraft& d) { return d.dag.concurrency.has_value(); });
     }},
    {"DAG", "concurrency, with a key", "62-group-limit-kept 63-turns-in-order",
     [](const Setup& s) {
       return count_drafts(s, [](const RunDraft& d) {
         return d.dag.concurrency && !d.dag.concurrency->key.empty();
       });
     }},
    {"DAG", "concurrency, on_full", "62-group-limit-kept 63-turns-in-order",
     [](const Setup& s) {
       return count_drafts(s, [](const RunDraft& d) {
         return d.dag.concurrency && d.dag.concurrency->on_full != OnFull::kQueue;
       });
     }},
    {"DAG", "limits of a task", "64-named-limit-kept 65-rate-kept 39-taken-in-turn",
     [](const Setup& s) {
       return count_nodes(s, [](const NodeSpec& n) { return !n.limits.empty(); });
     }},
    {"DAG", "finally_timeout", "40-not-before-due",
     [](const Setup& s) {
       return count_drafts(s, [](const RunDraft& d) { return d.dag.finally_timeout.has_value(); });
     }},
    {"DAG", "barrier_levels", "09-needs-met",
     [](const Setup& s) {
       return count_drafts(s, [](const RunDraft& d) { return d.dag.barrier_levels; });
     }},
    {"DAG", "run_timeout", "reload-knows-all",
     [](const Setup& s) {
       return count_drafts(s, [](const RunDraft& d) { return d.dag.run_timeout.has_value(); });
     }},
    {"DAG", "params", "26-ok-is-durable",
     [](const Setup& s) { return count_drafts(s, [](auto& d) { return !d.dag.params.empty(); }); }},
    {"DAG", "labels of the run", "reload-knows-all",
     [](const Setup& s) { return count_drafts(s, [](auto& d) { return !d.labels.empty(); }); }},
    {"DAG", "no key", "01-submit-kept",
     [](const Setup& s) { return count_drafts(s, [](auto& d) { return d.key.empty(); }); }},
    {"DAG", "schedule, overlap skip", "57-overlap-kept", count_overlap<Overlap::kSkip>},
    {"DAG", "schedule, overlap queue_one", "57-overlap-kept", count_overlap<Overlap::kQueueOne>},
    {"DAG", "schedule, overlap queue_all", "57-overlap-kept", count_overlap<Overlap::kQueueAll>},
    {"DAG", "schedule, overlap cancel_running", "57-overlap-kept",
     count_overlap<Overlap::kCancelRunning>},
    {"DAG", "schedule, overlap allow", "55-one-run-a-slot 56-each-slot-decided",
     count_overlap<Overlap::kAllow>},
    {"DAG", "schedule, catchup", "56-each-slot-decided",
     [](const Setup& s) {
       return count_schedules(s, [](const auto& spec) { return spec.catchup.window.us > 0; });
     }},
    {"DAG", "schedule, jitter", "55-one-run-a-slot 56-each-slot-decided",
     [](const Setup& s) {
       return count_schedules(s, [](const auto& spec) { return spec.jitter.us > 0; });
     }},
    {"DAG", "schedule, from", "56-each-slot-decided",
     [](const Setup& s) {
       return count_schedules(s, [](const auto& spec) { return spec.from.has_value(); });
     }},
    {"DAG", "schedule, pause_on_failure", "56-each-slot-decided",
     [](const Setup& s) {
       return count_schedules(s, [](const auto& spec) { return spec.pause_on_failure; });
     }},
    {"task", "fails", "13-attempts-add-up",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.fail_permille > 0; });
     }},
    {"task", "fails by a signal", "13-attempts-add-up",
     [](const Setup& s) {
       return count_traits(
           s, [](const NodeTraits& t) { return t.fail_permille > 0 && t.fails_by_signal; });
     }},
    {"task", "out of memory", "13-attempts-add-up",
     [](const Setup& s) {
       return count_traits(
           s, [](const NodeTraits& t) { return t.fail_permille > 0 && t.out_of_memory; });
     }},
    {"task", "hangs", "27-all-ends",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.hang_permille > 0; });
     }},
    {"task", "kills its worker", "16-crash-limit",
     [](const Setup& s) { return count_traits(s, [](const NodeTraits& t) { return t.poison; }); }},
    {"task", "ignores TERM", "08-no-two-processes",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.ignores_term; });
     }},
    {"task", "cannot start", "13-attempts-add-up",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.no_start_permille > 0; });
     }},
    {"task", "starts too slowly", "13-not-started-counts",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.slow_start_permille > 0; });
     }},
    {"task", "shows progress", "reload-knows-all",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.progress_every > Duration{}; });
     }},
    {"task", "checkpoints", "reload-knows-all",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) {
         return t.checkpoints && !t.uploads && t.progress_every > Duration{};
       });
     }},
    {"task", "checkpoints in pieces", "26-ok-is-durable reload-knows-all",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) {
         return t.checkpoints && t.uploads && t.progress_every > Duration{};
       });
     }},
    {"task", "outputs or checkpoints too large", "26-nonsense-refused 13-attempts-add-up",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.too_large_permille > 0; });
     }},
    {"task", "writes output", "reload-knows-all",
     [](const Setup& s) {
       return count_traits(s, [](const NodeTraits& t) { return t.writes_every > Duration{}; });
     }},
    {"worker", "takes work and starts none", "13-not-started-counts",
     [](const Setup& s) { return count_workers(s, [](const WorkerSetup& w) { return w.slack; }); }},
    {"worker", "comes back with other slots", "25-slots-kept",
     [](const Setup& s) {
       return count_workers(
           s, [](const WorkerSetup& w) { return w.other && w.other->slots != w.info.slots; });
     }},
    {"worker", "comes back with other labels", "reload-knows-all",
     [](const Setup& s) {
       return count_workers(
           s, [](const WorkerSetup& w) { return w.other && w.other->labels != w.info.labels; });
     }},
    {"worker", "comes back on another machine", "21-status-true",
     [](const Setup& s) {
       return count_workers(
           s, [](const WorkerSetup& w) { return w.other && w.other->machine != w.info.machine; });
     }},
    {"worker", "supervisors tell their journal", "26-ok-is-durable",
     [](const Setup& s) -> std::uint64_t { return s.journals; }},
    {"worker", "answers that not all work fits into", "13-attempts-add-up",
     [](const Setup& s) -> std::uint64_t { return s.unsent_permille > 0; }},
    {"worker", "holds partitions", "23-leases-apart",
     [](const Setup& s) -> std::uint64_t { return s.worker_agents; }},
    {"client", "agents that hold partitions", "23-leases-apart",
     [](const Setup& s) -> std::uint64_t { return s.lease_agents; }},
    {"client", "submit", "01-submit-kept", count_acts<ActKind::kSubmit>},
    {"client", "the same submit again", "02-one-key-one-run", count_acts<ActKind::kSubmitSameKey>},
    {"client", "another submit under a used key", "02-one-key-one-run",
     count_acts<ActKind::kSubmitOtherKey>},
    {"client", "cancel a run", "24-cancel-holds", count_acts<ActKind::kCancelRun>},
    {"client", "pause or resume a run", "27-all-ends", count_acts<ActKind::kPauseRun>},
    {"client", "cancel a task", "26-ok-is-durable", count_acts<ActKind::kCancelTask>},
    {"client", "retry a task", "26-ok-is-durable", count_acts<ActKind::kRetryTask>},
    {"client", "re-drive a dead letter", "22-one-dead-letter", count_acts<ActKind::kRedrive>},
    {"client", "discard a dead letter", "22-one-dead-letter", count_acts<ActKind::kDiscard>},
    {"client", "cordon a worker", "27-all-ends", count_acts<ActKind::kCordon>},
    {"client", "declare a worker dead", "18-ledger-complete", count_acts<ActKind::kReset>},
    {"client", "drain a worker", "26-ok-is-durable", count_acts<ActKind::kDrain>},
    {"client", "pause or resume a queue", "27-all-ends", count_acts<ActKind::kPauseQueue>},
    {"client", "drain with a deadline", "26-ok-is-durable", count_acts<ActKind::kDrainWithin>},
    {"client", "forget a worker", "26-ok-is-durable", count_acts<ActKind::kDelete>},
    {"client", "fence check of an attempt", "26-ok-is-durable", count_acts<ActKind::kCheckAttempt>},
    {"client", "submit a DAG that cannot run", "26-nonsense-refused",
     count_acts<ActKind::kSubmitWrong>},
    {"client", "signal a run", "59-said-is-taken", count_acts<ActKind::kSignal>},
    {"client", "answer an approval", "59-said-is-taken", count_acts<ActKind::kAnswer>},
    {"client", "cancel any run", "73-held-from-above", count_acts<ActKind::kCancelAny>},
    {"client", "pause any run", "73-held-from-above", count_acts<ActKind::kPauseAny>},
    {"client", "a rerun that keeps results", "76-kept-as-it-was 77-keeps-what-it-may",
     count_acts<ActKind::kRerun>},
    {"client", "submit ahead of time", "78-starts-in-time",
     [](const Setup& s) {
       return count_drafts(s, [](const RunDraft& draft) { return draft.starts_at != kNever; });
     }},
    {"client", "a malformed call", "26-nonsense-refused", count_acts<ActKind::kMalformed>},
    {"client", "watches over a large map", "35-map-complete 37-placed-right",
     [](const Setup& s) -> std::uint64_t { return s.tended.has_value(); }},
    {"client", "apply a DAG with a schedule", "26-ok-is-durable 56-each-slot-decided",
     count_acts<ActKind::kApplyDag>},
    {"client", "change its schedule", "56-each-slot-decided", count_acts<ActKind::kChangeDag>},
    {"client", "delete it", "56-each-slot-decided", count_acts<ActKind::kDeleteDag>},
    {"client", "pause or resume a schedule", "56-each-slot-decided",
     count_acts<ActKind::kPauseSchedule>},
    {"client", "submit more runs of a group", "62-group-limit-kept 63-turns-in-order",
     count_acts<ActKind::kSubmitMore>},
    {"client", "set a limit", "64-named-limit-kept 65-rate-kept", count_acts<ActKind::kSetLimit>},
    {"client", "delete a limit", "64-named-limit-kept", count_acts<ActKind::kDeleteLimit>},
    {"client", "trigger a schedule", "26-ok-is-durable 57-overlap-kept",
     count_acts<ActKind::kTriggerSchedule>},
    {"controller", "turns that take up to 20 ms", "08-no-two-processes reload-knows-all",
     [](const Setup& s) -> std::uint64_t { return s.turn_max > kTurnMax; }},
    {"fault", "slow-links", "04-fenced-results", count_faults<FaultKind::kSlowLinks>},
    {"fault", "lossy-links", "01-submit-kept", count_faults<FaultKind::kLossyLinks>},
    {"fault", "repeated-requests", "03-one-result", count_faults<FaultKind::kRepeatedRequests>},
    {"fault", "slow-store", "26-ok-is-durable", count_faults<FaultKind::kSlowStore>},
    {"fault", "store-aborts", "26-ok-is-durable", count_faults<FaultKind::kStoreAborts>},
    {"fault", "lost-answers", "26-ok-is-durable", count_faults<FaultKind::kStoreLostAnswers>},
    {"fault", "crash-at-boundary", "26-ok-is-durable", count_faults<FaultKind::kCrashAtBoundary>},
    {"fault", "clock-rates", "08-no-two-processes", count_faults<FaultKind::kClockRates>},
    {"fault", "clock-off-margin", "04-fenced-results", count_faults<FaultKind::kClockBeyondMargin>},
    {"fault", "task-failures", "13-attempts-add-up", count_faults<FaultKind::kTaskFailures>},
    {"fault", "task-hangs", "27-all-ends", count_faults<FaultKind::kTaskHangs>},
    {"fault", "task-poison", "16-crash-limit", count_faults<FaultKind::kTaskPoison>},
    {"fault", "operator", "26-ok-is-durable", count_faults<FaultKind::kOperator>},
    {"fault", "cut-one-way", "08-no-two-processes", count_faults<FaultKind::kCutOneWay>},
    {"fault", "cut-both-ways", "08-no-two-processes", count_faults<FaultKind::kCutBothWays>},
    {"fault", "clog", "04-fenced-results", count_faults<FaultKind::kClog>},
    {"fault", "isolate-host", "08-no-two-processes", count_faults<FaultKind::kIsolateHost>},
    {"fault", "store-stall", "19-no-early-silence", count_faults<FaultKind::kStoreStall>},
    {"fault", "store-outage", "19-no-early-silence", count_faults<FaultKind::kStoreOutage>},
    {"fault", "store-failover", "26-ok-is-durable", count_faults<FaultKind::kStoreFailover>},
    {"fault", "store-full", "26-ok-is-durable", count_faults<FaultKind::kStoreFull>},
    {"fault", "controller-crash", "26-ok-is-durable", count_faults<FaultKind::kControllerCrash>},
    {"fault", "controller-pause", "06-one-owner", count_faults<FaultKind::kControllerPause>},
    {"fault", "worker-crash", "18-ledger-complete", count_faults<FaultKind::kWorkerCrash>},
    {"fault", "worker-pause", "04-fenced-results", count_faults<FaultKind::kWorkerPause>},
    {"fault", "worker-drain", "17-nobody-blamed", count_faults<FaultKind::kWorkerDrain>},
    {"fault", "supervisor-crash", "18-ledger-complete", count_faults<FaultKind::kSupervisorCrash>},
    {"fault", "host-crash", "18-ledger-complete", count_faults<FaultKind::kHostCrash>},
    {"fault", "mass-loss", "19-no-early-silence", count_faults<FaultKind::kMassLoss>},
    {"fault", "forged-hint", "04-fenced-results", count_faults<FaultKind::kForgedHint>},
    {"fault", "wall-jump", "08-no-two-processes", count_faults<FaultKind::kWallJump>},
    {"fault", "twin", "07-epoch-starts-once", count_faults<FaultKind::kTwin>},
    {"fault", "controller-stop", "26-ok-is-durable", count_faults<FaultKind::kControllerStop>},
    {"fault", "store-clock-jump", "05-epochs-grow", count_faults<FaultKind::kStoreClockJump>},
};

}  // namespace

std::span<const Feature> features() { return kFeatures; }

}  // namespace vortex::sim
