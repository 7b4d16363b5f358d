// Equality of what has none of its own, field by field.
#include <algorithm>
#include <tuple>
#include <variant>

#include "tests/codec/drawn.h"

namespace vortex::testing {
namespace {

// Ids are equal whatever their level; here the level counts as well.
bool same(const Attempt& a, const Attempt& b) { return a == b && a.task.level == b.task.level; }

bool same(const Started&, const Started&) { return true; }
bool same(const TimedOut&, const TimedOut&) { return true; }
bool same(const Checkpoint& a, const Checkpoint& b) { return a.data == b.data; }
bool same(const Completed& a, const Completed& b) { return a.outputs == b.outputs; }
bool same(const Released& a, const Released& b) {
  return a.cause == b.cause && a.message == b.message;
}
bool same(const Failed& a, const Failed& b) {
  const auto& [cause, code, message] = a;
  return std::tie(cause, code, message) == std::tie(b.cause, b.code, b.message);
}

bool same(const Report& a, const Report& b) {
  if (!same(a.attempt, b.attempt) || a.body.index() != b.body.index()) return false;
  return std::visit(
      [&]<class Body>(const Body& body) { return same(body, std::get<Body>(b.body)); }, a.body);
}

bool same(const HeldTask& a, const HeldTask& b) {
  const auto& [attempt, progress, output_bytes] = a;
  return same(attempt, b.attempt) && progress == b.progress && output_bytes == b.output_bytes;
}

bool same(const CommandLine& a, const CommandLine& b) {
  const auto& [argv, shell, env, workdir] = a;
  return std::tie(argv, shell, env, workdir) == std::tie(b.argv, b.shell, b.env, b.workdir);
}

bool same(const Assignment& a, const Assignment& b) {
  const auto& [attempt, number, work, execution_timeout, checkpoint, kill_grace, uploaded, token] =
      a;
  return same(attempt, b.attempt) &&
         vortex::testing::same(*std::get<OrderPtr>(work), *std::get<OrderPtr>(b.work)) &&
         std::tie(number, execution_timeout, checkpoint, kill_grace, uploaded, token) ==
             std::tie(b.number, b.execution_timeout, b.checkpoint, b.kill_grace, b.uploaded,
                      b.token);
}

bool same(const StopOrder& a, const StopOrder& b) {
  const auto& [attempt, why] = a;
  return same(attempt, b.attempt) && why == b.why;
}

bool same(const SecretsPtr& a, const SecretsPtr& b) {
  if (!a || !b) return a == b;
  return std::ranges::equal(a->values, b->values, [](const SecretValue& x, const SecretValue& y) {
    return x.as == y.as && x.file == y.file && x.value.view() == y.value.view();
  });
}

constexpr auto kSame = [](const auto& a, const auto& b) { return same(a, b); };

}  // namespace

bool same(const WorkOrder& a, const WorkOrder& b) {
  const auto& [task_text, dag, task, command, map, resources, outputs, report_output, secrets, user,
               inputs] = a;
  return same(command, b.command) && same(secrets, b.secrets) &&
         std::tie(task_text, dag, task, map, resources, outputs, report_output, user, inputs) ==
             std::tie(b.task_text, b.dag, b.task, b.map, b.resources, b.outputs, b.report_output,
                      b.user, b.inputs);
}

bool same(const SyncRequest& a, const SyncRequest& b) {
  const auto& [worker, incarnation, seq, ack, slots, held, reports, leaving, wait, clock] = a;
  if (std::tie(worker, incarnation, seq, ack, slots, leaving, wait, clock) !=
      std::tie(b.worker, b.incarnation, b.seq, b.ack, b.slots, b.leaving, b.wait, b.worker_clock)) {
    return false;
  }
  if (held.has_value() != b.held.has_value()) return false;
  return (!held || std::ranges::equal(*held, *b.held, kSame)) &&
         std::ranges::equal(reports, b.reports, kSame);
}

bool same(const SyncReply& a, const SyncReply& b) {
  const auto& [mark, seq_seen, lease, assignments, stops, stale, drain, drain_within] = a;
  return std::tie(mark, seq_seen, lease, drain, drain_within) ==
             std::tie(b.mark, b.seq_seen, b.lease, b.drain, b.drain_within) &&
         std::ranges::equal(assignments, b.assignments, kSame) &&
         std::ranges::equal(stops, b.stops, kSame) && std::ranges::equal(stale, b.stale, kSame);
}

bool same(const codec::RegisterBody& a, const codec::RegisterBody& b) {
  const auto& [info, incarnation] = a;
  return std::tie(info, incarnation) == std::tie(b.info, b.incarnation);
}

}  // namespace vortex::testing
