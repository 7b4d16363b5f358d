#include <string_view>

#include "sim/fact_text.h"

namespace vortex::sim {

namespace {

struct HashFact {
  Hasher& hash;

  void add(std::uint64_t value) const { hash.add(value); }
  void add(Instant t) const { hash.add(static_cast<std::uint64_t>(t.us)); }
  void add(std::string_view text) const { hash.add(text); }
  void add(const TaskId& task) const { add(task.run.value), add(std::uint64_t{task.index}); }
  void add(const Attempt& attempt) const { add(attempt.task), add(attempt.epoch.value); }
  void add(const WorkerId& worker, Incarnation life) const { add(worker.text), add(life.value); }

  void add(const TaskRow& row) const {
    add(row.id);
    add(row.epoch.value);
    add(static_cast<std::uint64_t>(row.state));
    add(row.worker, row.incarnation);
    add(std::uint64_t{row.counters.attempts} << 32 | std::uint64_t{row.counters.failures} << 16 |
        row.counters.crashes);
    add(std::uint64_t{row.counters.stalls} << 16 | row.counters.releases);
    add(row.updated_at);
  }

  void operator()(const Committed& f) const {
    add(f.term.value);
    add(f.term_now);
    for (const auto& row : f.rows.runs)
      add(row.id.value), add(static_cast<std::uint64_t>(row.state));
    for (const auto& row : f.rows.runs) add(std::uint64_t{row.waits_for_turn});
    for (const auto& row : f.rows.tasks) add(row);
    for (const auto& row : f.rows.attempts) {
      add(row.attempt), add(static_cast<std::uint64_t>(row.verdict));
    }
    for (const auto& row : f.rows.workers) {
      add(row.info->id, row.incarnation), add(static_cast<std::uint64_t>(row.state));
    }
    for (const auto& row : f.rows.recovery_items) add(row.task), add(row.new_epoch.value);
    for (const auto& row : f.rows.dead_letters) add(row.attempt);
    for (const auto& row : f.rows.leases) add(row.holder.text), add(row.epoch.value);
    for (const auto& row : f.rows.signals) add(row.run.value), add(std::uint64_t{row.number});
    for (const auto& row : f.rows.schedules) {
      add(row.dag), add(static_cast<std::uint64_t>(row.paused)), add(row.decided);
    }
    for (const auto& row : f.rows.limits) add(row.name), add(std::uint64_t{row.slots});
    for (const auto& event : f.events) add(static_cast<std::uint64_t>(event.kind));
    for (const RunId run : f.expired) add(run.value);
  }
  void operator()(const TermBegan& f) const { add(f.term.value), add(f.term_now); }
  void operator()(const OutageEnded& f) const { add(f.term.value), add(f.term_now); }
  void operator()(const ClientTold& f) const {
    add(f.command.index()), add(f.answer.index());
    if (const auto* run = std::get_if<core::RunAccepted>(&f.answer)) add(run->run.value);
    if (const auto* no = std::get_if<core::Refusal>(&f.answer))
      add(static_cast<std::uint64_t>(no->kind));
    if (const auto* lease = std::get_if<core::LeaseGranted>(&f.answer)) add(lease->epoch.value);
  }
  void operator()(const ClientInDoubt& f) const { add(f.command.index()); }
  void operator()(const ProcessStarted& f) const { add(f.process), add(f.attempt); }
  void operator()(const ProcessEnded& f) const { add(f.process); }
  void operator()(const HolderPaused& f) const { add(f.worker, f.incarnation); }
  void operator()(const HolderReplaced& f) const { add(f.worker, f.incarnation); }
  void operator()(const ClockBeyondMargin& f) const { add(f.worker.text); }
  void operator()(const HintForged& f) const { add(f.worker, f.incarnation); }
  void operator()(const WorkerHeard& f) const { add(f.worker, f.incarnation), add(f.term_now); }
  void operator()(const WorkerGiven& f) const {
    add(f.worker, f.incarnation);
    for (const Assignment& one : f.assignments) add(one.attempt), add(one.checkpoint);
  }
  void operator()(const WorkerSaid& f) const {
    add(f.worker, f.incarnation);
    add(f.report.attempt), add(f.report.body.index());
  }
  void operator()(const FaultsStopped&) const {}
};

}  // namespace

void add_to_hash(Hasher& hash, const Fact& fact) {
  hash.add(fact.index());
  std::visit(HashFact{hash}, fact);
}

}  // namespace vortex::sim
