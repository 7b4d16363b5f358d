#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "model/plan.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

bool is_done(const core::ReplyBody& answer) { return std::holds_alternative<core::Done>(answer); }

// 26: OK means durable; a definite error means no effect; no answer may mean either.
//
// What an answer speaks of may have moved on since, so the question is whether it was ever
// committed. Commands whose effect may be undone at any time (pause, cordon) are not asked about.
class OkIsDurable : public Checker {
 public:
  explicit OkIsDurable(const CheckerTools& tools) : Checker("26-ok-is-durable", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* commit = std::get_if<Committed>(&fact)) {
      note(picture);
      note(*commit);
    } else if (const auto* told = std::get_if<ClientTold>(&fact)) {
      std::visit([&](const auto& command) { check(picture, command, told->answer); },
                 told->command);
    } else if (const auto* doubt = std::get_if<ClientInDoubt>(&fact)) {
      const auto* submit = std::get_if<core::SubmitRun>(&doubt->command);
      if (submit != nullptr) refused_only_[submit->idempotency_key] = false;
    } else if (const auto* started = std::get_if<ProcessStarted>(&fact)) {
      check_granted(picture, started->attempt, {started->worker, started->incarnation}, "started");
    }
  }

  void finish(const Picture& picture, Instant) override {
    for (const auto& [id, entry] : picture.runs().all()) {
      if (!entry.row.request || entry.row.request->idempotency_key.empty()) continue;
      const auto found = refused_only_.find(entry.row.request->idempotency_key);
      if (found != refused_only_.end() && found->second) {
        violated("every submit with key '{}' was refused, but run {} is there", found->first,
                 to_text(id));
      }
    }
  }

 private:
  void note(const Picture& picture) {
    for (const auto& change : picture.runs().changes()) {
      const RunRow& run = *change.after;
      if (run.ending != RunEnding::kNone || run.state != RunState::kRunning) ended_.insert(run.id);
      if (run.finally_ending != RunEnding::kNone) ended_.insert(run.id);
    }
    for (const auto& change : picture.tasks().changes()) {
      const TaskRow& task = *change.after;
      if (task.stop == StopReason::kCancel || task.state == TaskState::kCancelled) {
        cancelled_.insert(task.id);
      }
    }
    revived_.insert(picture.acts().begin(), picture.acts().end());
    for (const auto& change : picture.dead_letters().changes()) {
      const DeadLetterRow& letter = *change.after;
      if (letter.state == DeadLetterState::kDiscarded) discarded_.insert(letter.attempt.task);
    }
    for (const auto& change : picture.leases().changes()) {
      if (change.after->holder.empty()) freed_[change.after->partition] = change.after->epoch;
    }
  }

  void note(const Committed& commit) {
    const RowBatch& rows = commit.rows;
    for (const TaskDataRow& row : rows.task_data) {
      if (row.uploaded) uploaded_.insert({Attempt{row.id, row.epoch}, row.uploaded->number});
    }
    for (const ScheduleRow& row : rows.schedules) {
      if (row.plan) applied_.insert(row.plan->digest);
    }
    for (const JournalRow& row : rows.journals) {
      std::uint64_t& last = journals_[{row.supervisor, row.journal}];
      last = std::max(last, row.last);
    }
    for (const WorkerRow& row : rows.workers) {
      const bool leaves = !is_present(row.state) || row.state == WorkerState::kDraining;
      if (leaves) left_.insert(row.info->id);
    }
    // One that left and came back within the commit shows it in the log alone.
    for (const Event& event : commit.events) {
      if (event.kind == EventKind::kWorkerDraining) left_.insert(event.worker);
    }
    deleted_.insert(rows.workers_gone.begin(), rows.workers_gone.end());
    for (const PartitionLeaseRow& row : rows.leases) {
      if (!row.holder.empty()) leased_[{row.partition, row.epoch}] = row.holder;
    }
  }

  template <class Command>
  void check(const Picture&, const Command&, const core::ReplyBody&) {}

  void check(const Picture& picture, const core::CheckAttempt& command,
             const core::ReplyBody& answer) {
    if (!is_done(answer) || picture.granted_to(command.attempt) != nullptr) return;
    violated("{} may act, it was said, but nobody was ever granted it", say(command.attempt));
  }

  void check(const Picture&, const core::CheckLease& command, const core::ReplyBody& answer) {
    const auto* granted = std::get_if<core::LeaseGranted>(&answer);
    if (granted == nullptr) return;
    const auto found = leased_.find({command.partition, command.epoch});
    const bool held = found != leased_.end() && found->second == command.agent;
    if (held && granted->epoch == command.epoch) return;
    violated("'{}' may act for partition {}, it was said, but no commit gave it epoch {}",
             command.agent.text, say(command.partition), command.epoch.value);
  }

  void check(const Picture&, const core::KeepCheckpoint& command, const core::ReplyBody& answer) {
    if (!is_done(answer) || uploaded_.contains({command.by.attempt, command.uploaded.number})) {
      return;
    }
    violated("checkpoint {} of {} is kept, it was said, but no commit says so",
             command.uploaded.number, say(command.by.attempt));
  }

  void check(const Picture&, const core::TellLifecycle& command, const core::ReplyBody& answer) {
    if (!is_done(answer) || command.entries.empty()) return;
    const auto found = journals_.find({command.supervisor, command.journal});
    if (found != journals_.end() && found->second >= command.entries.back().number) return;
    violated("'{}' was told that its journal was taken, but no commit says so", command.supervisor);
  }

  void check(const Picture&, const core::DrainWorker& command, const core::ReplyBody& answer) {
    if (!is_done(answer) || left_.contains(command.worker)) return;
    violated("worker '{}' leaves, it was said, but no commit says so", command.worker.text);
  }

  void check(const Picture&, const core::DeleteWorker& command, const core::ReplyBody& answer) {
    if (!is_done(answer) || deleted_.contains(command.worker)) return;
    violated("worker '{}' is forgotten, it was said, but no commit says so", command.worker.text);
  }

  void check(const Picture& picture, const core::SubmitRun& submit, const core::ReplyBody& answer) {
    // What one copy of a request found no room for, a later copy may find.
    const auto* refusal = std::get_if<core::Refusal>(&answer);
    const bool refused = refusal != nullptr && refusal->kind != core::RefusalKind::kOverQuota;
    const auto [known, is_new] = refused_only_.try_emplace(submit.idempotency_key, refused);
    if (!is_new && !refused) known->second = false;
    const auto* accepted = std::get_if<core::RunAccepted>(&answer);
    if (accepted == nullptr) return;
    const RunRow* run = picture.runs().find(accepted->run);
    if (run == nullptr) {
      return violated("a client was told of run {} before it was committed",
                      to_text(accepted->run));
    }
    const auto* plan = std::get_if<PlanPtr>(&submit.dag);
    const bool same_plan =
        plan == nullptr || !*plan || !run->plan || (*plan)->digest == run->plan->digest;
    const bool same_params = !run->request || run->request->params == submit.params;
    if (!same_plan || !same_params) {
      violated("run {} is not what was asked for with key '{}'", to_text(run->id),
               submit.idempotency_key);
    }
  }

  void check(const Picture& picture, const core::TriggerSchedule& command,
             const core::ReplyBody& answer) {
    const auto* accepted = std::get_if<core::RunAccepted>(&answer);
    if (accepted == nullptr) return;
    const RunRow* run = picture.runs().find(accepted->run);
    if (run != nullptr && run->request && run->request->schedule == command.dag) return;
    violated("a client was told of run {} of '{}' before it was committed", to_text(accepted->run),
             command.dag);
  }

  void check(const Picture&, const core::ApplyDag& command, const core::ReplyBody& answer) {
    if (!is_done(answer) || !command.plan || applied_.contains(command.plan->digest)) return;
    violated("'{}' is applied, it was said, but no commit says so", command.plan->spec.name);
  }

  void check(const Picture&, const core::CancelRun& command, const core::ReplyBody& answer) {
    if (!is_done(answer) || ended_.contains(command.run)) return;
    violated("a client was told that run {} is cancelled, but no commit says so",
             to_text(command.run));
  }

  void check(const Picture&, const core::CancelTask& command, const core::ReplyBody& answer) {
    check_task(answer, cancelled_, command.task, "cancelled");
  }
  void check(const Picture&, const core::RetryTask& command, const core::ReplyBody& answer) {
    check_task(answer, revived_, command.task, "run again");
  }
  void check(const Picture&, const core::RedriveDeadLetter& command,
             const core::ReplyBody& answer) {
    check_task(answer, revived_, command.task, "re-driven");
  }
  void check(const Picture&, const core::DiscardDeadLetter& command,
             const core::ReplyBody& answer) {
    check_task(answer, discarded_, command.task, "discarded");
  }

  void check_task(const core::ReplyBody& answer, const std::set<TaskId>& committed, TaskId task,
                  std::string_view what) {
    if (!is_done(answer) || committed.contains(task)) return;
    violated("a client was told that {} is {}, but no commit says so", say(task), what);
  }

  void check(const Picture& picture, const core::RegisterWorker& command,
             const core::ReplyBody& answer) {
    if (!std::holds_alternative<core::Registered>(answer)) return;
    const WorkerRow* row = picture.workers().find(command.info.id);
    if (row != nullptr && row->incarnation >= command.incarnation) return;
    violated("{} was told that it is registered, but no commit says so",
             say(Holder{command.info.id, command.incarnation}));
  }

  void check(const Picture& picture, const core::WorkerExited& command,
             const core::ReplyBody& answer) {
    if (!is_done(answer)) return;
    const WorkerRow* row = picture.workers().find(command.worker);
    if (row == nullptr || !is_present(row->state)) return;
    const bool proved = row->incarnation == command.incarnation ||
                        std::ranges::find(command.lives, row->incarnation) != command.lives.end();
    if (!proved) return;
    violated("the end of {} was acknowledged, but it is still {}",
             say(Holder{command.worker, row->incarnation}), to_text(row->state));
  }

  void check(const Picture& picture, const core::Sync& command, const core::ReplyBody& answer) {
    const auto* reply = std::get_if<SyncReply>(&answer);
    if (reply == nullptr) return;
    for (const Assignment& assignment : reply->assignments) {
      check_granted(picture, assignment.attempt, {command.body.worker, command.body.incarnation},
                    "assigned");
    }
  }

  void check(const Picture& picture, const core::ReleaseLease& command,
             const core::ReplyBody& answer) {
    if (!is_done(answer)) return;
    const PartitionLeaseRow* row = picture.leases().find(command.partition);
    const auto freed = freed_.find(command.partition);
    if (row != nullptr && row->epoch > command.epoch) return;
    if (freed != freed_.end() && freed->second >= command.epoch) return;
    violated("'{}' was told that partition {} is released, but no commit says so",
             command.agent.text, say(command.partition));
  }

  // Work leaves the controller only after its grant is durable.
  void check_granted(const Picture& picture, const Attempt& attempt, const Holder& holder,
                     std::string_view how) {
    const Holder* granted = picture.granted_to(attempt);
    if (granted != nullptr && *granted == holder) return;
    violated("{} was {} on {}, but committed is {}", say(attempt), how, say(holder),
             granted == nullptr ? "no such grant" : "its grant to " + say(*granted));
  }

  std::map<std::string, bool> refused_only_;  // by key: no submit with it can have had an effect
  std::set<RunId> ended_;
  std::set<TaskId> cancelled_;
  std::set<TaskId> revived_;
  std::set<TaskId> discarded_;
  std::map<PartitionKey, Epoch> freed_;
  std::set<std::pair<Attempt, std::uint64_t>> uploaded_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> journals_;
  std::set<std::uint64_t> applied_;  // digests
  std::set<WorkerId> left_;
  std::set<WorkerId> deleted_;
  std::map<std::pair<PartitionKey, Epoch>, AgentId> leased_;
};

// 26: what makes no sense is refused, and so is what speaks of nothing there is.
class NonsenseRefused : public Checker {
 public:
  explicit NonsenseRefused(const CheckerTools& tools) : Checker("26-nonsense-refused", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    const auto* told = std::get_if<ClientTold>(&fact);
    if (told == nullptr) return;
    if (std::holds_alternative<core::Refusal>(told->answer)) return;
    if (std::holds_alternative<SyncRefusal>(told->answer)) return;
    asked_at_ = told->asked_at;
    std::visit([&](const auto& command) { accepted(picture, command); }, told->command);
  }

 private:
  template <class Command>
  void accepted(const Picture& picture, const Command& command) {
    if constexpr (requires { command.task.run; }) check_kept(picture, command.task.run);
    if constexpr (requires { command.run; }) check_kept(picture, command.run);
    if constexpr (requires { command.task; }) {
      if (picture.tasks().find(command.task) == nullptr) {
        violated("{} is unknown, but a command about it was accepted", say(command.task));
      }
    } else if constexpr (requires { command.run; }) {
      if (picture.runs().find(command.run) == nullptr) {
        violated("run {} is unknown, but a command about it was accepted", to_text(command.run));
      }
    } else if constexpr (requires { command.epoch; }) {
      if (picture.leases().find(command.partition) == nullptr) {
        violated("partition {} was never leased, but a command about it was accepted",
                 say(command.partition));
      }
    }
  }
  void check_kept(const Picture& picture, RunId run) {
    if (picture.forgotten_at(run) >= asked_at_) return;
    violated("run {} was forgotten before a command about it was sent, and accepted", to_text(run));
  }
  void accepted(const Picture&, const core::SubmitRun& submit) {
    const auto* spec = std::get_if<DagSpec>(&submit.dag);
    if (spec != nullptr && !compile(*spec, policy().dag_limits)) {
      violated("a DAG that cannot run was accepted under key '{}'", submit.idempotency_key);
    }
    if (submit.idempotency_key.size() > 256) violated("a key of more than 256 bytes was accepted");
  }
  void accepted(const Picture&, const core::AcquireLease& command) {
    if (!command.agent.empty() && !command.partition.topic.empty()) return;
    violated("a lease without a holder or a topic was granted");
  }
  void accepted(const Picture&, const core::PauseSchedule& command) {
    if (command.dag == "nobody") violated("a schedule that there is not was paused or resumed");
  }
  void accepted(const Picture&, const core::TriggerSchedule& command) {
    if (command.dag == "nobody") violated("a schedule that there is not was triggered");
  }
  void accepted(const Picture&, const core::PauseQueue& command) {
    if (command.queue.empty()) violated("a queue without a name was paused");
  }
  void accepted(const Picture&, const core::RegisterWorker& command) {
    if (command.info.slots == 0) violated("a worker without slots was registered");
    if (command.incarnation.value > kLivesMax) {
      violated("'{}' registered as life {}: none could follow it", command.info.id.text,
               command.incarnation.value);
    }
  }
  void accepted(const Picture&, const core::Sync& command) {
    if (command.body.seq == 0) violated("a sync without a number was answered");
  }
  void accepted(const Picture&, const core::KeepCheckpoint& command) {
    if (command.uploaded.bytes <= policy().upload_bytes_max) return;
    violated("a checkpoint of {} bytes was kept", command.uploaded.bytes);
  }

  static constexpr std::uint64_t kLivesMax = std::uint64_t{1} << 62U;

  Instant asked_at_;  // of the answer being checked
};

}  // namespace

void add_answer_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<OkIsDurable>(tools));
  list.push_back(std::make_unique<NonsenseRefused>(tools));
}

}  // namespace vortex::sim
