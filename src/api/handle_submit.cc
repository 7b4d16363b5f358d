// From a submission to a run that is durable when the answer leaves.
#include <utility>

#include "api/bodies.h"
#include "api/dag_input.h"
#include "api/handlers.h"
#include "api/views.h"
#include "codec/params.h"

namespace vortex::api {

namespace {

store::RunView view_of(const RunRow& row) {
  const DagPlan& plan = *row.plan;
  store::RunView view;
  static_cast<RunRow&>(view) = row;
  view.dag = plan.spec.name;
  view.dag_digest = plan.digest;
  view.levels = plan.levels;
  view.tasks = plan.tasks;
  return view;
}

// A run that an earlier request made may have come far since then.
boost::asio::awaitable<Expected<store::RunView>> read_existing(Call& call, RunId id) {
  auto view = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.run(id); });
  if (!view) co_return std::unexpected(std::move(view.error()));
  if (!*view) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  co_return **std::move(view);
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
  auto accepted = co_await ask<core::RunAccepted>(call.backend, std::move(submit));
  if (!accepted) co_return std::unexpected(std::move(accepted.error()));
  const RunId id = accepted->run;
  Expected<store::RunView> run = store::RunView{};
  if (accepted->row) {
    run = view_of(*accepted->row);
  } else {
    run = co_await read_existing(call, id);
  }
  if (!run) co_return std::unexpected(std::move(run.error()));
  net::Response response = json_answer(
      object_json([&](JsonWriter& json) { write_run(json, *run); }), accepted->existed ? 200 : 201);
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
