#include "tests/store/dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vortex::store::testing {
namespace {

std::string when(Instant at) { return at == kNever ? "never" : fmt::format("{}", at.us); }

std::string text_of(const std::optional<std::string>& text) {
  return text ? fmt::format("'{}'", *text) : "unset";
}

std::string show(const RunRequest& request) {
  return fmt::format("labels={} params='{}' key='{}' digest={}", request.labels, request.params,
                     request.idempotency_key, request.digest);
}

std::string show(const WorkerInfo& info) {
  return fmt::format("{} {} '{}' {} {} {} {} '{}' {} {} {} slots={} cpu={} memory={} {}",
                     info.id.text, info.machine.text, info.name, info.address, info.zone,
                     info.group, info.version, info.metadata, info.queues, info.labels,
                     info.runtimes, info.slots, info.resources.cpu_milli,
                     info.resources.memory_bytes, info.resources.named);
}

}  // namespace

std::string show(TaskId task) { return to_text(task); }

std::string show(const RunRow& row) {
  return fmt::format(
      "{} plan={:x} [{}] {} ending={} paused={} {}..{} passed={} timeout={} stopped={} made={}",
      to_text(row.id), row.plan ? row.plan->digest : 0,
      row.request ? show(*row.request) : show(RunRequest{}), to_text(row.state),
      static_cast<int>(row.ending), row.paused, when(row.created_at), when(row.finished_at),
      row.levels_passed, when(row.timeout_at), row.stopped, row.made);
}

std::string show(const TaskRow& row) {
  return fmt::format(
      "{} node={} level={} {} stop={} epoch={} counters={},{},{},{},{},{} worker='{}'/{} "
      "previous='{}' "
      "recovery={} {} {} {} {} {} {}% '{}' exit={} '{}'",
      to_text(row.id), row.node, row.level ? static_cast<int>(*row.level) : -1, to_text(row.state),
      static_cast<int>(row.stop), row.epoch.value, row.counters.attempts, row.counters.failures,
      row.counters.crashes, row.counters.stalls, row.counters.releases, row.counters.unstarted,
      row.worker.text, row.incarnation.value, row.previous_worker.text, row.recovery.value,
      when(row.created_at), when(row.updated_at), when(row.ready_at), when(row.granted_at),
      when(row.started_at), row.percent, row.step, row.exit_code, row.error_message);
}

std::string show(const TaskDataRow& row) {
  const CheckpointRef uploaded = row.uploaded.value_or(CheckpointRef{});
  return fmt::format("{} epoch={} checkpoint={} outputs={} upload={}/{}", to_text(row.id),
                     row.epoch.value, text_of(row.checkpoint), text_of(row.outputs),
                     uploaded.number, uploaded.bytes);
}

std::string show(const AttemptRow& row) {
  return fmt::format("{}#{} n={} {}/{} {} {} {} {} code={} '{}'", to_text(row.attempt.task),
                     row.attempt.epoch.value, row.number, row.worker.text, row.incarnation.value,
                     when(row.granted_at), when(row.started_at), when(row.ended_at),
                     to_text(row.verdict), row.code, row.message);
}

std::string show(const WorkerRow& row) {
  std::string lost;
  for (const Instant at : row.lost_lately) lost += " " + when(at);
  return fmt::format("[{}] inc={} {} suspect={} cordoned={} {} {} lost={}{} told={} within={}",
                     show(*row.info), row.incarnation.value, to_text(row.state), row.suspect,
                     row.cordoned, when(row.registered_at), when(row.last_heartbeat),
                     row.times_lost, lost, row.end_told.value,
                     row.drain_within ? row.drain_within->us : -1);
}

std::string show(const MachineRow& row) {
  return fmt::format("{} online={} since={}", row.id.text, row.online, when(row.since));
}

std::string show(const JournalRow& row) {
  return fmt::format("{} {} last={} {}", row.supervisor, row.journal, row.last, when(row.at));
}

std::string show(const QueueRow& row) { return fmt::format("{} paused={}", row.name, row.paused); }

std::string show(const PartitionLeaseRow& row) {
  return fmt::format("{}/{} '{}' epoch={} {}", row.partition.topic, row.partition.partition,
                     row.holder.text, row.epoch.value, when(row.expires_at));
}

std::string show(const DeadLetterRow& row) {
  return fmt::format("{}#{} {} state={} {} '{}'", to_text(row.attempt.task),
                     row.attempt.epoch.value, to_text(row.reason), static_cast<int>(row.state),
                     when(row.at), row.message);
}

std::string show(const CounterRow& row) {
  return fmt::format("run={} recovery={} event={} tasks={}", row.next_run.value,
                     row.next_recovery.value, row.next_event, row.tasks);
}

std::string show(const KeyRow& row) {
  return fmt::format("'{}' {} {}", row.key, to_text(row.run), row.digest);
}

std::string show(const RecoveryItemRow& row) {
  return fmt::format("{} {} {}->{} {}->{} {}", row.recovery.value, to_text(row.task),
                     row.old_epoch.value, row.new_epoch.value, row.old_worker.text,
                     row.new_worker.text, row.attempts);
}

std::string show(const RecoveryView& view) {
  return fmt::format("{} {}/{} {} n={} {}", view.row.id.value, view.row.worker.text,
                     view.row.incarnation.value, to_text(view.row.evidence), view.row.num_tasks,
                     when(view.row.at));
}

std::string show(const RunView& view) {
  return fmt::format(
      "{} {} {:x} {} '{}' '{}' {} ending={} paused={} {}..{} levels={}/{} tasks={} {}",
      to_text(view.id), view.dag, view.dag_digest, view.labels, view.params, view.idempotency_key,
      to_text(view.state), static_cast<int>(view.ending), view.paused, when(view.created_at),
      when(view.finished_at), view.levels_passed, view.levels, view.tasks, view.made);
}

std::string show(const TaskView& view) { return view.name + " " + show(view.row); }

std::string show(const WorkerView& view) {
  return fmt::format("{} held={} completed={} ended={}", show(view.row), view.held, view.completed,
                     view.ended);
}

std::string show(const DeadLetterView& view) {
  return fmt::format("{} {} level={} {}", show(view.row), view.name, view.level, view.dag);
}

std::string show(const DagView& view) {
  return fmt::format("{} {:x} {} nodes={} tasks={}", view.name, view.digest, when(view.updated_at),
                     view.nodes, view.tasks);
}

std::string show(const TokenRow& row) {
  return fmt::format("{} role={} {} {} revoked={}", row.name, static_cast<int>(row.role), row.hash,
                     when(row.created_at), row.revoked);
}

std::string show(const WebhookRow& row) {
  const WebhookProgress& at = row.progress;
  return fmt::format("{} {} {} dag={} {} {} after={} {}/{}/{} {} '{}'", row.name, row.url,
                     row.kinds, row.dag, row.secret, when(row.created_at), at.after, at.delivered,
                     at.given_up, at.missed, when(at.delivered_at), at.trouble);
}

std::string show(const LogText& text) {
  return fmt::format("{}+'{}' skipped={} next={} size={}", text.offset, text.data, text.skipped,
                     text.next_offset, text.size);
}

std::string show(const EventLines& lines) {
  return fmt::format("{}..{} '{}'", lines.first_seq, lines.last_seq, lines.lines);
}

std::string show(const Totals& totals) {
  return fmt::format("{} requeued={} letters={}", show(totals.counters), totals.requeued_last_hour,
                     totals.open_dead_letters);
}

std::string show(const RunImage& image) {
  return show(image.run) + "\n" + show(image.tasks) + show(image.data);
}

std::string show(const StoreImage& image) {
  return show(image.counters) + "\n" + show(image.runs) + show(image.workers) +
         show(image.machines) + show(image.leases) + show(image.queues) + show(image.journals) +
         show(image.keys) + show(image.dead_letters);
}

}  // namespace vortex::store::testing
