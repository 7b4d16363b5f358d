// Tasks: lists, one with its definition, its attempts, and what an operator can do to it.
#include <utility>

#include <fmt/format.h>

#include "api/handlers.h"
#include "api/late_maps.h"
#include "api/query.h"
#include "api/views.h"

namespace vortex::api {

namespace {

struct WholeTask {
  std::optional<store::TaskView> task;  // unset: there is none
  PlanPtr plan;
  TaskDataRow data;
};

store::Result<WholeTask> read_whole(store::Reader& reader, TaskId id) {
  WholeTask out;
  auto task = reader.task(id);
  if (!task) return std::unexpected(task.error());
  if (!*task) return out;
  const auto run = reader.run(id.run);
  if (!run) return std::unexpected(run.error());
  if (!*run) return out;
  auto plan = plan_of_run(reader, **run);
  if (!plan) return std::unexpected(plan.error());
  if (!*plan) return out;
  plan = give_items(reader, **run, *std::move(plan), (*task)->row.node);
  if (!plan) return std::unexpected(plan.error());
  auto data = reader.task_data(id);
  if (!data) return std::unexpected(data.error());
  if (*data) out.data = **std::move(data);
  out.plan = *std::move(plan);
  out.task = **std::move(task);
  return out;
}

Handled answer_task(Call& call, TaskId id) {
  auto task = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.task(id); });
  if (!task) co_return std::unexpected(std::move(task.error()));
  if (!*task) co_return std::unexpected(trouble(Code::kNoSuchTask, to_text(id)));
  co_return json_answer(object_json([&](JsonWriter& json) { write_task(json, **task); }));
}

// The core knows only tasks of live runs: one that has ended is told apart from one that never was.
Handled act_on_task(Call& call, core::Command command) {
  const TaskId id = call.task();
  auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (done) co_return co_await answer_task(call, id);
  const Code code = done.error().code;
  if (code == Code::kNoSuchTask || code == Code::kNoSuchRun) {
    done.error().code = Code::kNoSuchTask;
    auto task =
        co_await fetch(call.backend, [id](store::Reader& reader) { return reader.task(id); });
    if (task && *task) {
      co_return std::unexpected(trouble(
          Code::kWrongState, to_text(id) + " is " + std::string(to_text((*task)->row.state))));
    }
  }
  co_return std::unexpected(std::move(done.error()));
}

struct Tries {
  std::optional<store::TaskView> task;
  std::vector<AttemptRow> ended;
};

store::Result<Tries> read_tries(store::Reader& reader, TaskId id) {
  Tries out;
  auto task = reader.task(id);
  if (!task) return std::unexpected(task.error());
  out.task = *std::move(task);
  auto ended = reader.attempts(id);
  if (!ended) return std::unexpected(ended.error());
  out.ended = *std::move(ended);
  return out;
}

}  // namespace

Handled list_tasks(Call& call) {
  QueryReader query(call.request().query);
  store::TaskFilter filter;
  filter.run = query.run("run");
  if (const auto state = query.word("state", words_of<TaskState>())) {
    filter.state = static_cast<TaskState>(*state);
  }
  if (query.has("worker")) filter.worker = WorkerId(query.text("worker"));
  if (query.has("node")) filter.node = query.text("node");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("tasks", reader.tasks(filter, page), write_task);
  });
}

Handled get_task(Call& call) {
  const TaskId id = call.task();
  auto whole =
      co_await fetch(call.backend, [id](store::Reader& reader) { return read_whole(reader, id); });
  if (!whole) co_return std::unexpected(std::move(whole.error()));
  if (!whole->task) co_return std::unexpected(trouble(Code::kNoSuchTask, to_text(id)));
  const TaskDetail detail{*whole->task, *whole->plan, whole->data};
  co_return json_answer(object_json([&](JsonWriter& json) { write_task_detail(json, detail); }));
}

Handled list_attempts(Call& call) {
  const TaskId id = call.task();
  auto tries =
      co_await fetch(call.backend, [id](store::Reader& reader) { return read_tries(reader, id); });
  if (!tries) co_return std::unexpected(std::move(tries.error()));
  if (!tries->task) co_return std::unexpected(trouble(Code::kNoSuchTask, to_text(id)));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("attempts").begin_array();
    for (const AttemptRow& row : tries->ended) write_attempt(json, row);
    if (is_held(tries->task->row.state)) write_open_attempt(json, tries->task->row);
    json.end_array().end_object();
  }));
}

namespace {

// The attempts of one page of tasks; a task that was never handed out has none.
store::Result<std::string> read_run_attempts(store::Reader& reader, const store::TaskFilter& filter,
                                             const store::PageRequest& page) {
  const auto tasks = reader.tasks(filter, page);
  if (!tasks) return std::unexpected(tasks.error());
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("attempts").begin_array();
  for (const store::TaskView& task : tasks->items) {
    if (task.row.counters.attempts == 0) continue;
    const auto ended = reader.attempts(task.row.id);
    if (!ended) return std::unexpected(ended.error());
    for (const AttemptRow& row : *ended) write_attempt(json, row);
    if (is_held(task.row.state)) write_open_attempt(json, task.row);
  }
  json.end_array();
  write_cursor(json, tasks->next_cursor);
  json.end_object();
  return out;
}

}  // namespace

Handled list_run_attempts(Call& call) {
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
  co_return co_await fetch_answer(
      call.backend, [&](store::Reader& reader) { return read_run_attempts(reader, filter, page); });
}

namespace {

// How the nodes ended that a skipped task had needed. A node with one failed task has failed.
store::Result<std::vector<std::string>> how_needs_ended(store::Reader& reader, TaskId id) {
  const auto whole = read_whole(reader, id);
  if (!whole) return std::unexpected(whole.error());
  std::vector<std::string> out;
  if (!whole->plan) return out;
  for (const std::uint32_t need : whole->plan->nodes[whole->task->row.node].needs) {
    const std::string& name = whole->plan->node_spec(need).name;
    TaskState ended = TaskState::kCompleted;
    for (const TaskState bad : {TaskState::kSkipped, TaskState::kCancelled, TaskState::kFailed}) {
      const auto any = reader.tasks({.run = id.run, .state = bad, .node = name, .worker = {}},
                                    {.limit = 1, .cursor = {}});
      if (!any) return std::unexpected(any.error());
      if (!any->items.empty()) ended = bad;
    }
    out.push_back(fmt::format("'{}' is {}", name, to_text(ended)));
  }
  return out;
}

}  // namespace

Handled explain_task(Call& call) {
  const TaskId id = call.task();
  Asked<core::Explanation> asked = co_await call.backend.explain(id);
  if (!asked) co_return std::unexpected(from_unserved(asked.error()));
  core::Explanation why = *std::move(asked);
  if (why.reason == core::WaitReason::kUnknownTask) {
    auto task =
        co_await fetch(call.backend, [id](store::Reader& reader) { return reader.task(id); });
    if (!task) co_return std::unexpected(std::move(task.error()));
    if (!*task) co_return std::unexpected(trouble(Code::kNoSuchTask, to_text(id)));
    why.reason = core::WaitReason::kFinal;
    why.state = (*task)->row.state;
    why.moves_when = "never: its run has finished";
    if (!(*task)->row.error_message.empty()) why.details.push_back((*task)->row.error_message);
    if (!(*task)->row.reused_from.empty()) {
      why.details.push_back("it did not run: its result is that of " + (*task)->row.reused_from);
    }
    // Skipped by its condition, it says so itself.
    if (why.state == TaskState::kSkipped && why.details.empty()) {
      auto needs = co_await fetch(
          call.backend, [id](store::Reader& reader) { return how_needs_ended(reader, id); });
      if (!needs) co_return std::unexpected(std::move(needs.error()));
      why.details = *std::move(needs);
    }
  }
  co_return json_answer(object_json([&](JsonWriter& json) { write_explanation(json, id, why); }));
}

Handled retry_task(Call& call) {
  core::Command command = core::RetryTask{{}, call.task(), nullptr};
  co_return co_await act_on_task(call, std::move(command));
}

Handled cancel_task(Call& call) {
  core::Command command = core::CancelTask{{}, call.task()};
  co_return co_await act_on_task(call, std::move(command));
}

Handled check_fence(Call& call) {
  QueryReader query(call.request().query);
  const auto epoch = query.number("epoch");
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  if (!epoch) co_return std::unexpected(trouble(Code::kBadQuery, "epoch is required"));
  const TaskId id = call.task();
  const auto& own = call.caller.attempt;
  if (own && own->epoch.value != *epoch) co_return std::unexpected(trouble(Code::kNotOfAttempt));
  core::Command command = core::CheckAttempt{{}, {id, {*epoch}}};
  auto held = co_await ask<core::Done>(call.backend, std::move(command));
  if (!held) {
    // A task that has ended or never was is not held either: the asker must stop.
    const Code code = held.error().code;
    const bool lost = code == Code::kLeaseNotHeld || code == Code::kNoSuchTask;
    if (lost) held.error().code = Code::kAttemptNotHeld;
    co_return std::unexpected(std::move(held.error()));
  }
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().field("task", to_text(id)).field("epoch", *epoch).field("held", true);
    json.end_object();
  }));
}

}  // namespace vortex::api
