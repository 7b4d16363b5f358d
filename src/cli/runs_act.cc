#include "cli/runs_act.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/act.h"
#include "cli/arguments.h"
#include "cli/command_spec.h"
#include "cli/confirm.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"
#include "cli/progress.h"

namespace vortex::cli {
namespace {

using boost::json::object;
using Texts = std::vector<std::string>;

struct Verb {
  const char* name;  // also the end of the path
  const char* help;
  const char* done;  // "Run {} paused"
  enum class Danger : bool { kNo, kYes } danger;
};

constexpr Verb kVerbs[] = {
    {"cancel", "Cancel runs: stop running tasks and start no more", "Cancelling run {}",
     Verb::Danger::kYes},
    {"pause", "Pause runs: start no more tasks; running ones continue", "Run {} paused",
     Verb::Danger::kNo},
    {"resume", "Resume paused runs", "Run {} resumed", Verb::Danger::kNo},
};

ExitCode act_on_runs(const Context& context, const Verb& verb, const Texts& texts) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  std::vector<Act> acts;
  for (const std::string& text : texts) {
    const auto run = find_run(**api, text);
    if (!run) return report(run.error());
    const std::string id = text_at(*run, "id");
    if (verb.danger == Verb::Danger::kYes) {
      const auto no =
          confirm(context, fmt::format("{} run {} of {}", verb.name, id, text_at(*run, "dag")));
      if (no) return *no;
    }
    acts.push_back({post_request(fmt::format("/api/runs/{}/{}", escaped(id), verb.name)), id,
                    fmt::format(fmt::runtime(verb.done), id)});
  }
  return act_on_all(context, **api, std::move(acts));
}

struct Again {
  std::string run;
  bool watch = false;
};

ExitCode nothing_failed(const std::string& id) {
  complain(fmt::format("run {} has no failed tasks", id),
           fmt::format("`vortex runs rerun {}` starts a new run of the same DAG", id));
  return ExitCode::kConflict;
}

// The dead-letter queue holds the same tasks: running one again closes its letter.
ExitCode retry(const Context& context, const Again& again) {
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

ExitCode rerun(const Context& context, const Again& again) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto run = find_run(**api, again.run);
  if (!run) return report(run.error());
  const std::string id = text_at(*run, "id");
  const auto dag = (*api)->get(fmt::format("/api/runs/{}/dag", escaped(id)));
  if (!dag) return report(dag.error());
  const object body{{"dag", dag->object().at("spec")},
                    {"params", object_at(*run, "params")},
                    {"labels", object_at(*run, "labels")}};
  ApiRequest request = post_request("/api/runs", compact_json(body));
  request.headers.emplace_back("Idempotency-Key", fresh_idempotency_key());
  const auto made = (*api)->call(std::move(request));
  if (!made) return report(made.error());
  const std::string fresh = text_at(made->object(), "id");
  if (!context.quiet) talk(fmt::format("Started {} as a rerun of {}", fresh, id));
  show_one(context, made->json, {fresh, fresh + "\n"});
  return again.watch ? watch_run(context, **api, fresh, {}) : ExitCode::kOk;
}

void add_again(CommandSpec runs, Command& chosen) {
  auto again = std::make_shared<Again>();
  CommandSpec failed = runs.command(
      "retry", "Retry all failed tasks of a run, and the tasks skipped because of them");
  failed.option("run", again->run, kRunHelp).required();
  failed.flag("--watch", again->watch, "Watch the run until it ends");
  failed.example("vortex runs retry @last-failed --watch");
  failed.on_chosen(chosen, [again](Context& c) { return retry(c, *again); });
  CommandSpec anew = runs.command("rerun", "Start a new run with the same DAG and params");
  anew.option("run", again->run, kRunHelp).required();
  anew.flag("--watch", again->watch, "Watch the run until it ends");
  anew.example("vortex runs rerun r42 --watch");
  anew.on_chosen(chosen, [again](Context& c) { return rerun(c, *again); });
}

}  // namespace

void add_run_acts(CommandSpec runs, Command& chosen) {
  for (const Verb& verb : kVerbs) {
    auto texts = std::make_shared<Texts>();
    CommandSpec command = runs.command(verb.name, verb.help);
    command.option("run", *texts, kRunHelp).required();
    command.example(fmt::format("vortex runs {} r42", verb.name));
    command.on_chosen(chosen, [texts, &verb](Context& c) { return act_on_runs(c, verb, *texts); });
  }
  add_again(runs, chosen);
}

}  // namespace vortex::cli
