#include "controller/metrics.h"

#include <array>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace vortex::controller {
namespace {

// The gauges of the metrics: what is true at the moment somebody looks, as Prometheus text.
// Pure: everything it says is in its argument.

class Text {
 public:
  void family(std::string_view name, std::string_view help) {
    fmt::format_to(std::back_inserter(out_), "# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
    name_ = name;
  }
  template <class Value>
  void sample(std::string_view labels, Value value) {
    fmt::format_to(std::back_inserter(out_), "{}{}{}{} {}\n", name_, labels.empty() ? "" : "{",
                   labels, labels.empty() ? "" : "}", value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string_view name_;
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

double seconds_since(Instant then, Instant now) {
  return static_cast<double>((now - then).us) / 1e6;
}

void add_workers(Text& text, const Gauges& gauges) {
  std::array<std::uint32_t, 6> by_state{};
  for (const auto& view : gauges.workers) ++by_state[static_cast<std::size_t>(view.row.state)];
  text.family("vortex_workers", "Workers by state");
  for (std::size_t i = 0; i < by_state.size(); ++i) {
    const auto state = static_cast<WorkerState>(i);
    text.sample(fmt::format("state={}", quoted(to_text(state))), by_state[i]);
  }
  text.family("vortex_worker_up", "Whether a worker is present");
  for (const auto& view : gauges.workers) {
    text.sample(fmt::format("worker={}", quoted(view.row.info->id.text)),
                is_present(view.row.state) ? 1 : 0);
  }
  text.family("vortex_worker_heartbeat_age_seconds", "Time since the last recorded heartbeat");
  for (const auto& view : gauges.workers) {
    if (!is_present(view.row.state) || view.row.last_heartbeat == kNever) continue;
    text.sample(fmt::format("worker={}", quoted(view.row.info->id.text)),
                seconds_since(view.row.last_heartbeat, gauges.now));
  }
  text.family("vortex_worker_leases", "Number of tasks that a worker holds");
  for (const auto& view : gauges.workers) {
    text.sample(fmt::format("worker={}", quoted(view.row.info->id.text)), view.held);
  }
}

void add_queues(Text& text, const Gauges& gauges) {
  text.family("vortex_queue_tasks", "Tasks that are ready or held by workers, by queue");
  for (const auto& depth : gauges.queues) {
    text.sample(fmt::format("queue={},state=\"ready\"", quoted(depth.name)), depth.ready);
    text.sample(fmt::format("queue={},state=\"held\"", quoted(depth.name)), depth.held);
  }
  text.family("vortex_queue_oldest_ready_age_seconds",
              "How long the oldest ready task has been waiting");
  for (const auto& depth : gauges.queues) {
    const double age = depth.oldest_ready ? seconds_since(*depth.oldest_ready, gauges.now) : 0;
    text.sample(fmt::format("queue={}", quoted(depth.name)), age);
  }
}

void add_leases(Text& text, const Gauges& gauges) {
  std::uint64_t orphaned = 0;
  text.family("vortex_lease_epoch", "Epoch of a partition lease");
  for (const PartitionLeaseRow& lease : gauges.leases) {
    text.sample(fmt::format("topic={},partition=\"{}\"", quoted(lease.partition.topic),
                            lease.partition.partition),
                lease.epoch.value);
    orphaned += lease.holder.empty() || lease.expires_at <= gauges.now ? 1 : 0;
  }
  text.family("vortex_partitions", "Number of partitions that were ever leased");
  text.sample("", gauges.leases.size());
  text.family("vortex_orphaned_partitions", "Number of partitions without a holder");
  text.sample("", orphaned);
}

std::string gauges_text(const Gauges& gauges) {
  Text text;
  text.family("vortex_leader", "Whether this controller is the leader");
  text.sample("", gauges.health.leads ? 1 : 0);
  text.family("vortex_brake_engaged", "Whether reclaiming on weak evidence is on hold");
  text.sample("", gauges.health.brake_engaged ? 1 : 0);
  if (gauges.health.certificate_until) {
    text.family("vortex_tls_certificate_expiry_seconds", "Time until the certificate expires");
    text.sample("", seconds_since(gauges.now, *gauges.health.certificate_until));
  }
  text.family("vortex_damaged_rows", "Number of database rows that cannot be read");
  text.sample("", gauges.health.damaged.size());
  text.family("vortex_engine_inbox", "Number of requests waiting for the engine");
  text.sample("", gauges.health.inbox);
  text.family("vortex_tasks", "Tasks of all runs ever, by state");
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    text.sample(fmt::format("state={}", quoted(to_text(static_cast<TaskState>(i)))),
                gauges.totals.counters.tasks[i]);
  }
  text.family("vortex_dlq_tasks", "Number of open dead letters");
  text.sample("", gauges.totals.open_dead_letters);
  add_workers(text, gauges);
  add_queues(text, gauges);
  add_leases(text, gauges);
  return text.take();
}

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
