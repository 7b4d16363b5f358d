#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/planted.h"
#include "base/reached.h"
#include "base/text.h"
#include "core/machine.h"
#include "model/check.h"

namespace vortex::core {
namespace {

TimerKey wait_timer(TaskIx ix) { return {TimerKind::kTask, ix.value}; }

// Who said it, for people.
std::string teller(const std::string& sent_by) {
  return sent_by.empty() ? std::string("somebody without a token") : in_quotes(sent_by);
}

void complete_wait(Context& cx, TaskIx ix, const std::string& outputs) {
  Task& task = cx.task(ix);
  if (!outputs.empty()) {
    cx.fx.rows.task_data.push_back({.id = cx.id_of(task), .epoch = task.epoch, .outputs = outputs});
    read_outputs(cx.state, cx.run_of(task), task.node, outputs);
  }
  if (task.notes) task.notes->error.clear();
  cx.event(EventKind::kTaskComplete, {.worker = {}, .task = ix, .run = {}},
           {{"attempts", std::int64_t{task.counters.attempts}}});
  finish_task(cx, ix, TaskEvent::kWaited, TaskState::kCompleted);
}

// It takes this signal, which nobody has taken yet.
void take_signal(Context& cx, TaskIx ix, SignalRow& signal) {
  const Task& task = cx.task(ix);
  signal.taken_by = task.index;
  signal.taken_epoch = task.epoch;
  if (!planted(PlantedBug::kSignalTakenTwice)) cx.fx.rows.signals.push_back(signal);
  complete_wait(cx, ix, signal.data);
}

// The first that came and that no wait has taken.
SignalRow* free_signal(Run& run, std::string_view name) {
  for (SignalRow& signal : run.signals) {
    if (signal.kind == SignalKind::kSignal && signal.name == name && !signal.taken_by) {
      return &signal;
    }
  }
  return nullptr;
}

void time_out(Context& cx, TaskIx ix) {
  const WaitSpec& wait = *cx.spec_of(cx.task(ix)).wait;
  const std::string within = " within " + short_text(*wait.timeout);
  REACHED("core: wait timed out");
  if (wait.kind == WaitKind::kSignal) {
    return die_in_queue(cx, ix, DeathReason::kWaitTimedOut,
                        "timed out: no signal " + in_quotes(wait.text) + " came" + within);
  }
  die_in_queue(cx, ix, DeathReason::kWaitTimedOut,
               "timed out: nobody answered \"" + wait.text + "\"" + within);
}

// ---- What is said to a run ----

// What a run has been told stays in memory with it, so there is an end to it.
bool refuse_too_many(Context& cx, RequestId request, const Run& run, std::size_t bytes) {
  std::size_t sum = bytes;
  for (const SignalRow& signal : run.signals) sum += signal.data.size();
  std::string wrong;
  if (run.signals.size() >= kSignalsMax) {
    wrong = to_text(run.id) + " has been sent " + std::to_string(kSignalsMax) +
            " signals and answers; it takes no more";
  } else if (sum > kSignalsBytesMax) {
    wrong = "the payloads of all signals of a run may have " + std::to_string(kSignalsBytesMax) +
            " bytes together";
  }
  if (wrong.empty()) return false;
  cx.refuse(request, RefusalKind::kTooManySignals, std::move(wrong));
  return true;
}

// The next row of what the run is told. What it holds counts against the quota.
SignalRow& add_signal(Context& cx, RunIx ix, SignalRow signal) {
  Run& run = cx.run(ix);
  signal.run = run.id;
  signal.number = static_cast<std::uint32_t>(run.signals.size()) + 1;
  signal.at = cx.now;
  book_reads(cx.state, run, signal.data.size());
  return run.signals.emplace_back(std::move(signal));
}

// True: the answer is on its way, because it was said before with this key.
bool answer_known_signal(Context& cx, const SignalRun& command, const Run& run) {
  if (command.idempotency_key.empty()) return false;
  const auto known =
      std::ranges::find(run.signals, command.idempotency_key, &SignalRow::idempotency_key);
  if (known == run.signals.end()) return false;
  if (known->name != command.name || known->data != command.data) {
    cx.refuse(command.request, RefusalKind::kKeyReused,
              "the key " + in_quotes(command.idempotency_key) + " was used for another signal");
    return true;
  }
  REACHED("core: repeated signal answered with the one that is there");
  cx.reply(command.request, SignalKept{*known, true});
  return true;
}

std::vector<std::uint32_t> waits_for(const DagPlan& plan, std::string_view signal) {
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t node : plan.asking) {
    const WaitSpec& wait = *plan.node_spec(node).wait;
    if (wait.kind == WaitKind::kSignal && wait.text == signal) nodes.push_back(node);
  }
  return nodes;
}

std::string unknown_signal(const DagPlan& plan, std::string_view name) {
  std::vector<std::string_view> names;
  for (const std::uint32_t node : plan.asking) {
    const WaitSpec& wait = *plan.node_spec(node).wait;
    if (wait.kind == WaitKind::kSignal) names.push_back(wait.text);
  }
  const std::string out =
      "no task of DAG " + in_quotes(plan.spec.name) + " waits for signal " + in_quotes(name);
  if (names.empty()) return out + "; it waits for no signals at all";
  const std::string_view near = nearest_name(name, names);
  if (!near.empty()) return out + "; did you mean " + in_quotes(near) + "?";
  std::ranges::sort(names);
  const auto twice = std::ranges::unique(names);
  names.erase(twice.begin(), twice.end());
  std::string all;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 10); ++i) {
    all += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return out + "; it waits for: " + all;
}

// The task of the node, if it waits now.
TaskIx waiting_task(Context& cx, const Run& run, std::uint32_t node) {
  const TaskIx ix = run.tasks[run.plan->first_task(node)];
  if (!ix.valid()) return TaskIx::none();
  const auto* queued = std::get_if<Queued>(&cx.task(ix).phase);
  return queued != nullptr && queued->place == Queued::Place::kWait ? ix : TaskIx::none();
}

void tell_signal(Context& cx, RunIx ix, const SignalRow& signal) {
  cx.event(
      EventKind::kSignalReceived, {.worker = {}, .task = {}, .run = ix},
      {{"name", signal.name}, {"number", std::int64_t{signal.number}}, {"by", signal.sent_by}});
}

// How the approval of this life of the task was answered; null: not yet.
const SignalRow* answer_of(const Run& run, const Task& task) {
  for (const SignalRow& answer : run.signals) {
    if (answer.kind != SignalKind::kSignal && answer.taken_by == task.index &&
        answer.taken_epoch == task.epoch) {
      return &answer;
    }
  }
  return nullptr;
}

bool may_answer(const WaitSpec& wait, Role role) {
  return role == Role::kAdmin || std::ranges::find(wait.by, role) != wait.by.end();
}

std::string who_may(const WaitSpec& wait) {
  std::string out;
  for (const Role role : wait.by) {
    if (role != Role::kAdmin) out += std::string(to_text(role)) + " or ";
  }
  return out + "admin";
}

// True: the answer is on its way, because it was answered before.
bool answer_again(Context& cx, const AnswerApproval& command, const SignalRow* before) {
  if (before == nullptr) return false;
  const bool same = (before->kind == SignalKind::kApproved) == command.approved;
  if (same || planted(PlantedBug::kOppositeAnswerAccepted)) {
    REACHED("core: repeated answer to an approval");
    cx.reply(command.request, SignalKept{*before, true});
    return true;
  }
  cx.refuse(command.request, RefusalKind::kWrongState,
            in_quotes(before->name) + " was already " + std::string(to_text(before->kind)) +
                " by " + teller(before->sent_by));
  return true;
}

// The approval that the command is about; none: it was refused.
TaskIx approval_of(Context& cx, const AnswerApproval& command, const Run& run) {
  const RequestId request = command.request;
  const auto none = [&](RefusalKind kind, std::string detail) {
    cx.refuse(request, kind, std::move(detail));
    return TaskIx::none();
  };
  if (command.task.index >= run.tasks.size()) return none(RefusalKind::kUnknownTask, {});
  const NodeSpec& spec = run.plan->node_spec(run.plan->node_of_task(command.task.index));
  if (!spec.wait || spec.wait->kind != WaitKind::kApproval) {
    return none(RefusalKind::kWrongState, in_quotes(spec.name) + " does not ask for an approval");
  }
  if (!may_answer(*spec.wait, command.role)) {
    return none(RefusalKind::kNotAllowed, in_quotes(spec.name) + " asks for the approval of " +
                                              who_may(*spec.wait) + ", not of " +
                                              std::string(to_text(command.role)));
  }
  const TaskIx ix = run.tasks[command.task.index];
  if (ix.valid() && !std::holds_alternative<Waiting>(cx.task(ix).phase)) return ix;
  return none(RefusalKind::kWrongState,
              in_quotes(spec.name) + " does not ask yet: the tasks it needs have not ended");
}

void take_answer(Context& cx, const AnswerApproval& command, TaskIx ix) {
  const Task& task = cx.task(ix);
  const std::string name = cx.spec_of(task).name;
  SignalRow row;
  row.kind = command.approved ? SignalKind::kApproved : SignalKind::kRejected;
  row.name = name;
  row.data = command.approved ? command.outputs : std::string();
  row.comment = command.comment;
  row.sent_by = command.sent_by;
  row.taken_by = task.index;
  row.taken_epoch = task.epoch;
  // A copy: what follows may end the run.
  const SignalRow kept = add_signal(cx, task.run, std::move(row));
  cx.fx.rows.signals.push_back(kept);
  cx.event(command.approved ? EventKind::kTaskApproved : EventKind::kTaskRejected,
           {.worker = {}, .task = ix, .run = {}},
           {{"by", command.sent_by}, {"comment", command.comment}});
  cx.reply(command.request, SignalKept{kept, false});
  if (command.approved) return complete_wait(cx, ix, command.outputs);
  REACHED("core: approval rejected");
  die_in_queue(cx, ix, DeathReason::kRejected,
               "rejected by " + teller(command.sent_by) +
                   (command.comment.empty() ? "" : ": " + command.comment));
}

}  // namespace

Queued newly_queued(const Context& cx, const NodeSpec& spec) {
  Queued queued;
  queued.ready_at = cx.judged;
  if (!spec.wait) return queued;
  const WaitSpec& wait = *spec.wait;
  if (wait.kind == WaitKind::kFor) queued.due = cx.now + wait.length;
  if (wait.kind == WaitKind::kUntil) queued.due = {wait.until.seconds * seconds(1).us};
  if (wait.timeout) queued.due = cx.now + *wait.timeout;
  return queued;
}

void place_wait(Context& cx, TaskIx ix) {
  Task& task = cx.task(ix);
  const WaitSpec& wait = *cx.spec_of(task).wait;
  Queued& queued = std::get<Queued>(task.phase);
  queued.place = Queued::Place::kWait;
  queued.waiting_since = cx.judged;
  cx.state.promises.set(wait_timer(ix), {queued.due.us});
  if (wait.kind == WaitKind::kApproval) {
    cx.state.approvals.insert(cx.id_of(task));
    if (cx.restoring) return;
    cx.event(EventKind::kApprovalRequested, {.worker = {}, .task = ix, .run = {}},
             {{"question", wait.text}, {"by", who_may(wait)}});
  }
  if (wait.kind != WaitKind::kSignal) return;
  if (SignalRow* signal = free_signal(cx.run_of(task), wait.text)) {
    REACHED("core: wait took a signal that came before it");
    take_signal(cx, ix, *signal);
  }
}

void forget_wait(Context& cx, TaskIx ix) {
  const Task& task = cx.task(ix);
  if (!cx.spec_of(task).wait) return;
  cx.state.promises.clear(wait_timer(ix));
  cx.state.approvals.erase(cx.id_of(task));
}

void on_wait_due(Context& cx, TaskIx ix) {
  const Task& task = cx.task(ix);
  // Its run wants nothing more, but the sweep has not come to it yet.
  if (ending_of(cx.run_of(task), task.node) != RunEnding::kNone) return cancel_task(cx, ix);
  if (cx.spec_of(task).wait->asks()) return time_out(cx, ix);
  complete_wait(cx, ix, {});
}

void on_signal_run(Context& cx, const SignalRun& command) {
  const RunIx ix = cx.state.runs.find(command.run);
  if (!ix.valid()) return cx.refuse(command.request, absent_run(cx.state, command.run));
  Run& run = cx.run(ix);
  if (command.data.size() > kSignalBytesMax) {
    return cx.refuse(
        command.request, RefusalKind::kMalformed,
        "the payload of a signal has more than " + std::to_string(kSignalBytesMax) + " bytes");
  }
  const std::vector<std::uint32_t> nodes = waits_for(*run.plan, command.name);
  if (nodes.empty()) {
    return cx.refuse(command.request, RefusalKind::kUnknownSignal,
                     unknown_signal(*run.plan, command.name));
  }
  if (answer_known_signal(cx, command, run)) return;
  const auto is_over = [&](std::uint32_t node) {
    return run.nodes[node].phase == NodePhase::kDone || ending_of(run, node) != RunEnding::kNone;
  };
  if (std::ranges::all_of(nodes, is_over)) {
    const bool ending = run.ending != RunEnding::kNone;
    return cx.refuse(
        command.request, ending ? RefusalKind::kRunEnding : RefusalKind::kWrongState,
        ending ? "" : "every wait for signal " + in_quotes(command.name) + " has ended");
  }
  if (refuse_too_many(cx, command.request, run, command.data.size())) return;
  SignalRow row;
  row.name = command.name;
  row.data = command.data;
  row.idempotency_key = command.idempotency_key;
  row.sent_by = command.sent_by;
  SignalRow& signal = add_signal(cx, ix, std::move(row));
  tell_signal(cx, ix, signal);
  for (const std::uint32_t node : nodes) {
    const TaskIx task = waiting_task(cx, run, node);
    if (!task.valid() || is_over(node)) continue;
    take_signal(cx, task, signal);
    break;
  }
  if (!signal.taken_by) cx.fx.rows.signals.push_back(signal);
  cx.reply(command.request, SignalKept{signal, false});
}

void on_answer_approval(Context& cx, const AnswerApproval& command) {
  const RunIx run_ix = cx.state.runs.find(command.task.run);
  if (!run_ix.valid()) return cx.refuse(command.request, absent_run(cx.state, command.task.run));
  const Run& run = cx.run(run_ix);
  const TaskIx ix = approval_of(cx, command, run);
  if (!ix.valid()) return;
  const Task& task = cx.task(ix);
  if (answer_again(cx, command, answer_of(run, task))) return;
  if (is_final(task.state())) {
    return cx.refuse(command.request, RefusalKind::kWrongState,
                     in_quotes(cx.spec_of(task).name) + " has ended: it is " +
                         std::string(to_text(task.state())));
  }
  if (ending_of(run, task.node) != RunEnding::kNone) {
    return cx.refuse(command.request, RefusalKind::kRunEnding);
  }
  if (command.outputs.size() + command.comment.size() > kSignalBytesMax) {
    return cx.refuse(
        command.request, RefusalKind::kMalformed,
        "the answer to an approval has more than " + std::to_string(kSignalBytesMax) + " bytes");
  }
  if (refuse_too_many(cx, command.request, run, command.outputs.size())) return;
  take_answer(cx, command, ix);
}

}  // namespace vortex::core
