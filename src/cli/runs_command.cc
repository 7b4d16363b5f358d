// vortex runs: the executions of DAGs, to look at and to wait for.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "api/schema.h"
#include "cli/arguments.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/runs_act.h"

namespace vortex::cli {
namespace {

using boost::json::object;

std::int64_t count_of(const object& run, std::string_view state) {
  return number_at(object_at(run, "counts"), state);
}

std::int64_t ended_of(const object& run) {
  return count_of(run, "Completed") + count_of(run, "Failed") + count_of(run, "Cancelled") +
         count_of(run, "Skipped");
}

Cell run_state_cell(const object& run, const Look& look) {
  if (flag_at(run, "paused") && text_at(run, "state") == "Running") {
    return {state_text("Paused", look), tone_of_state("Paused")};
  }
  return state_cell(run, "state", look);
}

Cell failed_cell(const object& run, const Look& /*look*/) {
  const std::int64_t failed = count_of(run, "Failed");
  return {std::to_string(failed), failed > 0 ? Tone::kBad : Tone::kDim};
}

// How long it took, or has taken so far.
Cell took_cell(const object& run, const Look& look) {
  const auto begin = time_at(run, "created_at");
  if (!begin) return {};
  const Instant end = time_at(run, "finished_at").value_or(look.now);
  return {human_duration(std::max(end - *begin, Duration{})), Tone::kPlain};
}

Cell labels_cell(const object& run, const Look& /*look*/) {
  std::vector<std::string> labels;
  for (const auto& label : object_at(run, "labels")) {
    labels.push_back(fmt::format("{}={}", std::string_view(label.key()), text_of(label.value())));
  }
  return {fmt::format("{}", fmt::join(labels, ",")), Tone::kPlain};
}

constexpr ListColumn kColumns[] = {
    {"RUN", [](const object& o, const Look&) { return plain_cell(o, "id"); }},
    {"DAG", [](const object& o, const Look&) { return plain_cell(o, "dag"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"STATE", run_state_cell},
    {"DONE",
     [](const object& o, const Look&) {
       return Cell{fmt::format("{}/{}", ended_of(o), number_at(o, "tasks")), Tone::kPlain};
     },
     Align::kRight},
    {"FAILED", failed_cell, Align::kRight},
    {"CREATED", [](const object& o, const Look& l) { return time_cell(o, "created_at", l); }},
    {"TOOK", took_cell, Align::kRight},
    {"LABELS", labels_cell, Align::kLeft, Shown::kWide, Shrinks::kMay},
    {"KEY", [](const object& o, const Look&) { return plain_cell(o, "idempotency_key"); },
     Align::kLeft, Shown::kWide, Shrinks::kMay},
    {"DIGEST", [](const object& o, const Look&) { return plain_cell(o, "dag_digest"); },
     Align::kLeft, Shown::kWide},
};
constexpr Listing kRuns{"runs", "runs", name_by_id, kColumns};

struct Filter {
  ListOptions page;
  std::string state;
  std::string dag;
  std::vector<std::string> labels;
};

ExitCode list_runs(const Context& context, const Filter& filter) {
  QueryItems query{{"state", filter.state}, {"dag", filter.dag}};
  for (const std::string& label : filter.labels) query.emplace_back("label", label);
  return list(context, kRuns, with_query("/api/runs", query), filter.page);
}

std::string record_of(const object& run, const Look& look) {
  Record record;
  const Cell state = run_state_cell(run, look);
  record.add("run", text_at(run, "id")).add("dag", text_at(run, "dag"));
  record.add("state", state.text, state.tone);
  if (text_at(run, "ending") != "none") record.add("ending", text_at(run, "ending"));
  record.add("created", fmt::format("{} ({})", text_at(run, "created_at"),
                                    time_cell(run, "created_at", look).text));
  record.add("took", took_cell(run, look).text);
  record.add("tasks", fmt::format("{} of {} ended", ended_of(run), number_at(run, "tasks")));
  for (const std::string_view name : words_of<TaskState>()) {
    if (count_of(run, name) > 0) {
      record.add("  " + std::string(name), std::to_string(count_of(run, name)),
                 tone_of_state(name));
    }
  }
  record.add("levels", fmt::format("{} of {} passed", number_at(run, "levels_passed"),
                                   number_at(run, "levels")));
  const std::string labels = labels_cell(run, look).text;
  if (!labels.empty()) record.add("labels", labels);
  const std::string params = text_at(run, "params");
  if (!params.empty() && params != "{}") record.add("params", params);
  return record.text(look);
}

ExitCode show(const Context& context, const std::string& text) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto run = find_run(**api, text);
  if (!run) return report(run.error());
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, *run, {text_at(*run, "id"), record_of(*run, look)});
}

struct Watched {
  std::string run;
  WatchOptions options;
};

ExitCode watch(const Context& context, const Watched& watched) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto run = find_run(**api, watched.run);
  if (!run) return report(run.error());
  return watch_run(context, **api, text_at(*run, "id"), watched.options);
}

void add_list(CommandSpec runs, Command& chosen) {
  auto filter = std::make_shared<Filter>();
  CommandSpec command = runs.command("list", "List runs, newest first");
  command
      .option("--state", filter->state,
              "Only runs in this state: Running, Completed, Failed or Cancelled")
      .value_name("STATE");
  command.option("--dag", filter->dag, "Only runs of the DAG with this name").value_name("NAME");
  command.option("--label", filter->labels, "Only runs with this label; repeat for more")
      .value_name("KEY=VALUE")
      .one_word();
  add_list_options(command, filter->page);
  command.example("vortex runs list --state Failed --label team=images");
  command.on_chosen(chosen, [filter](Context& c) { return list_runs(c, *filter); });
}

void add_watch(CommandSpec runs, Command& chosen) {
  auto shown = std::make_shared<Watched>();
  CommandSpec command =
      runs.command("watch", "Watch a run with progress bars until it ends; exit 8 if it fails");
  command.option("run", shown->run, kRunHelp).required();
  command.duration("--timeout", shown->options.limit, "Stop watching after this long (exit 9)");
  command.example("vortex runs watch @last");
  command.on_chosen(chosen, [shown](Context& c) { return watch(c, *shown); });

  auto silent = std::make_shared<Watched>();
  silent->options.view = WatchView::kSilent;
  CommandSpec wait = runs.command(
      "wait", "Wait until a run ends; exit 0 if completed, 8 failed, 10 cancelled, 9 timed out");
  wait.option("run", silent->run, kRunHelp).required();
  wait.duration("--timeout", silent->options.limit, "Give up after this long (exit 9)");
  wait.example("vortex runs wait r42 --timeout 10m");
  wait.on_chosen(chosen, [silent](Context& c) { return watch(c, *silent); });
}

}  // namespace

void add_runs(CommandSpec app, Command& chosen) {
  CommandSpec runs =
      app.command("runs", "Manage runs: list, show, watch, wait, cancel, retry").group(kLook);
  runs.needs_command();
  runs.example("vortex runs list\nvortex runs watch @last");
  add_list(runs, chosen);
  auto text = std::make_shared<std::string>();
  CommandSpec one = runs.command("show", "Show a run");
  one.option("run", *text, kRunHelp).required();
  one.example("vortex runs show @last-failed");
  one.on_chosen(chosen, [text](Context& c) { return show(c, *text); });
  add_watch(runs, chosen);
  add_run_acts(runs, chosen);
}

}  // namespace vortex::cli
