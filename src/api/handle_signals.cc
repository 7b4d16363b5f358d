// What people and programs outside tell a run: signals, and answers to approvals.

#include <algorithm>
#include <string>
#include <utility>

#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/views.h"
#include "model/check.h"

namespace vortex::api {
namespace {

constexpr std::size_t kApprovalsMax = 1'000;

Handled show(Call& call, const SignalRow& row) {
  call.subject = to_text(row.run);
  co_return json_answer(object_json([&](JsonWriter& json) { write_signal(json, row); }));
}

// A run that has ended is in the store alone: what was said to it before can be repeated.
struct Ended {
  std::optional<RunState> state;  // unset: there is no such run
  std::vector<SignalRow> signals;
};
store::Result<Ended> read_ended(store::Reader& reader, RunId id) {
  Ended out;
  const auto run = reader.run(id);
  if (!run) return std::unexpected(run.error());
  if (!*run) return out;
  out.state = (*run)->state;
  auto signals = reader.signals(id);
  if (!signals) return std::unexpected(signals.error());
  out.signals = *std::move(signals);
  return out;
}

template <class IsSame>
Handled again_or(Call& call, RunId id, Trouble refused, IsSame is_same) {
  const bool absent = refused.code == Code::kNoSuchRun || refused.code == Code::kRunNotLive;
  if (!absent) co_return std::unexpected(std::move(refused));
  auto ended =
      co_await fetch(call.backend, [id](store::Reader& reader) { return read_ended(reader, id); });
  if (!ended) co_return std::unexpected(std::move(ended.error()));
  if (!ended->state) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  const auto same = std::ranges::find_if(ended->signals, is_same);
  if (same != ended->signals.end()) co_return co_await show(call, *same);
  co_return std::unexpected(
      trouble(Code::kRunNotLive, to_text(id) + " is " + std::string(to_text(*ended->state))));
}

std::string key_of(Call& call) {
  return std::string(
      net::find_header(call.request().headers, "Idempotency-Key").value_or(std::string_view{}));
}

// The outputs of the task that was approved.
std::string outputs_of(const Call& call, const ApproveBody& body) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("approved", true).key("by");
  call.caller.name.empty() ? json.null() : json.text(call.caller.name);
  json.field("comment", std::string_view(body.comment)).end_object();
  if (body.data.size() <= 2) return out;
  out.pop_back();
  return out + "," + body.data.substr(1);
}

Handled answer(Call& call, core::AnswerApproval command) {
  const TaskId task = call.task();
  command.task = task;
  command.role = call.caller.role.value_or(Role::kAdmin);
  command.sent_by = call.caller.name;
  const SignalKind kind = command.approved ? SignalKind::kApproved : SignalKind::kRejected;
  auto kept = co_await ask<core::SignalKept>(call.backend, std::move(command));
  if (kept) co_return co_await show(call, kept->row);
  co_return co_await again_or(call, task.run, std::move(kept.error()), [&](const SignalRow& row) {
    return row.kind == kind && row.taken_by == task.index;
  });
}

}  // namespace

Handled signal_run(Call& call) {
  auto body = co_await read_body(call, read_signal);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::SignalRun command;
  command.run = call.run();
  command.name = call.text(1);
  command.data = std::move(body->data);
  command.idempotency_key = key_of(call);
  command.sent_by = call.caller.name;
  if (command.idempotency_key.size() > kIdempotencyKeyBytesMax) {
    co_return std::unexpected(trouble(Code::kImpossible, "the idempotency key is too long"));
  }
  const core::SignalRun said = command;
  auto kept = co_await ask<core::SignalKept>(call.backend, std::move(command));
  if (kept) co_return co_await show(call, kept->row);
  co_return co_await again_or(call, said.run, std::move(kept.error()), [&](const SignalRow& row) {
    return !said.idempotency_key.empty() && row.idempotency_key == said.idempotency_key &&
           row.name == said.name && row.data == said.data;
  });
}

Handled list_run_signals(Call& call) {
  const RunId id = call.run();
  auto ended =
      co_await fetch(call.backend, [id](store::Reader& reader) { return read_ended(reader, id); });
  if (!ended) co_return std::unexpected(std::move(ended.error()));
  if (!ended->state) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("signals").begin_array();
    for (const SignalRow& row : ended->signals) write_signal(json, row);
    json.end_array().end_object();
  }));
}

Handled approve_task(Call& call) {
  auto body = co_await read_body(call, read_approve);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::AnswerApproval command;
  command.approved = true;
  command.comment = body->comment;
  command.outputs = outputs_of(call, *body);
  co_return co_await answer(call, std::move(command));
}

Handled reject_task(Call& call) {
  auto body = co_await read_body(call, read_reject);
  if (!body) co_return std::unexpected(std::move(body.error()));
  core::AnswerApproval command;
  command.approved = false;
  command.comment = std::move(body->reason);
  co_return co_await answer(call, std::move(command));
}

Handled list_approvals(Call& call) {
  auto approvals = co_await call.backend.approvals(kApprovalsMax);
  if (!approvals) co_return std::unexpected(from_unserved(approvals.error()));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("approvals").begin_array();
    for (const core::OpenApproval& approval : *approvals) write_approval(json, approval);
    json.end_array().end_object();
  }));
}

}  // namespace vortex::api
