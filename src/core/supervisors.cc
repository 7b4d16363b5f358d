#include <algorithm>
#include <utility>

#include "base/reached.h"
#include "core/machine.h"

namespace vortex::core {

namespace {

// So many supervisors are remembered; with one more the one silent for longest is forgotten.
constexpr std::size_t kJournalsMax = 10'000;
constexpr std::size_t kLossesKept = 20;  // as many as the setting allows to ask for

bool is_end(EventKind kind) {
  return kind == EventKind::kWorkerExit || kind == EventKind::kWorkerCrash;
}

Severity severity_of(EventKind kind) {
  if (kind == EventKind::kWorkerSpawnFailed) return Severity::kError;
  const bool bad = kind == EventKind::kWorkerCrash || kind == EventKind::kWorkerSpawnRetry;
  return bad ? Severity::kWarning : Severity::kInfo;
}

void forget_oldest_journal(Context& cx) {
  const auto oldest = std::ranges::min_element(cx.state.journals, {}, [](const auto& entry) {
    return std::pair(entry.second.at, std::cref(entry.first).get());
  });
  JournalRow row = std::move(oldest->second);
  cx.state.journals.erase(oldest);
  row.forgotten = true;
  cx.fx.rows.journals.push_back(std::move(row));
}

// The row of this journal; one that begins anew has nothing taken yet.
JournalRow& journal_of(Context& cx, const TellLifecycle& command) {
  auto known = cx.state.journals.find(command.supervisor);
  if (known == cx.state.journals.end()) {
    if (cx.state.journals.size() >= kJournalsMax) forget_oldest_journal(cx);
    known = cx.state.journals.emplace(command.supervisor, JournalRow{}).first;
    known->second.supervisor = command.supervisor;
  }
  if (known->second.journal != command.journal) {
    known->second.journal = command.journal;
    known->second.last = 0;
  }
  return known->second;
}

void take_entry(Context& cx, const LifecycleEntry& entry) {
  const WorkerIx ix = cx.state.workers.find(entry.worker);
  if (is_end(entry.kind) && ix.valid()) {
    Worker& worker = cx.worker(ix);
    // Who does not know the secret of this life does not say how it ended. Of an earlier one
    // nothing is left that could be changed.
    if (entry.incarnation == worker.incarnation && !is_of_session(worker, entry.session)) return;
    // Proof, or its own goodbye, said so before.
    if (entry.incarnation <= worker.end_told) return;
    worker.end_told = std::min(entry.incarnation, newest_life(cx, worker.incarnation));
    cx.touch(ix);
  }
  cx.event_of(entry.worker, entry.kind, entry.data, severity_of(entry.kind));
}

bool is_of(const WorkerExited& command, Incarnation life) {
  return command.incarnation == life ||
         std::ranges::find(command.lives, life) != command.lives.end();
}

}  // namespace

void on_worker_exited(Context& cx, const WorkerExited& command) {
  const WorkerIx ix = cx.state.workers.find(command.worker);
  if (!ix.valid()) return cx.refuse(command.request, RefusalKind::kUnknownWorker);
  const Worker& worker = cx.worker(ix);
  const bool of_this_life = is_of(command, worker.incarnation);
  if (!of_this_life && command.incarnation > worker.incarnation) {
    return cx.refuse(command.request, RefusalKind::kWrongState,
                     "this incarnation never registered");
  }
  if (of_this_life && !is_of_session(worker, command.session)) {
    REACHED("core: proof without the session of its life refused");
    return refuse_session(cx, command.request, command.session);
  }
  // Proof about an earlier life, or told twice: nothing is left to do.
  if (of_this_life && is_present(worker.state)) {
    if (command.incarnation != worker.incarnation) {
      REACHED("core: proof covers another life of the same process");
    }
    for (const Attempt& attempt : command.started) note_started(cx, ix, attempt);
    cx.process_end = command.how;
    lose_worker(cx, ix, Evidence::kExit);
    Worker& ended = cx.worker(ix);
    const Incarnation told = std::min(command.incarnation, newest_life(cx, ended.incarnation));
    ended.end_told = std::max(ended.end_told, told);
  }
  cx.reply(command.request, Done{});
}

void on_tell_lifecycle(Context& cx, const TellLifecycle& command) {
  JournalRow& journal = journal_of(cx, command);
  for (const LifecycleEntry& entry : command.entries) {
    if (entry.number <= journal.last) continue;
    journal.last = entry.number;
    take_entry(cx, entry);
  }
  journal.at = cx.now;
  cx.fx.rows.journals.push_back(journal);
  cx.reply(command.request, Done{});
}

void tell_end(Context& cx, const LifeEnd& end, std::vector<EventField> data) {
  Worker& worker = cx.worker(end.worker);
  if (is_end(end.kind)) {
    if (worker.incarnation <= worker.end_told) return;
    if (end.is_known) worker.end_told = worker.incarnation;
    cx.touch(end.worker);
    if (cx.process_end) {
      data.emplace_back(cx.process_end->by_signal ? "signal" : "exit_code",
                        std::int64_t{cx.process_end->code});
    }
  }
  cx.event_of(worker.info->id, end.kind, std::move(data), end.severity);
}

void count_loss(Context& cx, WorkerIx ix, Evidence evidence) {
  if (evidence == Evidence::kGoodbye || evidence == Evidence::kOperator) return;
  const Policy& policy = cx.state.policy;
  Worker& worker = cx.worker(ix);
  ++worker.times_lost;
  worker.lost_lately.push_back(cx.now);
  if (worker.lost_lately.size() > kLossesKept) worker.lost_lately.erase(worker.lost_lately.begin());
  const auto lately = std::ranges::count_if(
      worker.lost_lately, [&](Instant at) { return cx.now - at < policy.flapping_window; });
  if (policy.flapping_losses == 0 || lately < policy.flapping_losses) return;
  cx.event(EventKind::kWorkerFlapping, {.worker = ix, .task = {}, .run = {}},
           {{"losses", std::int64_t{lately}},
            {"window_secs", policy.flapping_window.us / 1'000'000},
            {"times_lost", std::int64_t{worker.times_lost}}},
           Severity::kWarning);
}

}  // namespace vortex::core
