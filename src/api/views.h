#pragma once
// How things look as JSON. Each function writes one object of the schema with its name.
//
// Pure; `now` is the term clock, for ages only. Each object has a shape (api/shape.h) that declares
// its fields and writes them; the schemas ask for them by `fields`.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "api/backend.h"
#include "api/schema/schema.h"
#include "base/time.h"
#include "codec/json_writer.h"
#include "core/explain.h"
#include "model/plan.h"
#include "model/rows.h"
#include "store/reader.h"

namespace vortex::api {

using codec::JsonWriter;

// Null for a time that is not known: kNever, or never set.
void write_time(JsonWriter& json, std::string_view name, Instant at);
// Null when it is empty.
void write_name(JsonWriter& json, std::string_view name, std::string_view text);
void write_labels(JsonWriter& json, std::string_view name, const Labels& labels);
void write_text_list(JsonWriter& json, std::string_view name,
                     const std::vector<std::string>& texts);
void write_cursor(JsonWriter& json, const std::string& next_cursor);
std::string digest_text(std::uint64_t digest);

void write_run(JsonWriter& json, const store::RunView& run);
void write_dag(JsonWriter& json, const store::DagView& dag);
struct DagDetail {
  const DagPlan& plan;
  std::optional<Instant> updated_at;  // unset: not a named DAG
};
// A schedule with what follows from it.
struct ScheduleShown : store::ScheduleView {
  std::string words;
  std::string timezone;
  std::string overlap;
  std::vector<Instant> next;  // slots to come
  std::string problem;        // why it has none; empty: there is no problem
  std::optional<RunState> last_run_state;
};
void write_schedule(JsonWriter& json, const ScheduleShown& schedule);
void write_dag_spec(JsonWriter& json, const DagDetail& dag);
void write_dag_check(JsonWriter& json, const DagPlan& plan);

void write_task(JsonWriter& json, const store::TaskView& task);
struct TaskDetail {
  const store::TaskView& task;
  const DagPlan& plan;
  const TaskDataRow& data;
};
void write_task_detail(JsonWriter& json, const TaskDetail& detail);
void write_attempt(JsonWriter& json, const AttemptRow& row);
// The attempt that a task is in now, which has no row yet.
void write_open_attempt(JsonWriter& json, const TaskRow& row);
void write_explanation(JsonWriter& json, TaskId task, const core::Explanation& explanation);
void write_standstills(JsonWriter& json, const std::vector<core::Standstill>& all);
void write_signal(JsonWriter& json, const SignalRow& row);
void write_approval(JsonWriter& json, const core::OpenApproval& approval);
void write_dead_letter(JsonWriter& json, const store::DeadLetterView& letter);
void write_recovery_fields(JsonWriter& json, const RecoveryRow& row);
void write_recovery_item(JsonWriter& json, const RecoveryItemRow& row);

// By what a worker is judged when it is shown.
struct WorkerLook {
  Instant now;
  std::uint32_t flapping_losses = 0;
  Duration flapping_window;
};
void write_worker(JsonWriter& json, const store::WorkerView& worker, const WorkerLook& look);
void write_machine(JsonWriter& json, const MachineRow& row);
void write_queue(JsonWriter& json, const QueueDepth& queue);
void write_limit(JsonWriter& json, const core::LimitInfo& limit);
void write_controller(JsonWriter& json, const ControllerRow& row, bool leads);
void write_queue_state(JsonWriter& json, const QueueRow& row);
// `renew_at` is set in what a holder is answered.
void write_lease(JsonWriter& json, const PartitionLeaseRow& row, Instant now,
                 std::optional<Instant> renew_at = {});
// `secret`: empty, or shown this once.
void write_token(JsonWriter& json, const TokenRow& row, std::string_view secret = {});
// With its secret or without.
enum class Secret : std::uint8_t { kHidden, kShown };
void write_webhook(JsonWriter& json, const WebhookRow& row, Secret secret);
void write_audit_entry(JsonWriter& json, const AuditRow& row);
void write_delivery(JsonWriter& json, const Delivery& delivery);
void write_secret(JsonWriter& json, const SecretRow& row);
void write_secret_version(JsonWriter& json, const SecretVersionRow& row);

// What is declared of each object.
namespace fields {
using Fields = std::span<const Field>;
Fields run();
Fields dag();
Fields schedule();
Fields dag_spec();
Fields dag_check();
Fields task();
Fields task_detail();  // on top of those of a task
Fields attempt();
Fields explanation();
Fields obstacle();
Fields worker_obstacle();
Fields standstill();
Fields signal();
Fields approval();
Fields dead_letter();
Fields recovery();
Fields recovery_item();
Fields worker();
Fields machine();
Fields queue();
Fields limit();
Fields controller();
Fields queue_state();
Fields lease();
Fields lease_grant();
Fields token();
Fields webhook();
Fields audit_entry();
Fields delivery();
Fields secret();
Fields secret_version();
}  // namespace fields

// One page: {"<items>": [...], "next_cursor": ...}
template <class T, class Write>
std::string page_json(std::string_view items, const store::Page<T>& page, Write write) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key(items).begin_array();
  for (const T& item : page.items) write(json, item);
  json.end_array();
  write_cursor(json, page.next_cursor);
  json.end_object();
  return out;
}

// The same of what was read, if it could be.
template <class T, class Write>
store::Result<std::string> page_answer(std::string_view items,
                                       const store::Result<store::Page<T>>& page, Write write) {
  if (!page) return std::unexpected(page.error());
  return page_json(items, *page, write);
}

// One object.
template <class Write>
std::string object_json(Write write) {
  std::string out;
  JsonWriter json(out);
  write(json);
  return out;
}

}  // namespace vortex::api
