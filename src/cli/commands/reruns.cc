// vortex runs retry and rerun: failed tasks once more, or the whole run, keeping what is still
// valid.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/run_watch.h"
#include "codec/dag_json.h"

namespace vortex::cli {
namespace {

using boost::json::object;

struct Again {
  std::string run;
  bool watch = false;
  bool keep = false;
  bool from_failed = false;
  std::vector<std::string> from;
  std::vector<std::string> params;
};

ExitCode nothing_failed(const std::string& id) {
  complain(fmt::format("run {} has no failed tasks", id),
           fmt::format("`vortex runs rerun {}` starts a new run of the same DAG", id));
  return ExitCode::kConflict;
}

// The dead-letter queue holds the same tasks: running one again closes its letter.
ExitCode retry_in_place(const Context& context, const Again& again) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto run = find_run(**api, again.run);
  if (!run) return report(run.error());
  const std::string id = text_at(*run, "id");
  const std::string failed = fmt::format("/api/runs/{}/tasks?state=Failed", escaped(id));
  const auto tasks = fetch_all(**api, failed, "tasks", {.limit = 0, .all = true});
  if (!tasks) return report(tasks.error());
  if (tasks->items.empty()) return nothing_failed(id);
  boost::json::array revived;
  for (const auto& task : tasks->items) {
    const std::string task_id = text_at(task.as_object(), "id");
    auto answer = (*api)->post(fmt::format("/api/tasks/{}/retry", escaped(task_id)));
    if (!answer) return report(answer.error());
    revived.push_back(std::move(answer->json));
  }
  if (wants_json(context)) {
    show_one(context, object{{"run", id}, {"tasks", revived}}, {});
  } else if (context.output == Output::kName) {
    for (const auto& task : tasks->items) print(text_at(task.as_object(), "id") + "\n");
  } else if (!context.quiet) {
    talk(fmt::format("Retrying {} of run {}", counted(tasks->items.size(), "failed task"), id));
  }
  return again.watch ? watch_run(context, **api, id, {}) : ExitCode::kOk;
}

// The params that are given, by their declared types; "{}": none.
std::expected<std::string, ExitCode> changed_params(ApiClient& api, const std::string& run,
                                                    const std::vector<std::string>& given) {
  if (given.empty()) return "{}";
  const auto dag = api.get(fmt::format("/api/runs/{}/dag", escaped(run)));
  if (!dag) return std::unexpected(report(dag.error()));
  const auto spec = codec::read_dag(compact_json(dag->object().at("spec")));
  if (spec) return some_params(*spec, given);
  complain(fmt::format("this version of vortex cannot read the DAG of run {}", run),
           "use the version of the controller");
  return std::unexpected(ExitCode::kInvalid);
}

ExitCode rerun(const Context& context, const Again& again) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto run = find_run(**api, again.run);
  if (!run) return report(run.error());
  const std::string id = text_at(*run, "id");
  const auto params = changed_params(**api, id, again.params);
  if (!params) return params.error();
  const bool keeps = again.keep || again.from_failed || !again.from.empty();
  object body{{"params", boost::json::parse(*params)}, {"keep", keeps}};
  if (!again.from.empty()) {
    body["again"] = boost::json::array(again.from.begin(), again.from.end());
  }
  ApiRequest request =
      post_request(fmt::format("/api/runs/{}/rerun", escaped(id)), compact_json(body));
  request.headers.emplace_back("Idempotency-Key", fresh_idempotency_key());
  const auto made = (*api)->call(std::move(request));
  if (!made) return report(made.error());
  const std::string fresh = text_at(made->object(), "id");
  if (!context.quiet) {
    std::string said = fmt::format("Started {} as a rerun of {}", fresh, id);
    if (keeps) said += "; " + kept_text(made->object());
    talk(said);
  }
  show_one(context, made->json, {fresh, fresh + "\n"});
  return again.watch ? watch_run(context, **api, fresh, {}) : ExitCode::kOk;
}

ExitCode retry(const Context& context, const Again& again) {
  const bool anew = again.from_failed || !again.from.empty();
  return anew ? rerun(context, again) : retry_in_place(context, again);
}

}  // namespace

std::string kept_text(const object& run) {
  const auto kept = static_cast<std::uint64_t>(number_at(object_at(run, "counts"), "Completed"));
  return kept == 0 ? std::string("no results kept") : counted(kept, "result") + " kept";
}

void add_run_again(CommandSpec runs, Command& chosen) {
  auto failed = std::make_shared<Again>();
  CommandSpec once_more = runs.command(
      "retry", "Retry all failed tasks of a run, and the tasks skipped because of them");
  once_more.option("run", failed->run, kRunHelp).required();
  once_more.flag("--from-failed", failed->from_failed,
                 "In a new run, keeping the results that are still valid");
  once_more
      .option("--from", failed->from,
              "In a new run: run this task and everything behind it again and keep the other "
              "results; repeat for more")
      .value_name("TASK")
      .one_word();
  once_more.flag("--watch", failed->watch, "Watch the run until it ends");
  once_more.example(
      "vortex runs retry @last-failed --watch\n"
      "vortex runs retry r42 --from train");
  once_more.on_chosen(chosen, [failed](Context& c) { return retry(c, *failed); });

  auto whole = std::make_shared<Again>();
  CommandSpec anew = runs.command("rerun", "Start a new run with the same DAG and params");
  anew.option("run", whole->run, kRunHelp).required();
  anew.option("-p,--param", whole->params, "Param that changes, NAME=VALUE; repeat for more");
  anew.flag("--keep", whole->keep, "Keep the results of the run that are still valid");
  anew.option("--from", whole->from,
              "Keep results, but run this task and everything behind it again; repeat for more")
      .value_name("TASK")
      .one_word();
  anew.flag("--watch", whole->watch, "Watch the run until it ends");
  anew.example(
      "vortex runs rerun r42 --watch\n"
      "vortex runs rerun r42 -p threshold=0.8 --keep");
  anew.on_chosen(chosen, [whole](Context& c) { return rerun(c, *whole); });
}

}  // namespace vortex::cli
