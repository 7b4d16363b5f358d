// Runs: lists, one, and what an operator can do to it.
#include <utility>

#include "api/handlers.h"
#include "api/query.h"
#include "api/views.h"

namespace vortex::api {

namespace {

Handled answer_run(Call& call, RunId id) {
  auto run = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.run(id); });
  if (!run) co_return std::unexpected(std::move(run.error()));
  if (!*run) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  co_return json_answer(object_json([&](JsonWriter& json) { write_run(json, **run); }));
}

// The core knows only live runs: a finished one is told apart from one that never was.
Handled act_on_run(Call& call, core::Command command) {
  const RunId id = call.run();
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (done) co_return co_await answer_run(call, id);
  if (done.error().code == Code::kNoSuchRun) {
    auto run = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.run(id); });
    if (run && *run) {
      co_return std::unexpected(
          trouble(Code::kRunNotLive, to_text(id) + " is " + std::string(to_text((*run)->state))));
    }
  }
  co_return std::unexpected(std::move(done.error()));
}

}  // namespace

Handled list_runs(Call& call) {
  QueryReader query(call.request().query);
  store::RunFilter filter;
  if (const auto state = query.word("state", words_of<RunState>())) {
    filter.state = static_cast<RunState>(*state);
  }
  filter.dag = query.text("dag");
  filter.labels = query.labels("label");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  auto runs = co_await fetch(call.backend,
                             [&](store::Reader& reader) { return reader.runs(filter, page); });
  if (!runs) co_return std::unexpected(std::move(runs.error()));
  co_return json_answer(page_json("runs", *runs, write_run));
}

Handled get_run(Call& call) { co_return co_await answer_run(call, call.run()); }

Handled cancel_run(Call& call) {
  core::Command command = core::CancelRun{{}, call.run()};
  co_return co_await act_on_run(call, std::move(command));
}

Handled pause_run(Call& call) {
  core::Command command = core::PauseRun{{}, call.run(), true};
  co_return co_await act_on_run(call, std::move(command));
}

Handled resume_run(Call& call) {
  core::Command command = core::PauseRun{{}, call.run(), false};
  co_return co_await act_on_run(call, std::move(command));
}

Handled list_run_tasks(Call& call) {
  QueryReader query(call.request().query);
  store::TaskFilter filter;
  filter.run = call.run();
  if (const auto state = query.word("state", words_of<TaskState>())) {
    filter.state = static_cast<TaskState>(*state);
  }
  if (query.has("node")) filter.node = query.text("node");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const RunId id = call.run();
  auto run = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.run(id); });
  if (!run) co_return std::unexpected(std::move(run.error()));
  if (!*run) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  auto tasks = co_await fetch(call.backend,
                              [&](store::Reader& reader) { return reader.tasks(filter, page); });
  if (!tasks) co_return std::unexpected(std::move(tasks.error()));
  co_return json_answer(page_json("tasks", *tasks, write_task));
}

Handled get_run_dag(Call& call) {
  const RunId id = call.run();
  auto plan = co_await fetch(call.backend, [id](store::Reader& reader) -> store::Result<PlanPtr> {
    const auto run = reader.run(id);
    if (!run) return std::unexpected(run.error());
    if (!*run) return PlanPtr{};
    return reader.plan((*run)->dag_digest);
  });
  if (!plan) co_return std::unexpected(std::move(plan.error()));
  if (!*plan) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  const DagDetail detail{**plan, std::nullopt};
  co_return json_answer(object_json([&](JsonWriter& json) { write_dag_spec(json, detail); }));
}

}  // namespace vortex::api
