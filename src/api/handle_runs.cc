// Runs: lists, one, and what an operator can do to it.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/late_maps.h"
#include "api/query.h"
#include "api/submission.h"
#include "api/views.h"
#include "base/settings.h"
#include "base/zone_files.h"
#include "codec/dag_file.h"
#include "codec/dag_json.h"
#include "codec/params.h"
#include "core/state/policy.h"
#include "model/plan.h"
#include "store/reader.h"

namespace vortex::api {

Expected<PlanPtr> read_plan(std::string_view dag_json, const Settings& settings) {
  auto spec = codec::read_dag(dag_json);
  if (!spec)
    return std::unexpected(from_problems(std::move(spec.error()), dag_json, Code::kDagMalformed));
  DagLimits limits = core::make_policy(settings).dag_limits;
  limits.zones = &system_zones();
  auto plan = compile(*std::move(spec), limits);
  if (!plan) return std::unexpected(from_dag_error(plan.error()));
  return *std::move(plan);
}

store::Result<NamedDag> find_named(store::Reader& reader, const std::string& name) {
  const auto dag = reader.dag(name);
  if (!dag) return std::unexpected(dag.error());
  if (!*dag) return NamedDag{};
  auto plan = reader.plan((*dag)->digest);
  if (!plan) return std::unexpected(plan.error());
  return NamedDag{*std::move(plan), (*dag)->updated_at};
}

namespace {

std::string spec_json(const DagPlan& plan, std::optional<Instant> updated_at) {
  const DagDetail detail{plan, updated_at};
  return object_json([&](JsonWriter& json) { write_dag_spec(json, detail); });
}

// From a submission to a run that is durable when the answer leaves.

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

Expected<PlanPtr> plan_in(Call& call, const SubmitBody& body) {
  Expected<PlanPtr> plan = read_plan(body.dag_json, call.backend.settings().settings);
  if (!plan) {
    const PartPlace place{"/dag", body.dag_at.line, body.dag_at.column};
    plan.error().errors = placed(std::move(plan.error().errors), place);
  }
  return plan;
}

}  // namespace

boost::asio::awaitable<Expected<PlanPtr>> plan_for(Call& call, const SubmitBody& body) {
  if (body.dag_name.empty()) {
    const auto read = [&call, &body] { return plan_in(call, body); };
    Expected<Expected<PlanPtr>> plan = co_await digest(call, read);
    if (!plan) co_return std::unexpected(std::move(plan.error()));
    if (!*plan) co_return std::unexpected(std::move(plan->error()));
    plan = co_await with_stored_dags(call, **std::move(plan));
    if (!*plan && body.dag_name.empty()) {
      const PartPlace place{"/dag", body.dag_at.line, body.dag_at.column};
      plan->error().errors = placed(std::move(plan->error().errors), place);
    }
    co_return *std::move(plan);
  }
  auto found = co_await fetch(
      call.backend, [&](store::Reader& reader) { return find_named(reader, body.dag_name); });
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (!found->plan) co_return std::unexpected(trouble(Code::kNoSuchDag, body.dag_name));
  co_return co_await with_stored_dags(call, std::move(found->plan));
}

Expected<std::string> checked_params(const DagPlan& plan, const std::string& given) {
  auto params = codec::check_params(plan.spec, given);
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

namespace {

// A run for a slot knows when the next one comes. What is wrong with the slot, if anything is.
std::optional<Trouble> set_slot(core::SubmitRun& submit, const SubmitBody& body) {
  if (!body.slot) return std::nullopt;
  const DagPlan& plan = *std::get<PlanPtr>(submit.dag);
  const auto& schedule = plan.spec.schedule;
  const ZonePtr zone = schedule ? system_zones().find(schedule->timezone) : nullptr;
  if (!zone || next_slot(*schedule, *zone, *body.slot - micros(1)) != body.slot) {
    Trouble wrong = trouble(Code::kBadBody, fmt::format("{} is no slot of the schedule of '{}'",
                                                        slot_text(*body.slot), plan.spec.name));
    wrong.hint = "`vortex schedules next` shows its slots; leave 'slot' out for a run without one";
    return wrong;
  }
  submit.slot = *body.slot;
  submit.slot_end = next_slot(*schedule, *zone, *body.slot).value_or(kNever);
  return std::nullopt;
}

// A time that has passed starts the run at once: the request may have been on its way for a while.
std::optional<Trouble> set_start(Call& call, core::SubmitRun& submit, const SubmitBody& body) {
  if (!body.starts_at) return std::nullopt;
  std::optional<Trouble> wrong;
  if (*body.starts_at > call.backend.now() + kWaitMax) {
    wrong = trouble(Code::kBadBody, "'starts_at' is more than 366 days ahead");
  } else if (body.keep.run.value != 0) {
    wrong = trouble(Code::kBadBody, "a run that starts later cannot keep results of another");
    wrong->hint = "leave out 'starts_at' or 'keep'";
  }
  submit.starts_at = *body.starts_at;
  return wrong;
}

Handled submit(Call& call, SubmitBody body) {
  Expected<PlanPtr> plan = co_await plan_for(call, body);
  if (!plan) co_return std::unexpected(std::move(plan.error()));
  core::SubmitRun submit;
  submit.dag = *std::move(plan);
  if (auto wrong = set_slot(submit, body)) co_return std::unexpected(*std::move(wrong));
  submit.labels = std::move(body.labels);
  submit.submitted_by = call.caller.name;
  const auto check = [&submit, &body] {
    return checked_params(*std::get<PlanPtr>(submit.dag), body.params);
  };
  Expected<Expected<std::string>> params = co_await digest(call, check);
  if (!params) co_return std::unexpected(std::move(params.error()));
  if (!*params) co_return std::unexpected(std::move(params->error()));
  submit.params = **std::move(params);
  if (auto wrong = set_start(call, submit, body)) co_return std::unexpected(*std::move(wrong));
  const auto kept = co_await keep_results(call, submit, body.keep);
  if (!kept) co_return std::unexpected(kept.error());
  submit.idempotency_key =
      net::find_header(call.request().headers, "Idempotency-Key").value_or(std::string_view{});
  auto accepted = co_await ask<core::RunAccepted>(call.backend, std::move(submit));
  if (!accepted) co_return std::unexpected(std::move(accepted.error()));
  co_return co_await answer_accepted(call, *std::move(accepted));
}

}  // namespace

Handled answer_accepted(Call& call, core::RunAccepted accepted) {
  const RunId id = accepted.run;
  call.subject = to_text(id);
  Expected<store::RunView> run = store::RunView{};
  if (accepted.row) {
    run = view_of(*accepted.row);
  } else {
    run = co_await read_existing(call, id);
  }
  if (!run) co_return std::unexpected(std::move(run.error()));
  net::Response response = json_answer(
      object_json([&](JsonWriter& json) { write_run(json, *run); }), accepted.existed ? 200 : 201);
  response.headers.emplace_back("Location", "/api/runs/" + to_text(id));
  co_return response;
}

Handled submit_run(Call& call) {
  auto body = co_await read_body(call, read_submit);
  if (!body) co_return std::unexpected(std::move(body.error()));
  co_return co_await submit(call, *std::move(body));
}

Handled submit_named_run(Call& call) {
  auto body = co_await read_body(call, read_submit_named);
  if (!body) co_return std::unexpected(std::move(body.error()));
  body->dag_name = call.text();
  co_return co_await submit(call, *std::move(body));
}

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
  filter.parent = query.run("parent").value_or(RunId{});
  filter.labels = query.labels("label");
  filter.params = query.labels("param");
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("runs", reader.runs(filter, page), write_run);
  });
}

Handled get_run(Call& call) { co_return co_await answer_run(call, call.run()); }

Handled explain_run(Call& call) {
  const RunId id = call.run();
  auto run = co_await fetch(call.backend, [id](store::Reader& reader) { return reader.run(id); });
  if (!run) co_return std::unexpected(std::move(run.error()));
  if (!*run) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  auto standstills = co_await call.backend.standstills(id);
  if (!standstills) co_return std::unexpected(from_unserved(standstills.error()));
  const TaskCounts& counts = (*run)->made;
  const auto of = [&](TaskState state) { return counts[number_of(state)]; };
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().field("run", to_text(id)).field("state", to_text((*run)->state));
    json.field("held", of(TaskState::kScheduled) + of(TaskState::kRunning)).key("standstills");
    write_standstills(json, *standstills);
    json.end_object();
  }));
}

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
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("tasks", reader.tasks(filter, page), write_task);
  });
}

Handled get_run_dag(Call& call) {
  const RunId id = call.run();
  auto json =
      co_await fetch(call.backend, [id](store::Reader& reader) -> store::Result<std::string> {
        const auto run = reader.run(id);
        if (!run) return std::unexpected(run.error());
        if (!*run) return std::string{};
        const auto plan = plan_of_run(reader, **run);
        if (!plan) return std::unexpected(plan.error());
        return *plan ? spec_json(**plan, std::nullopt) : std::string{};
      });
  if (!json) co_return std::unexpected(std::move(json.error()));
  if (json->empty()) co_return std::unexpected(trouble(Code::kNoSuchRun, to_text(id)));
  co_return json_answer(*std::move(json));
}

// Named DAGs: kept under their name, every applied version under its digest.

Handled list_dags(Call& call) {
  QueryReader query(call.request().query);
  const store::PageRequest page = query.page();
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  co_return co_await fetch_answer(call.backend, [&](store::Reader& reader) {
    return page_answer("dags", reader.dags(page), write_dag);
  });
}

namespace {

struct NewDag {
  PlanPtr plan;
  std::string json;  // as it is shown once it is stored
};

Expected<NewDag> read_new_dag(Call& call, Instant now) {
  Expected<PlanPtr> plan = read_plan(call.request().body, call.backend.settings().settings);
  if (!plan) return std::unexpected(std::move(plan.error()));
  const std::string name = call.text();
  if ((*plan)->spec.name != name) {
    return std::unexpected(
        trouble(Code::kDagNameDiffers,
                fmt::format("the path has '{}', but the DAG has '{}'", name, (*plan)->spec.name)));
  }
  std::string json = spec_json(**plan, now);
  return NewDag{*std::move(plan), std::move(json)};
}

}  // namespace

Handled put_dag(Call& call) {
  const Instant now = call.backend.now();
  const auto read = [&call, now] { return read_new_dag(call, now); };
  Expected<Expected<NewDag>> dag = co_await digest(call, read);
  if (!dag) co_return std::unexpected(std::move(dag.error()));
  if (!*dag) co_return std::unexpected(std::move(dag->error()));
  // A schedule starts runs by itself, so it keeps what its sub-DAGs are now; else each run finds
  // the newest ones.
  auto whole = co_await with_stored_dags(call, (*dag)->plan);
  if (!whole) co_return std::unexpected(std::move(whole.error()));
  if ((*dag)->plan->spec.schedule) (*dag)->plan = *std::move(whole);
  const std::string name = call.text();
  auto before =
      co_await fetch(call.backend, [&](store::Reader& reader) { return reader.dag(name); });
  if (!before) co_return std::unexpected(std::move(before.error()));
  core::Command command = core::ApplyDag{{}, (*dag)->plan, call.caller.name};
  const auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(done.error());
  co_return json_answer(std::move((*dag)->json), *before ? 200 : 201);
}

Handled get_dag(Call& call) {
  const std::string name = call.text();
  auto json =
      co_await fetch(call.backend, [&](store::Reader& reader) -> store::Result<std::string> {
        const auto found = find_named(reader, name);
        if (!found) return std::unexpected(found.error());
        return found->plan ? spec_json(*found->plan, found->updated_at) : std::string{};
      });
  if (!json) co_return std::unexpected(std::move(json.error()));
  if (json->empty()) co_return std::unexpected(trouble(Code::kNoSuchDag, name));
  co_return json_answer(*std::move(json));
}

namespace {

struct DagVersion {
  std::uint64_t digest = 0;
  std::uint64_t runs = 0;
  std::optional<store::RunView> first;
  std::optional<store::RunView> last;
};
struct DagVersions {
  std::vector<DagVersion> all;  // the one used last first
  std::optional<std::uint64_t> stored;
  std::uint64_t runs = 0;
  bool complete = true;
};

constexpr std::uint64_t kRunsForVersions = 2'000;
// Runs with long params come a few at a time.
constexpr std::uint32_t kPagesForVersions = 16;

DagVersion& version_of(DagVersions& versions, std::uint64_t digest) {
  const auto known = std::ranges::find(versions.all, digest, &DagVersion::digest);
  if (known != versions.all.end()) return *known;
  DagVersion& fresh = versions.all.emplace_back();
  fresh.digest = digest;
  return fresh;
}

store::Result<DagVersions> read_versions(store::Reader& reader, const std::string& name) {
  DagVersions out;
  const auto stored = reader.dag(name);
  if (!stored) return std::unexpected(stored.error());
  store::RunFilter filter;
  filter.dag = name;
  store::PageRequest page{500, {}};
  std::uint32_t pages = 0;
  do {
    ++pages;
    auto runs = reader.runs(filter, page);
    if (!runs) return std::unexpected(runs.error());
    for (store::RunView& run : runs->items) {
      DagVersion& version = version_of(out, run.dag_digest);
      ++version.runs;
      if (!version.last) version.last = run;
      version.first = std::move(run);
    }
    out.runs += runs->items.size();
    page.cursor = std::move(runs->next_cursor);
  } while (!page.cursor.empty() && out.runs < kRunsForVersions && pages < kPagesForVersions);
  out.complete = page.cursor.empty();
  if (*stored) {
    out.stored = (*stored)->digest;
    version_of(out, *out.stored);
  }
  return out;
}

void write_version(JsonWriter& json, const DagVersion& version, bool stored) {
  json.begin_object().field("digest", digest_text(version.digest)).field("stored", stored);
  json.field("runs", version.runs);
  const auto run = [&](std::string_view id, std::string_view at, const auto& view) {
    json.key(id);
    view ? json.text(to_text(view->id)) : json.null();
    json.key(at);
    view ? json.time(view->created_at) : json.null();
  };
  run("first_run", "first_at", version.first);
  run("last_run", "last_at", version.last);
  json.end_object();
}

}  // namespace

Handled list_dag_versions(Call& call) {
  const std::string name = call.text();
  auto versions = co_await fetch(
      call.backend, [&](store::Reader& reader) { return read_versions(reader, name); });
  if (!versions) co_return std::unexpected(std::move(versions.error()));
  if (versions->all.empty()) co_return std::unexpected(trouble(Code::kNoSuchDag, name));
  co_return json_answer(object_json([&](JsonWriter& json) {
    json.begin_object().key("versions").begin_array();
    for (const DagVersion& version : versions->all) {
      write_version(json, version, versions->stored == version.digest);
    }
    json.end_array().field("runs_looked_at", versions->runs);
    json.field("complete", versions->complete).end_object();
  }));
}

Handled delete_dag(Call& call) {
  const std::string name = call.text();
  auto found =
      co_await fetch(call.backend, [&](store::Reader& reader) { return find_named(reader, name); });
  if (!found) co_return std::unexpected(std::move(found.error()));
  if (!found->plan) co_return std::unexpected(trouble(Code::kNoSuchDag, name));
  core::Command command = core::DeleteDag{{}, name};
  const auto done = co_await ask<core::Done>(call.backend, std::move(command));
  if (!done) co_return std::unexpected(done.error());
  co_return empty_answer();
}

Handled validate_dag(Call& call) {
  const auto check = [&call]() -> Expected<std::string> {
    const auto plan = read_plan(call.request().body, call.backend.settings().settings);
    if (!plan) return std::unexpected(plan.error());
    return object_json([&](JsonWriter& json) { write_dag_check(json, **plan); });
  };
  Expected<Expected<std::string>> json = co_await digest(call, check);
  if (!json) co_return std::unexpected(std::move(json.error()));
  if (!*json) co_return std::unexpected(std::move(json->error()));
  co_return json_answer(**std::move(json));
}

namespace {

// As the command line says it, with the code of each mistake.
Trouble from_complaints(codec::DagComplaints complaints) {
  const codec::DagComplaint& first = complaints.front();
  Trouble out =
      trouble(first.kind ? code_of(*first.kind) : Code::kDagMalformed, first.problem.message);
  if (complaints.size() == 1) out.hint = first.problem.help;
  for (codec::DagComplaint& one : complaints) out.errors.push_back(std::move(one.problem));
  return out;
}

}  // namespace

Handled validate_dag_file(Call& call) {
  QueryReader query(call.request().query);
  const auto word = query.word("syntax", kSyntaxNames);
  if (query.trouble()) co_return std::unexpected(*query.trouble());
  const codec::Syntax syntax = word == 1 ? codec::Syntax::kJson : codec::Syntax::kYaml;
  const auto check = [&call, syntax]() -> Expected<std::string> {
    const DagLimits limits = core::make_policy(call.backend.settings().settings).dag_limits;
    auto plan = codec::check_dag_file(call.request().body, syntax, limits);
    if (!plan) return std::unexpected(from_complaints(std::move(plan.error())));
    return spec_json(**plan, std::nullopt);
  };
  Expected<Expected<std::string>> json = co_await digest(call, check);
  if (!json) co_return std::unexpected(std::move(json.error()));
  if (!*json) co_return std::unexpected(std::move(json->error()));
  co_return json_answer(**std::move(json));
}

}  // namespace vortex::api
