// From a submission to a run that is durable when the answer leaves.
#include <utility>

#include "api/bodies.h"
#include "api/dag_input.h"
#include "api/handlers.h"
#include "api/views.h"
#include "codec/params.h"

namespace vortex::api {

namespace {

// What is known of a fresh run without the store, in case it can not be read just now.
store::RunView first_view(const core::SubmitRun& submit, RunId id, Instant now) {
  const DagPlan& plan = *std::get<PlanPtr>(submit.dag);
  store::RunView view;
  view.id = id;
  view.dag = plan.spec.name;
  view.dag_digest = plan.digest;
  view.labels = submit.labels;
  view.params = submit.params;
  view.idempotency_key = submit.idempotency_key;
  view.created_at = now;
  view.finished_at = kNever;
  view.levels = plan.levels;
  view.tasks = plan.tasks;
  return view;
}

boost::asio::awaitable<Expected<PlanPtr>> plan_for(Call& call, SubmitBody& body) {
  if (body.dag_name.empty()) {
    Expected<PlanPtr> plan = read_plan(body.dag_json, call.backend.settings().settings);
    if (!plan) {
      const PartPlace place{"/dag", body.dag_at.line, body.dag_at.column};
      plan.error().errors = placed(std::move(plan.error().errors), place);
    }
    co_return plan;
  }
  auto found = co_await fetch(
      call.backend, [&](store::Reader& reader) { return find_named(reader, body.dag_name); });
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (!found->plan) co_return std::unexpected(trouble(Code::kNoSuchDag, body.dag_name));
  co_return std::move(found->plan);
}

// With the defaults of the DAG filled in: a run keeps what it was really given.
Expected<std::string> checked_params(const core::SubmitRun& submit, const SubmitBody& body) {
  const DagPlan& plan = *std::get<PlanPtr>(submit.dag);
  auto params = codec::check_params(plan.spec, body.params);
  if (params) return *std::move(params);
  Trouble wrong = trouble(Code::kBadParams, params.error().front().message);
  wrong.hint = params.error().front().help;
  for (codec::Problem& problem : params.error()) {
    problem.pointer.insert(0, "/params");
    problem.line = 0;  // of a copy; the pointer says where
    problem.column = 0;
    wrong.errors.push_back(std::move(problem));
  }
  return std::unexpected(std::move(wrong));
}

Handled submit(Call& call, SubmitBody body) {
  Expected<PlanPtr> plan = co_await plan_for(call, body);
  if (!plan) co_return std::unexpected(std::move(plan.error()));
  core::SubmitRun submit;
  submit.dag = *std::move(plan);
  submit.labels = std::move(body.labels);
  Expected<std::string> params = checked_params(submit, body);
  if (!params) co_return std::unexpected(std::move(params.error()));
  submit.params = *std::move(params);
  submit.idempotency_key =
      net::find_header(call.request().headers, "Idempotency-Key").value_or(std::string_view{});
  core::Command command = submit;
  auto accepted = co_await ask<core::RunAccepted>(call.backend, std::move(command));
  if (!accepted) co_return std::unexpected(std::move(accepted.error()));
  const RunId id = accepted->run;
  auto view = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.run(id); });
  // It is accepted and durable whatever the read says.
  const bool seen = view.has_value() && view->has_value();
  const store::RunView run = seen ? **view : first_view(submit, id, call.backend.now());
  net::Response response = json_answer(object_json([&](JsonWriter& json) { write_run(json, run); }),
                                       accepted->existed ? 200 : 201);
  response.headers.emplace_back("Location", "/api/runs/" + to_text(id));
  co_return response;
}

}  // namespace

Handled submit_run(Call& call) {
  auto body = read_submit(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  co_return co_await submit(call, *std::move(body));
}

Handled submit_named_run(Call& call) {
  auto body = read_submit_named(call.request().body);
  if (!body)
    co_return std::unexpected(
        from_problems(std::move(body.error()), call.request().body, Code::kBadBody));
  body->dag_name = call.text();
  co_return co_await submit(call, *std::move(body));
}

}  // namespace vortex::api
