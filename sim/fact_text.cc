#include "sim/fact_text.h"

#include <string_view>

#include <fmt/format.h>

#include "model/states.h"

namespace vortex::sim {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::string text_of(Attempt attempt) {
  return fmt::format("r{}.{} epoch {}", attempt.task.run.value, attempt.task.index,
                     attempt.epoch.value);
}

std::string text_of(const WorkerId& worker, Incarnation incarnation) {
  return fmt::format("{}#{}", worker.text, incarnation.value);
}

std::string text_of(const Event& event) {
  std::string text(to_text(event.kind));
  if (event.task) text += " " + to_text(*event.task);
  if (event.run && !event.task) text += " " + to_text(*event.run);
  if (!event.worker.empty()) text += " on " + event.worker.text;
  for (const auto& [key, value] : event.data) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      text += fmt::format(" {}={}", key, *number);
    } else {
      text += fmt::format(" {}={}", key, std::get<std::string>(value));
    }
  }
  return text;
}

std::string summary_of(const RowBatch& rows) {
  std::string text;
  const auto add = [&](std::string_view what, std::size_t count) {
    if (count > 0) text += fmt::format(" {} {}", count, what);
  };
  add("runs", rows.runs.size());
  add("tasks", rows.tasks.size());
  add("data", rows.task_data.size());
  add("attempts", rows.attempts.size());
  add("workers", rows.workers.size());
  add("recoveries", rows.recoveries.size());
  add("items", rows.recovery_items.size());
  add("letters", rows.dead_letters.size());
  add("leases", rows.leases.size());
  add("signals", rows.signals.size());
  return text;
}

std::string of(const char* what, const TaskId& task) {
  return fmt::format("{} r{}.{}", what, task.run.value, task.index);
}

std::vector<FactLine> lines_of_commit(const Committed& commit) {
  std::vector<FactLine> lines;
  lines.push_back(
      {"store", fmt::format("commit term {}:{}", commit.term.value, summary_of(commit.rows))});
  for (const Event& event : commit.events) lines.push_back({"  event", text_of(event)});
  return lines;
}

}  // namespace

std::vector<FactLine> lines_of(const Fact& fact) {
  const auto one = [](std::string who, std::string what) {
    return std::vector<FactLine>{{std::move(who), std::move(what)}};
  };
  return std::visit(
      Overloaded{
          [](const Committed& f) { return lines_of_commit(f); },
          [&](const TermBegan& f) {
            return one("leader", fmt::format("term {} begins", f.term.value));
          },
          [&](const OutageEnded& f) {
            return one("leader", fmt::format("term {}: back from an outage", f.term.value));
          },
          [&](const ClientTold& f) {
            return one("client", describe(f.command) + " -> " + describe(f.answer));
          },
          [&](const ClientInDoubt& f) {
            return one("client", describe(f.command) + " -> no answer");
          },
          [&](const ProcessStarted& f) {
            return one(text_of(f.worker, f.incarnation),
                       fmt::format("process {} starts {}", f.process, text_of(f.attempt)));
          },
          [&](const ProcessEnded& f) {
            return one("process", fmt::format("process {} ends", f.process));
          },
          [&](const HolderPaused& f) { return one(text_of(f.worker, f.incarnation), "paused"); },
          [&](const HolderReplaced& f) {
            return one(text_of(f.worker, f.incarnation), "replaced while it lives");
          },
          [&](const ClockBeyondMargin& f) {
            return one(f.worker.text, "its clock runs beyond the margin");
          },
          [&](const HintForged& f) {
            return one(text_of(f.worker, f.incarnation), "looks closed and refused, but lives");
          },
          [](const WorkerHeard&) { return std::vector<FactLine>{}; },
          [&](const WorkerGiven& f) {
            std::vector<FactLine> lines;
            for (const Assignment& given : f.assignments) {
              const std::string from =
                  given.checkpoint.empty() ? "" : ", from checkpoint " + given.checkpoint;
              lines.push_back(
                  {text_of(f.worker, f.incarnation), "is given " + text_of(given.attempt) + from});
            }
            return lines;
          },
          [](const WorkerSaid&) { return std::vector<FactLine>{}; },
          [&](const FaultsStopped&) { return one("world", "faults stop here"); },
      },
      fact);
}

std::string describe(const core::ReplyBody& answer) {
  return std::visit(
      Overloaded{
          [](const core::Done&) { return std::string("done"); },
          [](const core::Refusal& r) {
            return fmt::format("refused ({}) {}", static_cast<int>(r.kind), r.detail);
          },
          [](const core::RunAccepted& r) {
            return fmt::format("run {}{}", r.run.value, r.existed ? " (known)" : "");
          },
          [](const core::Registered& r) {
            return fmt::format("registered in term {}", r.term.value);
          },
          [](const SyncReply& r) {
            return fmt::format("reply {}.{}: {} to start, {} to stop, {} stale", r.mark.term.value,
                               r.mark.reply, r.assignments.size(), r.stops.size(), r.stale.size());
          },
          [](const SyncRefusal& r) {
            return fmt::format("sync refused ({})", static_cast<int>(r.why));
          },
          [](const core::SignalKept& r) {
            return fmt::format("kept as number {}{}{}", r.row.number,
                               r.row.taken_by ? ", taken" : "", r.existed ? " (known)" : "");
          },
          [](const core::LeaseGranted& r) { return fmt::format("lease, epoch {}", r.epoch.value); },
      },
      answer);
}

namespace {

std::string text_of_dag(const core::ApplyDag& c) {
  return "apply " + (c.plan ? c.plan->spec.name : std::string("nothing"));
}
std::string text_of_dag(const core::DeleteDag& c) { return "delete DAG " + c.name; }
std::string text_of_dag(const core::PauseSchedule& c) {
  return (c.paused ? "pause schedule " : "resume schedule ") + c.dag;
}
std::string text_of_dag(const core::TriggerSchedule& c) { return "trigger " + c.dag; }
std::string text_of_dag(const core::SetLimit& c) { return "set limit " + c.name; }
std::string text_of_dag(const core::DeleteLimit& c) { return "delete limit " + c.name; }

}  // namespace

std::string describe(const core::Command& command) {
  using namespace core;
  const auto on = [](bool yes, const char* a, const char* b) { return yes ? a : b; };
  return std::visit(
      Overloaded{
          [](const RegisterWorker& c) { return "register " + text_of(c.info.id, c.incarnation); },
          [](const Sync& c) {
            return fmt::format("sync {} seq {}: {} reports",
                               text_of(c.body.worker, c.body.incarnation), c.body.seq,
                               c.body.reports.size());
          },
          [](const ConnectionLost& c) { return "connection lost " + c.worker.text; },
          [](const ProbeResult& c) {
            return fmt::format("probe of {}: {}", text_of(c.worker, c.incarnation),
                               static_cast<int>(c.outcome));
          },
          [](const WorkerExited& c) { return "exited " + text_of(c.worker, c.incarnation); },
          [](const Unsent& c) { return "unsent to " + c.worker.text; },
          [](const DrainWorker& c) { return "drain " + c.worker.text; },
          [](const CordonWorker& c) {
            return (c.cordoned ? "cordon " : "uncordon ") + c.worker.text;
          },
          [](const ResetWorker& c) { return "reset " + c.worker.text; },
          [](const DeleteWorker& c) { return "delete " + c.worker.text; },
          [](const NoteFindings& c) { return "note " + std::to_string(c.findings.size()); },
          [](const NoteSecrets& c) { return "secrets used " + std::to_string(c.uses.size()); },
          [](const SubmitRun& c) { return "submit " + c.idempotency_key; },
          [](const CancelRun& c) { return "cancel " + to_text(c.run); },
          [&](const PauseRun& c) { return on(c.paused, "pause ", "resume ") + to_text(c.run); },
          [&](const CancelTask& c) { return of("cancel", c.task); },
          [](const SignalRun& c) { return "signal " + c.name + " to " + to_text(c.run); },
          [&](const AnswerApproval& c) { return of(c.approved ? "approve" : "reject", c.task); },
          [&](const RetryTask& c) { return of("retry", c.task); },
          [&](const RedriveDeadLetter& c) { return of("re-drive", c.task); },
          [&](const DiscardDeadLetter& c) { return of("discard", c.task); },
          [&](const PauseQueue& c) {
            return on(c.paused, "pause queue ", "resume queue ") + c.queue;
          },
          [](const auto& c) { return text_of_dag(c); },
          [](const AcquireLease& c) {
            return fmt::format("{} acquires {}", c.agent.text, c.partition.partition);
          },
          [](const RenewLease& c) {
            return fmt::format("{} renews {} epoch {}", c.agent.text, c.partition.partition,
                               c.epoch.value);
          },
          [](const ReleaseLease& c) {
            return fmt::format("{} releases {} epoch {}", c.agent.text, c.partition.partition,
                               c.epoch.value);
          },
          [](const CheckLease& c) {
            return fmt::format("{} checks {} epoch {}", c.agent.text, c.partition.partition,
                               c.epoch.value);
          },
          [](const CheckAttempt& c) { return "check " + text_of(c.attempt); },
          [](const TellLifecycle& c) { return "journal of " + c.supervisor; },
          [](const RefuseCheckpoint& c) { return "no checkpoint: " + text_of(c.by.attempt); },
          [](const KeepCheckpoint& c) { return "checkpoint kept: " + text_of(c.by.attempt); },
          [](const StoreHealth& c) {
            return std::string(c.writable ? "store writes" : "store does not write");
          },
          [](const SelfCheckResult& c) {
            return std::string(c.well ? "self-check well" : "self-check unwell");
          },
          [](const ForgetRun& c) { return "forget run " + to_text(c.run); },
          [](const Tick&) { return std::string("tick"); },
      },
      command);
}

}  // namespace vortex::sim
