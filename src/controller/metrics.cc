#include "controller/metrics.h"

#include <array>
#include <map>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "controller/metrics_gauges.h"

namespace vortex::controller {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;
using prometheus::Labels;

double seconds_of(Duration d) { return static_cast<double>(d.us) / 1e6; }

const Histogram::BucketBoundaries kSeconds{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1,
                                           2,     5,     10,   30,   60,  300, 3600};
const Histogram::BucketBoundaries kCommitSeconds{0.0005, 0.001, 0.002, 0.005, 0.01,
                                                 0.02,   0.05,  0.1,   0.5,   1};
const Histogram::BucketBoundaries kPassSeconds{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.035, 0.1};
const Histogram::BucketBoundaries kRows{1, 10, 100, 1'000, 10'000, 100'000};

// Metrics of one family by the value of one label, found without building the label again.
template <class Metric = Counter>
class ByLabel {
 public:
  ByLabel(Family<Metric>& family, std::string label) : family_(family), label_(std::move(label)) {}
  Metric& operator[](std::string_view value) {
    const auto known = known_.find(value);
    if (known != known_.end()) return *known->second;
    Metric& made = add({{label_, std::string(value)}});
    known_.emplace(std::string(value), &made);
    return made;
  }

 private:
  Metric& add(const Labels& labels) {
    if constexpr (std::is_same_v<Metric, Histogram>) {
      return family_.Add(labels, kSeconds);
    } else {
      return family_.Add(labels);
    }
  }

  Family<Metric>& family_;
  std::string label_;
  std::map<std::string, Metric*, std::less<>> known_;
};

struct PerQueue {
  std::array<Counter*, kTaskStates> finished{};
  Histogram* latency = nullptr;
  std::array<Histogram*, 2> duration{};  // completed, anything else
};

const std::string& queue_of(const RunRow& run, std::uint32_t node) {
  return run.plan->node_spec(node).requirements.queue;
}

}  // namespace

struct Metrics::Families {
  prometheus::Registry registry;
  Family<Counter>& finished = BuildCounter()
                                  .Name("vortex_tasks_finished_total")
                                  .Help("Tasks that ended, by outcome")
                                  .Register(registry);
  Family<Histogram>& latency = BuildHistogram()
                                   .Name("vortex_task_queue_latency_seconds")
                                   .Help("Time from the creation of a task to its first assignment")
                                   .Register(registry);
  Family<Histogram>& duration = BuildHistogram()
                                    .Name("vortex_task_duration_seconds")
                                    .Help("Time from the start of an attempt to its end")
                                    .Register(registry);
  ByLabel<> timeouts{BuildCounter()
                         .Name("vortex_task_timeouts_total")
                         .Help("Attempts ended by a timeout, by kind")
                         .Register(registry),
                     "kind"};
  ByLabel<Histogram> lateness{BuildHistogram()
                                  .Name("vortex_task_timeout_lateness_seconds")
                                  .Help("Time from a task's deadline until it was acted on")
                                  .Register(registry),
                              "clock"};
  ByLabel<Histogram> gaps{BuildHistogram()
                              .Name("vortex_worker_heartbeat_gap_seconds")
                              .Help("Time since the last heartbeat when a worker's status changed")
                              .Register(registry),
                          "became"};
  ByLabel<> disrupted{BuildCounter()
                          .Name("vortex_tasks_disrupted_total")
                          .Help("Attempts cut short by something other than their task, by cause")
                          .Register(registry),
                      "cause"};
  ByLabel<> recoveries{BuildCounter()
                           .Name("vortex_recoveries_total")
                           .Help("Workers whose tasks were reclaimed, by evidence")
                           .Register(registry),
                       "evidence"};
  ByLabel<> requeued{BuildCounter()
                         .Name("vortex_tasks_requeued_total")
                         .Help("Tasks reclaimed from lost workers, by evidence")
                         .Register(registry),
                     "evidence"};
  Counter& stale_refused = BuildCounter()
                               .Name("vortex_stale_results_refused_total")
                               .Help("Results refused because the attempt had lost its lease")
                               .Register(registry)
                               .Add({});
  Counter& stale_workers = BuildCounter()
                               .Name("vortex_workers_stale_total")
                               .Help("How often a worker's heartbeat became stale")
                               .Register(registry)
                               .Add({});
  Histogram& commit = BuildHistogram()
                          .Name("vortex_store_commit_seconds")
                          .Help("Duration of a commit")
                          .Register(registry)
                          .Add({}, kCommitSeconds);
  Histogram& rows = BuildHistogram()
                        .Name("vortex_store_batch_rows")
                        .Help("Number of row changes in a commit")
                        .Register(registry)
                        .Add({}, kRows);
  Histogram& health_pass = BuildHistogram()
                               .Name("vortex_health_pass_seconds")
                               .Help("Duration of a pass over all workers")
                               .Register(registry)
                               .Add({}, kPassSeconds);
  Histogram& reconcile = BuildHistogram()
                             .Name("vortex_reconcile_seconds")
                             .Help("Duration of a thorough check, over all slices")
                             .Register(registry)
                             .Add({}, kPassSeconds);
  Histogram& reconcile_slice = BuildHistogram()
                                   .Name("vortex_reconcile_slice_seconds")
                                   .Help("Duration of the longest slice of a thorough check")
                                   .Register(registry)
                                   .Add({}, kPassSeconds);
  Counter& reconcile_findings = BuildCounter()
                                    .Name("vortex_reconcile_findings_total")
                                    .Help("Inconsistencies found by thorough checks")
                                    .Register(registry)
                                    .Add({});
  Counter& repairs = BuildCounter()
                         .Name("vortex_reconcile_repairs_total")
                         .Help("Repairs of the state, at load and by the reconciler")
                         .Register(registry)
                         .Add({});
  std::unordered_map<std::string, PerQueue> queues;

  PerQueue& queue(const std::string& name);
  void count_tasks(const RowBatch& rows);
  void count_events(const std::vector<Event>& events);
  void measure(const std::vector<core::Sample>& samples);
};

PerQueue& Metrics::Families::queue(const std::string& name) {
  PerQueue& of = queues[name];
  if (of.latency != nullptr) return of;
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    const auto state = static_cast<TaskState>(i);
    if (!is_final(state)) continue;
    of.finished[i] = &finished.Add({{"queue", name}, {"outcome", std::string(to_text(state))}});
  }
  of.latency = &latency.Add({{"queue", name}}, kSeconds);
  of.duration[0] = &duration.Add({{"queue", name}, {"outcome", "completed"}}, kSeconds);
  of.duration[1] = &duration.Add({{"queue", name}, {"outcome", "other"}}, kSeconds);
  return of;
}

void Metrics::Families::count_tasks(const RowBatch& batch) {
  std::unordered_map<std::uint64_t, const RunRow*> runs;
  for (const RunRow& run : batch.runs) runs[run.id.value] = &run;
  for (const TaskRow& task : batch.tasks) {
    const auto run = runs.find(task.id.run.value);
    if (run == runs.end() || !is_final(task.state)) continue;
    queue(queue_of(*run->second, task.node)).finished[number_of(task.state)]->Increment();
  }
  for (const AttemptRow& attempt : batch.attempts) {
    const auto run = runs.find(attempt.attempt.task.run.value);
    if (run == runs.end()) continue;
    const std::uint32_t node = run->second->plan->node_of_task(attempt.attempt.task.index);
    PerQueue& of = queue(queue_of(*run->second, node));
    if (attempt.number == 1) {
      of.latency->Observe(seconds_of(attempt.granted_at - run->second->created_at));
    }
    if (attempt.started_at == kNever) continue;
    const bool completed = attempt.verdict == Verdict::kCompleted;
    of.duration[completed ? 0 : 1]->Observe(seconds_of(attempt.ended_at - attempt.started_at));
  }
}

void Metrics::Families::count_events(const std::vector<Event>& events) {
  for (const Event& event : events) {
    if (event.kind == EventKind::kStaleResultRefused) stale_refused.Increment();
    if (event.kind == EventKind::kHeartbeatStale) stale_workers.Increment();
    if (event.kind == EventKind::kStateReconcileFix) repairs.Increment();
  }
}

void Metrics::Families::measure(const std::vector<core::Sample>& samples) {
  for (const core::Sample& sample : samples) {
    switch (sample.kind) {
      case core::Sample::Kind::kTimeoutLateness:
        lateness[sample.label].Observe(seconds_of(sample.value));
        break;
      case core::Sample::Kind::kHeartbeatGap:
        gaps[sample.label].Observe(seconds_of(sample.value));
        break;
      case core::Sample::Kind::kDisruption:
        disrupted[sample.label].Increment();
        break;
      case core::Sample::Kind::kHealthPass:
        break;  // timed by the shell: see count_health_pass
    }
  }
}

Metrics::Metrics(bool enabled) {
  if (enabled) families_ = std::make_unique<Families>();
}

Metrics::~Metrics() = default;

void Metrics::count(const engine::Batch& batch, Duration commit_took) {
  if (!families_) return;
  const RowBatch& rows = batch.commit().rows;
  families_->measure(batch.samples);
  if (batch.writes_nothing()) return;
  families_->commit.Observe(seconds_of(commit_took));
  families_->rows.Observe(static_cast<double>(batch.rows()));
  families_->count_tasks(rows);
  families_->count_events(batch.events);
  for (const AttemptRow& attempt : rows.attempts) {
    const bool by_clock = attempt.verdict == Verdict::kExecutionTimeout ||
                          attempt.verdict == Verdict::kStale ||
                          attempt.verdict == Verdict::kNotStartedInTime;
    if (by_clock) families_->timeouts[to_text(attempt.verdict)].Increment();
  }
  for (const RecoveryRow& recovery : rows.recoveries) {
    families_->recoveries[to_text(recovery.evidence)].Increment();
    families_->requeued[to_text(recovery.evidence)].Increment(recovery.num_tasks);
  }
}

void Metrics::count_health_pass(Duration took) {
  if (families_) families_->health_pass.Observe(seconds_of(took));
}

void Metrics::count(const api::ReconcileReport& report) {
  if (!families_) return;
  families_->reconcile.Observe(seconds_of(report.took));
  families_->reconcile_slice.Observe(seconds_of(report.longest));
  families_->reconcile_findings.Increment(static_cast<double>(report.findings.size()));
}

std::string Metrics::text(const Gauges& gauges) {
  if (!families_) return {};
  const prometheus::TextSerializer serializer;
  return serializer.Serialize(families_->registry.Collect()) + gauges_text(gauges);
}

}  // namespace vortex::controller
