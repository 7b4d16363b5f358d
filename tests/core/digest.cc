#include "tests/core/digest.h"

#include "base/hash.h"

namespace vortex::core {

namespace {

class Digest {
 public:
  explicit Digest(const State& state) : state_(state) {}

  std::uint64_t value() {
    add_own();
    for (std::size_t slot = 0; slot < state_.runs.slots(); ++slot) {
      const Run* run = state_.runs.at_slot(slot);
      hash_.add(run != nullptr);
      if (run != nullptr) add_run(*run);
    }
    for (std::uint32_t i = 0; i < state_.workers.size(); ++i) add_worker(state_.workers[{i}]);
    add_queues();
    add_tables();
    return hash_.value();
  }

 private:
  void add(Judged t) { hash_.add(static_cast<std::uint64_t>(t.us)); }
  void add(Instant t) { hash_.add(static_cast<std::uint64_t>(t.us)); }
  void add(const TaskList& list) {
    hash_.add(list.size);
    for (TaskIx ix = list.head; ix.valid(); ix = state_.tasks[ix].links.next) hash_.add(ix.value);
  }

  void add_own() {
    hash_.add(state_.term.value);
    add(state_.clock.judged({}));
    for (const std::uint64_t word : state_.rng.words()) hash_.add(word);
    hash_.add(state_.counters.next_run.value);
    hash_.add(state_.counters.next_recovery.value);
    hash_.add(state_.counters.next_event);
    hash_.add(state_.next_grant);
    hash_.add(state_.brake.index());
    hash_.add(state_.store_writable);
    add(state_.silence_floor);
    hash_.add(state_.tasks.live());
    hash_.add(state_.leftover.size());
    hash_.add(state_.timers.size());
    if (const auto next = state_.timers.next()) add(*next);
    for (const RunIx ix : state_.bulk) hash_.add(ix.value);
    for (const auto& [at, ix] : state_.weak_losses) add(at), hash_.add(ix.value);
    hash_.add(state_.pass_marked);
  }

  void add_phase(const Queued& q) {
    add(q.ready_at);
    add(q.waiting_since);
    hash_.add(q.order);
    hash_.add(q.recovery.value);
    hash_.add(q.last_worker.value);
    hash_.add(static_cast<std::uint64_t>(q.place) * 2 + q.keep_away);
  }
  void add_grant(const Grant& g) {
    hash_.add(g.worker.value);
    hash_.add(static_cast<std::uint64_t>(g.stop));
    hash_.add(g.acked);
    hash_.add(g.restored);
    hash_.add(static_cast<std::uint64_t>(g.granted_at.us));
    add(g.stop_deadline);
    hash_.add(g.sent_in);
    hash_.add(g.stop_sent_in);
  }
  void add_phase(const Waiting&) {}
  void add_phase(const Scheduled& s) { add_grant(s.grant); }
  void add_phase(const Running& r) {
    add_grant(r.grant);
    hash_.add(static_cast<std::uint64_t>(r.started.us));
    add(r.started_at);
    add(r.progress_at);
    hash_.add(r.output_bytes);
    hash_.add(r.percent * 2u + r.watched);
  }
  void add_phase(const Final& f) { hash_.add(static_cast<std::uint64_t>(f.outcome)); }

  void add_task(TaskIx ix) {
    const Task& task = state_.tasks[ix];
    hash_.add(ix.value);
    hash_.add(task.epoch.value);
    const TaskCounters& c = task.counters;
    for (const std::uint16_t n :
         {c.attempts, c.failures, c.crashes, c.stalls, c.releases, c.unstarted}) {
      hash_.add(n);
    }
    hash_.add(task.phase.index());
    std::visit([this](const auto& phase) { add_phase(phase); }, task.phase);
    if (const auto at = state_.timers.at({TimerKind::kTask, ix.value})) add(*at);
    if (!task.notes) return;
    hash_.add(task.notes->checkpoint);
    hash_.add(task.notes->uploaded.number);
    hash_.add(task.notes->step);
    hash_.add(task.notes->error);
  }

  void add_run(const Run& run) {
    hash_.add(run.id.value);
    hash_.add(run.plan->digest);
    for (const std::uint32_t number : late_counts(*run.plan)) hash_.add(number);
    hash_.add(static_cast<std::uint64_t>(run.state));
    hash_.add(static_cast<std::uint64_t>(run.ending));
    hash_.add(run.paused);
    hash_.add(run.waits_for_turn);
    hash_.add(run.sweeping);
    hash_.add(run.in_bulk);
    for (const NodeRun& node : run.nodes) {
      hash_.add(static_cast<std::uint64_t>(node.phase) * 16 +
                static_cast<std::uint64_t>(node.outcome) * 2 + node.stopped);
      for (const std::uint32_t n : {node.created, node.finals, node.failed, node.in_play,
                                    node.needs_done, node.needs_ok, node.needs_failed}) {
        hash_.add(n);
      }
      add(node.parked);
    }
    hash_.add(run.levels_passed);
    hash_.add(run.held);
    hash_.add(run.sweep_next);
    add(run.parked);
    for (const TaskIx ix : run.tasks) {
      if (ix.valid()) add_task(ix);
    }
  }

  void add_worker(const Worker& worker) {
    hash_.add(worker.info->id.text);
    hash_.add(worker.incarnation.value);
    hash_.add(static_cast<std::uint64_t>(worker.state) * 8 + worker.trust.index() * 2 +
              worker.cordoned);
    hash_.add(worker.lost_pending);
    add(worker.heard_at);
    hash_.add(worker.last_seq);
    hash_.add(worker.last_reply);
    hash_.add(worker.parked ? worker.parked->request.value : 0);
    hash_.add(worker.slots);
    hash_.add(worker.abnormal.size());
    hash_.add(worker.stale_to_tell.size());
    hash_.add(worker.times_lost);
    for (const Instant at : worker.lost_lately) hash_.add(static_cast<std::uint64_t>(at.us));
    hash_.add(worker.end_told.value);
    hash_.add(worker.drain_within ? static_cast<std::uint64_t>(worker.drain_within->us) + 1 : 0);
    add(worker.held);
  }

  void add_queues() {
    for (std::uint32_t q = 0; q < state_.ready.queues(); ++q) {
      const Queue& queue = state_.ready[QueueIx{q}];
      hash_.add(queue.name);
      hash_.add(queue.paused);
      for (const Offer& offer : queue.offers) hash_.add(offer.worker.value);
      for (const HeadKey& head : queue.heads) hash_.add(head.cls.value);
    }
    for (std::uint32_t i = 0; i < state_.ready.classes(); ++i) {
      for (const PriorityList& list : state_.ready[ClassIx{i}].lists) add(list.tasks);
    }
  }

  void add_tables() {
    for (const auto& [id, machine] : state_.machines) {
      hash_.add(id.text);
      hash_.add(machine.present * 2 + machine.online);
    }
    for (const auto& [key, entry] : state_.leases) {
      hash_.add(key.topic);
      hash_.add(key.partition);
      hash_.add(entry.second.holder.text);
      hash_.add(entry.second.epoch.value);
      add(entry.second.expires_at);
    }
    for (const auto& [key, known] : state_.keys) hash_.add(key), hash_.add(known.run.value);
    for (const auto& [supervisor, journal] : state_.journals) {
      hash_.add(supervisor);
      hash_.add(journal.journal);
      hash_.add(journal.last);
    }
    for (const auto& [dag, ix] : state_.schedules.by_name()) {
      const Schedule& schedule = state_.schedules[ix];
      hash_.add(dag);
      hash_.add(static_cast<std::uint64_t>(schedule.paused));
      add(schedule.decided);
      for (const Instant slot : schedule.waiting) add(slot);
      for (const RunId run : state_.schedules.live(dag)) hash_.add(run.value);
    }
    for (const auto& [id, letter] : state_.dead_letters) {
      hash_.add(id.run.value);
      hash_.add(id.index);
      hash_.add(letter.epoch.value);
    }
  }

  const State& state_;
  Hasher hash_;
};

}  // namespace

std::uint64_t digest(const State& state) { return Digest(state).value(); }

}  // namespace vortex::core
