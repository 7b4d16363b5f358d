#pragma once
// The records: every stored row type with its columns, their JSON and their meaning, declared once.
//
// The order is that of the JSON objects. Names of columns and JSON fields are on disk and on the
// wire: append-only. The meaning of a shown field is its description in OpenAPI. How a column is
// added: see CONTRIBUTING.md.

#include <string_view>

#include "model/commit.h"
#include "model/record.h"
#include "model/rows.h"

namespace vortex::record {

inline constexpr std::string_view kCountColumns =
    "waiting, queued, scheduled, running, completed, failed, cancelled, skipped";

template <>
inline constexpr auto kTable<RunRow> = table<RunRow>(
    "runs",  //
    field<&RunRow::id>("run_id", "r42").named("id").key(),
    field<&RunRow::state>("state", "state of the run"),
    field<&RunRow::ending>("ending", "why it starts no more tasks although some are open")
        .stored(As::kNumber),
    field<&RunRow::paused>("paused", "no tasks of it are assigned"),
    field<&RunRow::created_at>("created_at", "when it was submitted").once(),
    field<&RunRow::finished_at>("finished_at", "null: not yet").nullable(),
    field<&RunRow::request, &RunRequest::labels>("labels", "as submitted").once(),
    field<&RunRow::request, &RunRequest::params>("params", "as submitted")
        .shown(Show::kDocument)
        .once(),
    field<&RunRow::request, &RunRequest::idempotency_key>("idempotency_key", "as submitted")
        .stored(As::kNullIfEmpty)
        .nullable()
        .once(),
    field<&RunRow::request, &RunRequest::submitted_by>(
        "submitted_by", "name of the token that submitted it; null: none was needed")
        .stored(As::kNullIfEmpty)
        .nullable()
        .once(),
    field<&RunRow::request, &RunRequest::schedule>(
        "schedule", "DAG by whose schedule it was started; null: none")
        .stored(As::kNullIfEmpty)
        .nullable()
        .once(),
    field<&RunRow::request, &RunRequest::slot>("slot_us", "slot that it runs for; null: none")
        .named("slot")
        .stored(As::kMicros)
        .nullable()
        .once(),
    field<&RunRow::request, &RunRequest::slot_end>("slot_end_us",
                                                   "slot after that; null: there is none")
        .named("slot_end")
        .stored(As::kMicros)
        .nullable()
        .once(),
    field<&RunRow::request, &RunRequest::group>(
        "group_key",
        "key of its group, where its DAG limits how many runs go on at once; null: "
        "none")
        .named("group")
        .stored(As::kNullIfEmpty)
        .nullable()
        .once(),
    field<&RunRow::waits_for_turn>("waits_for_turn",
                                   "it has not begun, because its group is or was full"),
    field<&RunRow::reason>("reason", "why it was ended because of other runs; null: it was not")
        .stored(As::kNullIfEmpty)
        .nullable(),
    field<&RunRow::request, &RunRequest::parent>(
        "parent_run", "run whose task is this run as a sub-DAG; null: none")
        .named("parent")
        .nullable()
        .once(),
    field<&RunRow::request, &RunRequest::parent_task>("parent_task", "name of that task")
        .stored(As::kNullIfEmpty)
        .nullable()
        .once(),
    kept<&RunRow::request, &RunRequest::parent_index>("parent_index", "index of that task").once(),
    kept<&RunRow::request, &RunRequest::parent_epoch>("parent_epoch", "epoch of that attempt")
        .once(),
    field<&RunRow::request, &RunRequest::rerun_of>(
        "rerun_of", "run whose results it was allowed to keep; null: none")
        .nullable()
        .once(),
    field<&RunRow::starts_at>("starts_us", "when it will start; null: it has started")
        .named("starts_at")
        .stored(As::kMicros)
        .nullable(),
    field<&RunRow::levels_passed>("levels_passed", "number of levels whose tasks have all ended"),
    field<&RunRow::made>(kCountColumns, "tasks created so far, by state").named("counts"),
    kept<&RunRow::timeout_at>("timeout_at", "when the run as a whole times out"),
    kept<&RunRow::stopped>("stopped", "nodes of maps that stopped because of too many failures"),
    kept<&RunRow::late>("late_maps",
                        "maps made at run time: pairs of a node and its number of tasks"),
    field<&RunRow::finally_ending>("finally_ending", "why its finally tasks were stopped")
        .stored(As::kNumber),
    kept<&RunRow::request, &RunRequest::digest>("request_digest",
                                                "digest of DAG, params and labels")
        .once(),
    beside("digest", Write::kOnce, "digest of its plan").stored(As::kNumber),
    beside("dag", Write::kOnce, "name of its DAG"));

template <>
inline constexpr auto kTable<TaskRow> = table<TaskRow>(
    "task_instances",
    field<&TaskRow::id>("task_key", "r42-L1-7: run 42, level 1, index 7").named("id").key(),
    field<&TaskRow::level>("level", "level of its node").written(Write::kMatched),
    field<&TaskRow::state>("state", "state of the task"),
    field<&TaskRow::stop>("stop", "why its worker was asked to stop it").stored(As::kNumber),
    field<&TaskRow::epoch>("epoch", "the fence: epoch of its current or last attempt"),
    field<&TaskRow::worker>("worker_id", "worker that holds it")
        .named("worker")
        .stored(As::kNullIfEmpty)
        .nullable(),
    kept<&TaskRow::incarnation>("incarnation", "incarnation of that worker"),
    field<&TaskRow::previous_worker>("previous_worker", "worker that it avoids")
        .stored(As::kNullIfEmpty)
        .nullable(),
    field<&TaskRow::recovery>("recovery", "ledger entry that waits for its new worker").nullable(),
    field<&TaskRow::counters, &TaskCounters::attempts>(
        "attempt_count", "how often it was assigned, including operators' retries")
        .named("attempts"),
    field<&TaskRow::counters, &TaskCounters::failures>("failure_count",
                                                       "its own failures; they use up retries")
        .named("failures"),
    field<&TaskRow::counters, &TaskCounters::crashes>("crash_count",
                                                      "how often its worker died while running it")
        .named("crashes"),
    field<&TaskRow::counters, &TaskCounters::stalls>("stall_count",
                                                     "how often it timed out or went stale")
        .named("stalls"),
    field<&TaskRow::counters, &TaskCounters::releases>("release_count",
                                                       "how often it was released without blame")
        .named("releases"),
    field<&TaskRow::counters, &TaskCounters::unstarted>("unstarted_count",
                                                        "releases where it was never started")
        .named("unstarted"),
    field<&TaskRow::created_at>("created_at", "time of creation").once(),
    field<&TaskRow::updated_at>("updated_at", "time of the last change"),
    field<&TaskRow::ready_at>("ready_us",
                              "not assigned before this time; of a wait: when its time is up")
        .named("ready_at")
        .stored(As::kMicros)
        .nullable(),
    field<&TaskRow::started_at>("started_us",
                                "start of the current or last attempt; null: not started")
        .named("started_at")
        .stored(As::kMicros)
        .nullable(),
    field<&TaskRow::percent>("percent", "progress reported by the task; 100 once completed"),
    field<&TaskRow::step>("step", "step reported by the task; empty: none")
        .stored(As::kNullIfEmpty),
    field<&TaskRow::exit_code>("exit_code", "exit code of its last attempt that ended by itself"),
    field<&TaskRow::error_message>("error_message", "error of its last attempt; empty: none")
        .stored(As::kNullIfEmpty),
    field<&TaskRow::reused_from>("reused_from",
                                 "task whose result it has taken over; null: its own")
        .stored(As::kNullIfEmpty)
        .nullable(),
    kept<&TaskRow::granted_at>("granted_us", "when it was assigned to the worker that holds it")
        .stored(As::kMicros),
    kept<&TaskRow::node>("node", "number of its node in the plan").once(),
    beside("id", Write::kRarely, "its id as text"),
    beside("name", Write::kOnce, "name of its node"));

template <>
inline constexpr auto kTable<TaskDataRow> = table<TaskDataRow>(
    "task_data",  //
    kept<&TaskDataRow::id>("task_key", "its task").key(),
    kept<&TaskDataRow::epoch>("epoch", "of the attempt that wrote it"),
    kept<&TaskDataRow::checkpoint>("checkpoint", "where the next attempt continues")
        .written(Write::kIfSet),
    kept<&TaskDataRow::outputs>("outputs", "its outputs, once completed").written(Write::kIfSet),
    kept<&TaskDataRow::uploaded>("upload, upload_bytes",
                                 "a checkpoint in pieces instead: which upload, and its size")
        .written(Write::kIfSet));

template <>
inline constexpr auto kTable<SignalRow> = table<SignalRow>(
    "run_signals",  //
    field<&SignalRow::run>("run_id", "run that it was sent to").named("run").key(),
    field<&SignalRow::number>("number", "its place in the order of arrival, starting at 1").key(),
    field<&SignalRow::kind>("kind", "a signal, or the answer to an approval").stored(As::kNumber),
    field<&SignalRow::name>("name", "name of the signal, or of the task that asked"),
    field<&SignalRow::data>("data", "payload as sent; {}: none").shown(Show::kDocument),
    field<&SignalRow::comment>("comment", "comment or reason of an answer; empty: none"),
    kept<&SignalRow::idempotency_key>("idempotency_key", "as sent; empty: none"),
    field<&SignalRow::sent_by>("sent_by", "name of the token; null: none was needed")
        .stored(As::kNullIfEmpty)
        .nullable(),
    field<&SignalRow::at>("at_us", "when it was accepted").named("at").stored(As::kMicrosAlways),
    field<&SignalRow::taken_by>("taken_by", "index of the task that took it; null: none yet"),
    kept<&SignalRow::taken_epoch>("taken_epoch", "epoch of that task then"));

template <>
inline constexpr auto kTable<AttemptRow> = table<AttemptRow>(
    "attempts",
    field<&AttemptRow::attempt, &Attempt::task>("task_key", "id of the task").named("task").key(),
    field<&AttemptRow::attempt, &Attempt::epoch>("epoch", "the fence of this attempt").key(),
    field<&AttemptRow::number>("number", "number of the attempt, starting at 1").once(),
    field<&AttemptRow::worker>("n.worker_id", "worker it was assigned to")
        .named("worker")
        .written(Write::kElsewhere),
    field<&AttemptRow::incarnation>("incarnation", "incarnation of that worker").once(),
    field<&AttemptRow::granted_at>("granted_us", "when it was assigned to the worker")
        .named("granted_at")
        .stored(As::kMicros)
        .nullable()
        .once(),
    field<&AttemptRow::started_at>("started_us", "null: its start was not reported")
        .named("started_at")
        .stored(As::kMicros)
        .nullable()
        .once(),
    field<&AttemptRow::ended_at>("ended_us", "null: still open")
        .named("ended_at")
        .stored(As::kMicros)
        .nullable()
        .once(),
    field<&AttemptRow::verdict>("verdict", "how it ended; null: still open")
        .stored(As::kNumber)
        .shown(Show::kNullBefore)
        .once(),
    field<&AttemptRow::code>("code", "exit code or signal number").shown(Show::kNullBefore).once(),
    field<&AttemptRow::message>("message", "message about its end")
        .stored(As::kNullIfEmpty)
        .shown(Show::kNullBefore)
        .once(),
    beside("worker_number", Write::kOnce, "number of its worker, in worker_numbers")
        .stored(As::kNumber));

template <>
inline constexpr auto kTable<WorkerRow> = table<WorkerRow>(
    "workers",  //
    field<&WorkerRow::info, &WorkerInfo::id>("id", "id given at registration").key(),
    field<&WorkerRow::info, &WorkerInfo::name>("name", "display name").written(Write::kRarely),
    field<&WorkerRow::info, &WorkerInfo::machine>("machine", "machine it runs on")
        .written(Write::kRarely),
    field<&WorkerRow::state>("state", "IDLE and RUNNING workers are active"),
    field<&WorkerRow::suspect>("suspect", "it may be gone; it gets no new tasks"),
    field<&WorkerRow::cordoned>(
        "cordoned", "it gets no new tasks until uncordoned; on probation, one at a time"),
    field<&WorkerRow::incarnation>("incarnation", "identifies one life of the worker"),
    field<&WorkerRow::info, &WorkerInfo::address>(
        "address", "address of its health endpoint; empty: it cannot be probed")
        .written(Write::kRarely),
    field<&WorkerRow::info, &WorkerInfo::zone>("zone", "zone given at registration")
        .written(Write::kRarely),
    field<&WorkerRow::info, &WorkerInfo::group>("worker_group", "group given at registration")
        .named("group")
        .written(Write::kRarely),
    field<&WorkerRow::info, &WorkerInfo::version>("version", "version of the worker program")
        .written(Write::kRarely),
    field<&WorkerRow::info, &WorkerInfo::metadata>("metadata", "metadata given at registration")
        .written(Write::kRarely),
    kept<&WorkerRow::info>("abilities", "queues, labels, runtimes, users and resources")
        .written(Write::kRarely),
    field<&WorkerRow::info, &WorkerInfo::slots>("slots", "maximum number of tasks it can hold")
        .written(Write::kRarely),
    field<&WorkerRow::times_lost>("times_lost",
                                  "how often it was lost; kept across restarts and reset-state"),
    kept<&WorkerRow::lost_lately>("lost_lately", "the newest losses, oldest first"),
    kept<&WorkerRow::end_told>("end_told", "the newest life whose end is in the monitor log"),
    kept<&WorkerRow::drain_within>(
        "drain_within_us",
        "how long an operator lets its tasks run on; NULL: as the worker allows"),
    field<&WorkerRow::blame>("blame",
                             "cordoned: after abnormal task deaths; probation: gets one task at a "
                             "time until one ends normally"),
    field<&WorkerRow::times_blamed>("times_blamed", "cordons in a row after abnormal task deaths"),
    field<&WorkerRow::probation_at>("probation_us",
                                    "when its probation begins; null: not waiting for one")
        .named("probation_at")
        .stored(As::kMicros)
        .nullable(),
    kept<&WorkerRow::session_hash>("session_hash",
                                   "hash of the secret of this incarnation; empty: it has none")
        .written(Write::kRarely),
    field<&WorkerRow::registered_by>("registered_by",
                                     "name of the token that registered it; null: none was needed")
        .stored(As::kNullIfEmpty)
        .nullable()
        .written(Write::kRarely),
    field<&WorkerRow::registered_at>("created_at", "start of this incarnation")
        .named("registered_at"),
    field<&WorkerRow::last_heartbeat>("last_heartbeat", "null: none yet").nullable());

template <>
inline constexpr auto kTable<MachineRow> =
    table<MachineRow>("machines",  //
                      field<&MachineRow::id>("id", "id given by its workers").key(),
                      field<&MachineRow::online>("online", "whether any of its workers is present"),
                      field<&MachineRow::since>("since", "time of the last change"));

template <>
inline constexpr auto kTable<RecoveryRow> = table<RecoveryRow>(
    "recovery_log",  //
    field<&RecoveryRow::id>("recovery_id", "number of the ledger entry").named("id").key(),
    field<&RecoveryRow::worker>("worker_id", "worker that was lost").named("worker"),
    field<&RecoveryRow::incarnation>("incarnation", "incarnation of that worker"),
    field<&RecoveryRow::evidence>("evidence", "evidence for the decision"),
    field<&RecoveryRow::num_tasks>("num_tasks", "number of reclaimed tasks"),
    field<&RecoveryRow::at>("timestamp", "time of the recovery").named("at"));

template <>
inline constexpr auto kTable<RecoveryItemRow> = table<RecoveryItemRow>(
    "recovery_items",
    kept<&RecoveryItemRow::recovery>("recovery_id", "the ledger entry it belongs to").key(),
    field<&RecoveryItemRow::task>("task_key", "id of the task").named("task").key(),
    field<&RecoveryItemRow::old_epoch>("old_epoch", "epoch that was fenced off"),
    field<&RecoveryItemRow::new_epoch>("new_epoch", "epoch of the next attempt"),
    field<&RecoveryItemRow::old_worker>("old_worker", "worker it was reclaimed from"),
    field<&RecoveryItemRow::new_worker>("new_worker", "worker it was assigned to; null: not yet")
        .nullable(),
    field<&RecoveryItemRow::attempts>("attempts", "how often it had been assigned"));

template <>
inline constexpr auto kTable<DeadLetterRow> = table<DeadLetterRow>(
    "dead_letters",
    field<&DeadLetterRow::attempt, &Attempt::task>("task_key", "id of the task")
        .named("task")
        .key(),
    field<&DeadLetterRow::attempt, &Attempt::epoch>("epoch", "epoch of its last attempt").key(),
    field<&DeadLetterRow::reason>("reason", "why it was given up"),
    field<&DeadLetterRow::state>("state", "what was done about it").stored(As::kNumber),
    field<&DeadLetterRow::at>("at_us", "when it was given up")
        .named("at")
        .stored(As::kMicrosAlways),
    field<&DeadLetterRow::message>("message", "the last error"));

template <>
inline constexpr auto kTable<PartitionLeaseRow> = table<PartitionLeaseRow>(
    "partition_leases",
    field<&PartitionLeaseRow::partition, &PartitionKey::topic>("topic", "topic of the lease").key(),
    field<&PartitionLeaseRow::partition, &PartitionKey::partition>("partition_id",
                                                                   "partition of the topic")
        .named("partition")
        .key(),
    field<&PartitionLeaseRow::holder>("agent_id", "current holder; null: free")
        .named("agent")
        .nullable(),
    field<&PartitionLeaseRow::epoch>("lease_epoch", "the fence; grows with every new holder")
        .named("epoch"),
    kept<&PartitionLeaseRow::expires_at>("lease_expires_at", "expiry, unless renewed before"));

template <>
inline constexpr auto kTable<ControllerRow> = table<ControllerRow>(
    "controllers",  //
    field<&ControllerRow::id>("id", "id of the controller: host and process").key(),
    field<&ControllerRow::url>("url", "where workers, clients and other controllers reach it"),
    field<&ControllerRow::seen_at>("seen_at", "when it last wrote to the database"));

template <>
inline constexpr auto kTable<QueueRow> =
    table<QueueRow>("queues",  //
                    field<&QueueRow::name>("name", "name of the queue").key(),
                    field<&QueueRow::paused>("paused", "no tasks are assigned from it"));

template <>
inline constexpr auto kTable<LimitRow> = table<LimitRow>(
    "limits",  //
    kept<&LimitRow::name>("name", "name of the limit").key(),
    kept<&LimitRow::slots>("slots", "how many tasks may hold it at once; 0: any number"),
    kept<&LimitRow::rate>("rate", "how many may be started in each window; 0: any number"),
    kept<&LimitRow::window>("window_us", "length of the window; NULL: there is no rate"),
    kept<&LimitRow::newest>("newest_us", "when the newest slice of the window began")
        .stored(As::kMicros),
    kept<&LimitRow::granted>("granted", "tasks started in each slice, the newest first"),
    kept<&LimitRow::set_at>("set_us", "when it was set last").stored(As::kMicrosAlways),
    kept<&LimitRow::set_by>("set_by", "name of the token that set it; null: none was needed")
        .stored(As::kNullIfEmpty));

template <>
inline constexpr auto kTable<JournalRow> = table<JournalRow>(
    "supervisor_journals",  //
    kept<&JournalRow::supervisor>("supervisor", "its machine and name").key(),
    kept<&JournalRow::journal>("journal", "a new journal restarts the numbering"),
    kept<&JournalRow::last>("last", "newest accepted entry"),
    kept<&JournalRow::at>("at_us", "when it was accepted").stored(As::kMicrosAlways));

template <>
inline constexpr auto kTable<ScheduleRow> = table<ScheduleRow>(
    "schedules",  //
    field<&ScheduleRow::dag>("dag", "name of the DAG").key(),
    field<&ScheduleRow::paused>("paused", "why it starts no runs; none: it is not paused"),
    field<&ScheduleRow::failed_run>("failed_run", "the run that paused it by its failure")
        .nullable(),
    field<&ScheduleRow::decided>("decided_us", "every slot up to this time has been decided")
        .named("decided_until")
        .stored(As::kMicrosAlways),
    kept<&ScheduleRow::waiting>("waiting", "slots that wait for a run to end, oldest first"),
    field<&ScheduleRow::last_run>("last_run", "the newest run that it started").nullable(),
    field<&ScheduleRow::last_slot>("last_slot_us", "the newest slot that a run was started for")
        .named("last_slot")
        .stored(As::kMicros)
        .nullable(),
    field<&ScheduleRow::applied_at>("applied_us", "when the DAG was applied")
        .named("applied_at")
        .stored(As::kMicrosAlways),
    field<&ScheduleRow::applied_by>(
        "applied_by", "name of the token that applied it, whose quota its runs use; null: none")
        .stored(As::kNullIfEmpty)
        .nullable(),
    beside("digest", Write::kChanging, "digest of its plan").stored(As::kNumber));

template <>
inline constexpr auto kTable<CounterRow> = table<CounterRow>(
    "counters",  //
    kept<&CounterRow::next_run>("next_run", "number of the next run"),
    kept<&CounterRow::next_recovery>("next_recovery", "number of the next recovery"),
    kept<&CounterRow::next_event>("next_event", "sequence number of the next event"),
    kept<&CounterRow::tasks>(kCountColumns, "tasks of all runs ever, by state"),
    kept<&CounterRow::lease_floor>("lease_floor", "highest epoch of a deleted lease"));

template <>
inline constexpr auto kTable<TokenRow> =
    table<TokenRow>("tokens",  //
                    field<&TokenRow::name>("name", "name of the token").key(),
                    field<&TokenRow::role>("role", "what it may do").stored(As::kNumber),
                    kept<&TokenRow::hash>("hash", "hash of the secret, which is not stored"),
                    field<&TokenRow::created_at>("created_at", "time of creation"),
                    kept<&TokenRow::workers>("workers", "workers it is bound to; empty: any"),
                    field<&TokenRow::revoked>("revoked", "it is no longer valid"));

template <>
inline constexpr auto kTable<WebhookRow> = table<WebhookRow>(
    "webhooks",  //
    field<&WebhookRow::name>("name", "name of the webhook").key(),
    field<&WebhookRow::url>("url", "URL that is called").written(Write::kRarely),
    kept<&WebhookRow::kinds>("kinds", "kinds of events that are sent").written(Write::kRarely),
    field<&WebhookRow::dag>("dag", "only events of runs of this DAG; null: all")
        .nullable()
        .written(Write::kRarely),
    kept<&WebhookRow::secret>("secret", "signs every message").written(Write::kRarely),
    field<&WebhookRow::created_at>("created_at", "time of creation").written(Write::kMatched),
    field<&WebhookRow::progress, &WebhookProgress::after>(
        "after_seq", "every event up to this one was sent, or did not match")
        .named("after"),
    field<&WebhookRow::progress, &WebhookProgress::delivered>(
        "delivered", "number of events that the receiver accepted"),
    field<&WebhookRow::progress, &WebhookProgress::given_up>(
        "given_up", "number of events that it kept refusing"),
    field<&WebhookRow::progress, &WebhookProgress::missed>(
        "missed", "number of events that had expired before they could be sent"),
    field<&WebhookRow::progress, &WebhookProgress::delivered_at>(
        "delivered_at", "time of the last successful delivery")
        .nullable(),
    field<&WebhookRow::progress, &WebhookProgress::trouble>(
        "trouble", "why the last attempt failed; null: it did not")
        .nullable());

template <>
inline constexpr auto kTable<SecretRow> = table<SecretRow>(
    "secrets",  //
    field<&SecretRow::name>("name", "name of the secret").key(),
    field<&SecretRow::latest>("latest", "number of its newest version"),
    field<&SecretRow::dag>("dag", "only for tasks of this DAG; null: of any").nullable(),
    field<&SecretRow::queue>("queue", "only for tasks of this queue; null: of any").nullable(),
    field<&SecretRow::labels>("labels", "only for tasks that require these labels of their worker"),
    field<&SecretRow::created_at>("created_at", "time of creation"),
    field<&SecretRow::updated_at>("updated_at", "time of the last change"),
    field<&SecretRow::updated_by>("updated_by",
                                  "name of the token that changed it; null: none was needed")
        .nullable(),
    kept<&SecretRow::deleted>("deleted", "its versions are gone"));

template <>
inline constexpr auto kTable<SecretVersionRow> = table<SecretVersionRow>(
    "secret_versions",  //
    kept<&SecretVersionRow::name>("name", "name of the secret").key(),
    field<&SecretVersionRow::version>("version", "number of the version").key(),
    field<&SecretVersionRow::bytes>("bytes", "size of the value").once(),
    field<&SecretVersionRow::created_at>("created_at", "time of creation").once(),
    field<&SecretVersionRow::created_by>("created_by",
                                         "name of the token that set it; null: none was needed")
        .nullable()
        .once(),
    field<&SecretVersionRow::key_id>("key_id", "id of the master key that seals it"),
    kept<&SecretVersionRow::wrapped_key>("wrapped_key", "its own key, wrapped by the master key"),
    kept<&SecretVersionRow::sealed>("sealed", "the value, sealed with its own key").once());

template <>
inline constexpr auto kTable<DagRow> =
    table<DagRow>("dags",  //
                  field<&DagRow::name>("name", "name of the DAG").key(),
                  field<&DagRow::updated_at>("updated_at", "when this version was applied"),
                  beside("digest", Write::kChanging, "digest of its plan").stored(As::kNumber));

template <>
inline constexpr auto kTable<AuditRow> = table<AuditRow>(
    "audit_log",  //
    field<&AuditRow::seq>("seq", "sequence number; grows with every entry").key(),
    field<&AuditRow::at>("at_us", "time of the request, or of the last one if there are several")
        .named("at")
        .stored(As::kMicrosAlways),
    field<&AuditRow::who>("who", "name of the token; null: no valid token").nullable(),
    field<&AuditRow::address>("address", "address of the client; null: several").nullable(),
    field<&AuditRow::operation>("operation", "id of the operation; null: none, or several")
        .nullable(),
    field<&AuditRow::target>("target", "run, task, worker or other object that it was about")
        .nullable(),
    field<&AuditRow::status>("status", "HTTP status of the response"),
    field<&AuditRow::code>("code", "error code; null: it succeeded").nullable(),
    field<&AuditRow::count>("count", "number of requests that this entry stands for"));

}  // namespace vortex::record
