#pragma once
// The units of the core that act on its state, drawn as the one machine they are.
//
//   submit -> nodes -> place, bulk -> assign -> sync -> report -> attempt_end -> nodes ...
//   operators (cancel, pause, retry)   workers, supervisors -> evidence, brake -> recover -> place
//
// An end lets others start, a lost worker ends attempts, an ended attempt may cordon a worker: the
// units call each other in circles by nature, so what they offer one another stands in one place.
// Only core/*.cc include this; the door to the core is core/step.h.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/command.h"
#include "core/context.h"
#include "core/dag/children.h"
#include "core/dag/limits.h"
#include "core/transitions.h"
#include "model/states.h"
#include "model/sync.h"

namespace vortex::core {

// From a submitted DAG to a live run, and from a finished run out of memory.

void on_submit(Context& cx, const SubmitRun& command);
void on_forget_run(Context& cx, const ForgetRun& command);

constexpr std::size_t kKeyBytesMax = 256;  // of an idempotency key
constexpr std::size_t kParamsBytesMax = 1024 * 1024;
// A new run with its first tasks. Its key is not known yet, and it fits into the quotas.
struct RunStart {
  Instant at = kNever;                // nothing of it starts before; kNever: it starts at once
  const KeptResults* kept = nullptr;  // of an earlier run
};
RunId make_run(Context& cx, PlanPtr plan, RunRequest request, const RunStart& start = {});
// The time has come for a run that was submitted ahead of it.
void on_run_start(Context& cx, RunIx ix);
// A run that waits for its start, and a node of it that must not begin before.
inline bool is_ahead(const Run& run, std::uint32_t node) {
  return run.starts_at != kNever && !run.plan->node_spec(node).finally;
}

// Results that a new run keeps of an earlier one: their tasks are completed in the step that makes
// the run, each when its node is let start. What is not in reach then runs like any other.

// What is kept for the node by the run that is being made; null: nothing.
const KeptNode* kept_for(const Context& cx, RunIx run, std::uint32_t node);
// Precondition: the node is active and none of its tasks has left Waiting.
void keep_node(Context& cx, RunIx run, std::uint32_t node, const KeptNode& kept);
// Which quota one more run would exceed, for people; empty: it fits.
std::string over_quota(const State& state, const DagPlan& plan, const RunRequest& request);

// An empty live run of this plan: nodes pending, no task made. Used by submit and by load.
RunIx open_run(State& state, RunId id, PlanPtr plan);

// Counts a live run, whose request is known, among what live runs take up.
void book_run(State& state, const Run& run);

// The same for what its conditions and maps have read, and for the tasks of late maps.
void book_reads(State& state, Run& run, std::uint64_t bytes);
void book_tasks(State& state, const Run& run, std::uint32_t tasks);
// What would be too much with so many more tasks of this run; empty: they fit.
std::string over_quota(const State& state, const Run& run, std::uint32_t tasks);

// Frees everything that the runs that ended in this step held in memory. Their rows must have been
// made before.
void close_ended_runs(Context& cx);

// Readiness: from the end of a task to the nodes it lets start, skips, or completes.
//
// Driven by counters, never by scans. Ends are gathered and worked off by `settle` in a loop, so
// that a long chain of consequences needs no deep stack.

// The task is in no list and held by nobody; makes it final and counts that.
void finish_task(Context& cx, TaskIx ix, TaskEvent event, TaskState outcome);

// What the trigger rule says of a node, by how its needs have ended so far.
enum class RuleSays : std::uint8_t {
  kWait,
  kStart,
  kNever,
  kSkip,  // its condition is false
  kFail,  // its condition cannot be evaluated, or its map has no items to be made of
};
RuleSays judge_rule(TriggerRule rule, std::uint32_t needs, const NodeRun& node);

// Conditions: decided when the trigger rule is met and everything they refer to has ended.
//
// What they read is kept from the params and from the reports that complete tasks, until the run is
// closed: an operator's retry may have them decided once more. A decision is a function of what is
// in the rows, so every controller comes to the same one.

// Keeps what the conditions and maps of the run read of its params. Precondition: its request is
// known.
void read_params(State& state, Run& run);
// Keeps what they read of the outputs with which the only task of the node completed.
void read_outputs(State& state, Run& run, std::uint32_t node, std::string_view outputs);

// The trigger rule and, once that is met, the condition.
RuleSays judge_node(const Run& run, std::uint32_t node);

// Why the condition keeps the node from starting; empty: it does not.
std::string why_condition(const Run& run, std::uint32_t node);
// What has to end before the condition can be decided, for people.
std::vector<std::string> condition_waits_for(const Run& run, std::uint32_t node);

// Late maps: their items are a param or an output of an earlier task, known when they start.
//
// The run's plan is then laid out for them, in the commit that makes the first items, and never
// again: what was laid out is in the row of the run. The items themselves are not: they follow from
// params and outputs, which never change. A map whose items cannot be had fails with one task.

void read_lists(State& state, Run& run, ReadSpan span, std::string_view values);
// kStart: not a late map, laid out before, or there are items.
RuleSays judge_map(const Run& run, std::uint32_t node);
// Why there are no items; empty: judge_map says something else.
std::string why_no_items(const Run& run, std::uint32_t node);
// What has to end before the items are known, for people.
std::vector<std::string> map_waits_for(const Run& run, std::uint32_t node);
// Precondition: judge_map says kStart, and it is not laid out. Not empty: why it cannot be.
std::string lay_out_map(Context& cx, RunIx run, std::uint32_t node);
// Gives a late map the one task that fails for it, unless it is laid out.
void lay_out_failed(Context& cx, RunIx run, std::uint32_t node);
// After a load: the items of what was laid out, from what has been read.
void give_items(Context& cx, RunIx run);
// None: it is not made, or the node has no tasks.
TaskIx first_task_of(const Run& run, std::uint32_t node);

// Looks at a pending node and starts it, gates it, skips it, fails it or leaves it.
void consider_node(Context& cx, RunIx run, std::uint32_t node);

// A run with such a node did not do all it was asked to, so it does not end Completed.
// A failure that the node is allowed counts as a success, here and for what needs it; a cancel is
// no failure.
constexpr NodeOutcome counted_as(const NodeSpec& spec, NodeOutcome outcome) {
  const bool borne = spec.continue_on_error && outcome == NodeOutcome::kFailed;
  return borne ? NodeOutcome::kSuccess : outcome;
}
constexpr bool spoils_run(NodeOutcome outcome) {
  return outcome == NodeOutcome::kFailed || outcome == NodeOutcome::kCancelled;
}

// Called when the node may have no open task left.
void check_node_ended(Context& cx, RunIx run, std::uint32_t node);

// Works off the nodes that ended in this step and what that lets start.
void settle_nodes(Context& cx);

// The same, up to finished runs; what really ended is in runs_closed then. Those that waited for
// it get their turn.
void settle(Context& cx);

// A map stops at too many failures: nothing more is made or started, what runs goes on.
void check_map_failures(Context& cx, RunIx run, std::uint32_t node);

// Levels of a DAG: a level is complete only when each of its tasks really is in a final state.
//
// With `barrier: levels` a node starts only when all lower levels are complete; what is ready
// earlier stands gated. Levels are counted by nodes not yet done, never by comparing totals.

bool level_is_open(const Run& run, std::uint32_t level);

// A node of this level is done: passes as many levels as are complete and opens the gate for them.
void on_level_progress(Context& cx, RunIx run, std::uint32_t level);

// `finally`: nodes that start when all others have ended, however they did, and once each.
//
// Which part of its life a run is in follows from the states of its tasks: nothing else says it.
// A cancel or timeout of the run ends the others; these have an ending of their own, which a cancel
// or their own time limit brings once they may run.

inline bool is_last(const Run& run, std::uint32_t node) {
  return run.plan->node_spec(node).finally;
}
// Why nothing more of this node is started.
inline RunEnding ending_of(const Run& run, std::uint32_t node) {
  return is_last(run, node) ? run.finally_ending : run.ending;
}
// All other nodes have ended.
inline bool in_finally(const Run& run) { return run.ordinary_open == 0 && run.nodes_open > 0; }
// How the run ended, by all but its `finally` tasks.
RunResult result_of(const Run& run);

// Waits: tasks without a command. Queued from when their needs are met, in no list of workers, and
// over when their time is up, their signal comes or their question is answered.
//
// What they wait for is a due time in their row, by true time, and what the run was told: each
// signal and answer is a row of its own, taken by one wait, in the order of arrival.

// A task that starts to be Queued now; of a wait: with its due time.
Queued newly_queued(const Context& cx, const NodeSpec& spec);
// The task is Queued and nowhere: it waits, or is over at once.
void place_wait(Context& cx, TaskIx ix);
// The task waits no more; nothing for all others.
void forget_wait(Context& cx, TaskIx ix);
void on_wait_due(Context& cx, TaskIx ix);
void on_signal_run(Context& cx, const SignalRun& command);
void on_answer_approval(Context& cx, const AnswerApproval& command);

// Where a Queued task stands: ready for workers, parked by a limit or a pause, or in backoff.
//
// `in_play` of a node counts tasks that are ready or held, and never passes max_parallel: the rest
// wait in the node's parking list and move up one by one, so a wide map costs nothing while it
// waits.

enum class Turn : std::uint8_t { kBehind, kInFront };

// The task is Queued and nowhere; puts it where it belongs now. In front: it has waited before.
void place_task(Context& cx, TaskIx ix, Turn turn);

// Takes a Queued task from wherever it stands; afterwards it is nowhere and has no timer.
void unplace_task(Context& cx, TaskIx ix);

// One task of the node left play; the next parked one moves up.
void leave_play(Context& cx, RunIx run, std::uint32_t node);

// The timer of a Queued task fired: backoff over, keep-away over, or its worker never came.
void on_queued_timer(Context& cx, TaskIx ix);

// Work on very many tasks of one run, done in slices so that no step is long.
//
// Two kinds: making the tasks of a map (or of a very large DAG) that became ready, and sweeping
// after a cancel, a pause, a resume or a stopped map. What a slice has not reached yet is already
// barred by flags of the run or node, so slicing changes when work is done and never what is
// allowed.

void begin_expanding(Context& cx, RunIx run, std::uint32_t node);
void begin_sweep(Context& cx, RunIx run);

// One slice over all runs with bulk work.
void advance_bulk(Context& cx);

// Frees the memory of tasks whose runs have ended, a slice at a time.
void free_leftover(State& state);

// Whether the single tasks of this plan are made like the items of its maps: when they are ready.
// May change its mind from one controller to the next; what is made stays.
bool makes_when_ready(const State& state, const DagPlan& plan);

// Makes the row of a task that does not exist yet, in state Waiting.
TaskIx make_task(Context& cx, RunIx run, std::uint32_t node, std::uint32_t index);

// Handing out: ready tasks to workers that have a call open and room for them.
//
// Worker side: a call takes the best of what its queues hold. Task side: a class that got ready
// tasks gives them to the least loaded fitting worker. After a step no ready task stands beside an
// offering worker that could take it.

// Keeps the worker's place among the offers true after anything about it has changed, and has it
// served in this step if it offers.
void update_offer(Context& cx, WorkerIx ix);

// The same without serving it: nothing it could take can have come up. True when it offers.
bool refresh_offer(Context& cx, WorkerIx ix);

// The worker is to be told something as soon as a call of it can be answered.
void tell_news(Context& cx, WorkerIx ix);

// How long a worker may hold this task without reporting its start.
Duration scheduled_timeout(Context& cx, const Task& task);

// Matches everything that became ready or offered itself in this step.
void dispatch(Context& cx);

// The worker's call: session, heartbeat, what it holds, what it reports, and the answer.
//
// Order within a call: refuse what is old, renew the lease, compare what is held, apply reports,
// offer room. The answer is made at the end of the step, so that it carries what this very call
// has set free; a call with nothing to be told waits, and is then the worker's offer.

void on_sync(Context& cx, const Sync& command);

// What an answer could not carry: fails for want of a value, or goes with the next answer.
void on_unsent(Context& cx, const Unsent& command);
void on_note_secrets(Context& cx, const NoteSecrets& command);

// Answers every call that is due in this step.
void answer_calls(Context& cx);

// A parked call that waited long enough is answered with nothing new.
void on_park_expired(Context& cx, WorkerIx ix);

// The session is over: whoever waits is told so.
void end_session(Context& cx, WorkerIx ix);

// What a worker reports of an attempt, accepted only from the holder of the current epoch, and the
// clocks that run while a worker holds a task.

// Counts once per (task, epoch): a repeat or a stale word changes nothing, and the worker is told.
void apply_report(Context& cx, WorkerIx worker, const Report& report);

// The attempt runs from now on; nothing when it does already.
void start_attempt(Context& cx, TaskIx ix);

// Somebody who knows says that the attempt has started, if it is still the worker's.
void note_started(Context& cx, WorkerIx worker, const Attempt& attempt);

// Sets the timer of a running task to the nearest of its clocks.
void watch_running(Context& cx, TaskIx ix);

// A stop is done: counts as its reason says.
void end_stopped(Context& cx, TaskIx ix);

// The timer of a held task fired: a stop was not confirmed, or one of its clocks ran out.
void on_held_timer(Context& cx, TaskIx ix);

// The state a task saves for its next attempt: small ones come in a report and stay in memory,
// large ones go to the store in pieces and only their number is remembered here.
//
// Taken only from the worker that holds the attempt. An empty one says nothing; one that is too
// large is refused with an event, and what was saved before stays.

void take_checkpoint(Context& cx, TaskIx ix, const Checkpoint& checkpoint);

// The task needs it no more: what is kept in pieces goes.
void forget_checkpoint(Context& cx, TaskIx ix);

// A checkpoint of a held attempt was not taken: an event says so.
void on_refuse_checkpoint(Context& cx, const RefuseCheckpoint& command);
// All pieces are in the store: from now on it is the task's checkpoint.
void on_keep_checkpoint(Context& cx, const KeepCheckpoint& command);

// The end of an attempt: verdict, blame, and what follows (done, another try, or the dead letters).
//
// Four counters, never mixed: failures use retries, crashes have their own limit, stalls theirs,
// releases blame nobody. A release that the worker owes an explanation for (it goes on working) has
// a generous limit, so that no worker can send a task round for ever (docs/adr/013). Cancel beats
// all of them: what its run no longer wants is not queued again.

enum class Blame : std::uint8_t {
  kNone,
  kFailure,
  kCrash,
  kStall,
  kRelease,       // the worker left, or we took it back: no limit
  kReturned,      // handed back or dropped by a worker that goes on working
  kNeverStarted,  // not started within scheduled_timeout
};

struct AttemptEnd {
  Verdict verdict = Verdict::kCompleted;
  Blame blame = Blame::kNone;
  std::int32_t code = 0;
  std::string message;
  std::optional<Evidence> evidence;  // its worker is lost: what says so
  RecoveryId recovery;               // the ledger entry this belongs to; 0: none
  bool worker_took_part = true;      // false: the worker was never sent it and is not judged by it
  Duration spread;  // ready again somewhere within this, when many come back at once
};

// The task is held; ends its attempt, frees the worker's slot and decides what follows.
void end_attempt(Context& cx, TaskIx ix, const AttemptEnd& end);

// The same for a sub-DAG.
void end_child_attempt(Context& cx, TaskIx ix, const AttemptEnd& end);

// Its run or an operator no longer wants the attempt: whatever it brings is not kept.
bool is_unwanted(Context& cx, const Task& task);

// A Queued task that cannot be waited for any longer.
void die_in_queue(Context& cx, TaskIx ix, DeathReason reason, std::string message);
// The same for one that waits, whose node cannot be decided on.
void die_undecided(Context& cx, TaskIx ix, DeathReason reason, std::string message);

// How long after its n-th failure a task waits: fixed, linear or exponential, capped, with jitter.
Duration backoff_delay(const Backoff& backoff, std::uint32_t failures, Rng& rng);

const RetryPolicy& retry_policy(const Policy& policy, const NodeSpec& spec);

// Blame for workers: one on which several different definitions died abnormally in a row is
// cordoned. And the doubt between tasks: when a worker dies, all that ran on it are suspects, and
// only one of them did it. Suspects on their last try do not share a worker, so that the one that
// kills takes no other to its limit with it.
//
// Distinct means distinct definitions, not tasks: a map whose program crashes on every item says
// something about the program, and must not take the whole fleet out of service.
//
// Such a cordon ends by itself, and only some workers at a time can have one (docs/adr/015):
//
//   none --died--> cordoned --wait over, came back, too few others--> probation --normal end-->
//   none
//                     ^-------------------- died again, waits longer -----+

void judge_worker(Context& cx, WorkerIx ix, const Task& task, const AttemptEnd& end);
// How many of so many workers may wait for a probation at the same time.
std::uint32_t blame_cap(const Policy& policy, std::uint32_t workers);
// From here on it gets one task at a time, until one of them shows whether it is well.
void begin_probation(Context& cx, WorkerIx ix, const char* why);
void on_probation_timer(Context& cx, WorkerIx ix);
// Workers have left: of those that wait, as many begin their probation as are too many now.
void relax_blame(Context& cx);
// Present and not on its way out, and no operator keeps work from it.
inline bool is_in_service(const Worker& worker) {
  return is_present(worker.state) && worker.state != WorkerState::kDraining &&
         (!worker.cordoned || worker.blame != WorkerBlame::kNone);
}
// One more crash and it is quarantined. A limit of one leaves no room for doubt.
bool on_last_try(const Policy& policy, const Task& task);
// The worker holds such a task.
bool holds_last_try(const State& state, const Worker& worker);
void set_cordon(Context& cx, WorkerIx ix, bool cordoned, const char* why);

// Cancelling: what is not on a worker ends at once, what is on one is asked to stop.
//
// A held task keeps its slot until the worker says that nothing of it is left, or a full worker
// lease has passed: a stop is a question, and the lease bounds how long we wait for the answer.

void on_cancel_run(Context& cx, const CancelRun& command);
void on_pause_run(Context& cx, const PauseRun& command);
void on_cancel_task(Context& cx, const CancelTask& command);
void on_run_timer(Context& cx, RunIx ix);
// Nothing when it is ending already.
void cancel_run(Context& cx, RunIx ix, RunEnding why = RunEnding::kCancelled);

// Ends or asks to stop one task, whatever state it is in.
void cancel_task(Context& cx, TaskIx ix);

// Asks the worker to stop a held task. A cancel outranks an earlier other reason.
void request_stop(Context& cx, TaskIx ix, StopReason why);

// Operators' acts on what is already final: retry a failed task, re-drive or discard a dead letter.
//
// Each is logged and gives the task a new epoch and fresh counters. What was skipped because of the
// failure waits again. A run that already ended must be adopted into memory first.

void on_retry_task(Context& cx, const RetryTask& command);
void on_redrive(Context& cx, const RedriveDeadLetter& command);
void on_discard(Context& cx, const DiscardDeadLetter& command);
void on_pause_queue(Context& cx, const PauseQueue& command);

// Workers come, change state, hold tasks and go; their machine's status changes in the same step.
// Who fits a task and whether there is room is answered here; who gets it, in core/machine.h.

constexpr std::uint32_t kSlotsMax = 100'000;  // of one worker

void on_register(Context& cx, const RegisterWorker& asked);
// Whether what comes with this hash was said by the life that is registered, and the refusal if
// not.
bool is_of_session(const Worker& worker, const std::string& presented);
void refuse_session(Context& cx, RequestId request, const std::string& presented);
// The highest incarnation that a worker may have now, after the newest that is known of it.
Incarnation newest_life(const Context& cx, Incarnation known);
void on_drain_worker(Context& cx, const DrainWorker& command);
void on_cordon_worker(Context& cx, const CordonWorker& command);
void on_delete_worker(Context& cx, const DeleteWorker& command);
// Forgets workers that have been gone for long, a bounded number at a time.
void forget_old_workers(Context& cx);
// A part of the look at all tasks after which the places of forgotten workers can be used again.
void release_retired(State& state);
void on_reset_worker(Context& cx, const ResetWorker& command);

// The only way to change a worker's state: keeps its machine's count and status true.
void set_worker_state(Context& cx, WorkerIx ix, WorkerState state);

// IDLE or RUNNING by what it holds; other states stay.
void refresh_activity(Context& cx, WorkerIx ix);

// Books a task onto a worker and off again: held list, resources, play of the node.
void take_slot(Context& cx, TaskIx ix, WorkerIx worker);
void release_slot(Context& cx, TaskIx ix);

// Whether what is left of the worker's resources covers the demand.
bool resources_fit(const Worker& worker, const Resources& demand);
// The same if it held nothing.
bool is_large_enough(const Worker& worker, const Resources& demand);

// Is there a worker other than `last` that is fit for this task and takes work?
bool another_could_take(Context& cx, const Task& task, WorkerIx last);

// Abilities and pin: may this worker ever run tasks of this class?
bool worker_fits(Context& cx, WorkerIx worker, ClassIx cls);

// What the supervisor of a worker says: proof that a process has ended, and the journal of how its
// processes were started and ended. Both are repeated until they are heard, and count once.
//
// Also what follows when a worker is lost again and again (CONTRACT C05).

// Proof: whatever life of that process is registered is over, at once.
void on_worker_exited(Context& cx, const WorkerExited& command);

// Takes over the entries of a journal that are new, in order, as events of the monitor log.
void on_tell_lifecycle(Context& cx, const TellLifecycle& command);

// Counts a loss that nobody asked for; too many in a short time are an event.
void count_loss(Context& cx, WorkerIx ix, Evidence evidence);

// The event that a worker's life ended, unless its supervisor was quicker to say so.
struct LifeEnd {
  WorkerIx worker;
  EventKind kind = EventKind::kWorkerExit;
  Severity severity = Severity::kWarning;
  bool is_known = false;  // false: only concluded; its supervisor may still tell how it was
};
void tell_end(Context& cx, const LifeEnd& end, std::vector<EventField> data);

// Telling dead from quiet: what is heard of a worker, and how suspicion grows and ends.
//
//   Trusted --closed or probe timed out--> Suspect --and refused--> Hinted --grace over--> lost
//      ^                                      |                        |
//      +----------- heard again --------------+------------------------+
//
// A closed connection alone only stops new work. Silence is judged by the lease, in judged time.

// A call of this life of the worker came in: its lease is renewed, suspicion is over.
void hear_worker(Context& cx, WorkerIx ix, Instant worker_clock);

void on_connection_lost(Context& cx, const ConnectionLost& command);
void on_probe_result(Context& cx, const ProbeResult& command);

// When silence of this worker counts as death.
Judged lease_end(const State& state, const Worker& worker);

void refresh_worker_timer(Context& cx, WorkerIx ix);
void on_worker_timer(Context& cx, WorkerIx ix);

// The periodic pass: reports what was marked, and probes those that are quiet.
void on_health_pass(Context& cx);

// How long it had not been heard when its standing changed, for the metrics.
void measure_gap(Context& cx, const Worker& worker, const char* became);

// The brake: when most of the fleet seems dead at once, the controller suspects itself first.
//
//   Off --most of the fleet silent, or the store does not take writes--> Holding
//   Holding --proved well--> Trickle --nobody left to judge--> Off
//
// Weak evidence (silence, hints) waits while it holds, and is then acted on in random order at a
// limited rate, blaming nobody. Proof is always acted on.

// May this worker be taken as lost on weak evidence now? If not, it is noted and asked again later.
bool may_lose(Context& cx, WorkerIx ix);

// A worker was lost on weak evidence; counts for the brake for one lease.
void note_weak_loss(Context& cx, WorkerIx ix);

void on_store_health(Context& cx, const StoreHealth& command);
void on_self_check(Context& cx, const SelfCheckResult& command);
void on_brake_timer(Context& cx);

// Taking a worker's tasks away: one step, so one transaction, for the worker's state, all its
// tasks and the ledger. Recovery never looks at anything but the tasks the worker holds right now.

// This life of the worker is over, by this evidence: everything it holds is taken away.
// By a hint, tasks marked exclusive stay with it, and so does its session, until stronger evidence.
void lose_worker(Context& cx, WorkerIx ix, Evidence evidence);

// It takes no new work; what runs goes on. Repeating it is harmless.
void begin_drain(Context& cx, WorkerIx ix);

// It has said goodbye: INACTIVE at once, its partition leases free, nobody blamed.
void leave_on_purpose(Context& cx, WorkerIx ix);

// Schedules of stored DAGs: which slots there are follows from the schedule alone
// (model/schedule.h), and each slot is decided once, in the commit that says so.
//
//   slot comes --> started | queued --> started | skipped        absence --> missed | made up for
//
// Judged by the term clock, never by judged time. A slot is on time while its jitter and our own
// pace last. Of those that were missed, the newest still counts if it came less than a minute
// ago and no other has come since; the others are made up for as far as the schedule says.

void on_apply_dag(Context& cx, const ApplyDag& command);
void on_delete_dag(Context& cx, const DeleteDag& command);
void on_pause_schedule(Context& cx, const PauseSchedule& command);
void on_trigger_schedule(Context& cx, const TriggerSchedule& command);
void on_schedule_timer(Context& cx, ScheduleIx ix);
// One of its runs has ended: what waited for it may start, and a failure may pause the schedule.
void on_scheduled_run_ended(Context& cx, const Run& run);
void restore_schedule(Context& cx, const ScheduleRow& row);
// When the next slot is to be decided, or a slot that waits can start. Timers run in judged time,
// so all of them are set anew after our own absence.
void refresh_schedule_timer(Context& cx, ScheduleIx ix);
void refresh_schedule_timers(Context& cx);

// Partition leases for agents: absolute expiry, an epoch that only grows, no detection needed.
//
// Judged by the term clock alone. Whoever lost a lease learns LeaseNotHeld and changes nothing.

void on_acquire_lease(Context& cx, const AcquireLease& command);
void on_renew_lease(Context& cx, const RenewLease& command);
void on_release_lease(Context& cx, const ReleaseLease& command);
void on_check_lease(Context& cx, const CheckLease& command);
void on_lease_timer(Context& cx, LeaseIx ix);

// A graceful stop: others need not wait for the expiry.
void release_leases_of(Context& cx, const AgentId& agent);

// Puts a lease from the store into the tables.
// Forgets leases that nobody has held for long, a bounded number at a time. The floor of epochs
// keeps what was known of them: a later holder still gets a higher epoch.
void forget_old_leases(Context& cx);
void restore_lease(State& state, const PartitionLeaseRow& row);

}  // namespace vortex::core
