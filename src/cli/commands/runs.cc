// vortex runs: the executions of DAGs, to look at and to wait for.

#include <cstdint>
#include <ctime>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "api/schema/schema.h"
#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/client/api_client.h"
#include "cli/client/submit.h"
#include "cli/client/submit_many.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/run_watch.h"
#include "codec/dag_json.h"
#include "model/check.h"
#include "model/schedule.h"

namespace vortex::cli {
namespace {

// The commands of `vortex runs` that change a run: cancel, pause, resume.
// Added to the tree by runs.cc; nothing else uses this.

using boost::json::object;
using Texts = std::vector<std::string>;

struct RunVerb {
  const char* name;  // also the end of the path
  const char* help;
  const char* done;  // "Run {} paused"
  enum class Danger : bool { kNo, kYes } danger;
};

constexpr RunVerb kRunVerbs[] = {
    {"cancel",
     "Cancel runs: stop running tasks and start no more but those in finally; once these run, "
     "a second cancel stops them",
     "Cancelling run {}", RunVerb::Danger::kYes},
    {"pause", "Pause runs: start no more tasks; running ones continue", "Run {} paused",
     RunVerb::Danger::kNo},
    {"resume", "Resume paused runs", "Run {} resumed", RunVerb::Danger::kNo},
};

ExitCode act_on_runs(const Context& context, const RunVerb& verb, const Texts& texts) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  std::vector<Act> acts;
  for (const std::string& text : texts) {
    const auto run = find_run(**api, text);
    if (!run) return report(run.error());
    const std::string id = text_at(*run, "id");
    if (verb.danger == RunVerb::Danger::kYes) {
      const auto no =
          confirm(context, fmt::format("{} run {} of {}", verb.name, id, text_at(*run, "dag")));
      if (no) return *no;
    }
    acts.push_back({post_request(fmt::format("/api/runs/{}/{}", escaped(id), verb.name)), id,
                    fmt::format(fmt::runtime(verb.done), id)});
  }
  return act_on_all(context, **api, std::move(acts));
}

void add_run_acts(CommandSpec runs, Command& chosen) {
  for (const RunVerb& verb : kRunVerbs) {
    auto texts = std::make_shared<Texts>();
    CommandSpec command = runs.command(verb.name, verb.help);
    command.option("run", *texts, kRunHelp).required();
    command.example(fmt::format("vortex runs {} r42", verb.name));
    command.on_chosen(chosen, [texts, &verb](Context& c) { return act_on_runs(c, verb, *texts); });
  }
}

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
  if (flag_at(run, "waits_for_turn") && text_at(run, "state") == "Running") {
    return {state_text("Waiting", look), tone_of_state("Waiting")};
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

Cell parent_cell(const object& run, const Look& /*look*/) {
  const std::string parent = text_at(run, "parent");
  if (parent.empty()) return {};
  return {parent + "/" + text_at(run, "parent_task"), Tone::kPlain};
}

constexpr ListColumn kRunColumns[] = {
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
    {"SLOT", [](const object& o, const Look&) { return plain_cell(o, "slot"); }, Align::kLeft,
     Shown::kWide},
    {"PARENT", parent_cell, Align::kLeft, Shown::kWide, Shrinks::kMay},
    {"LABELS", labels_cell, Align::kLeft, Shown::kWide, Shrinks::kMay},
    {"KEY", [](const object& o, const Look&) { return plain_cell(o, "idempotency_key"); },
     Align::kLeft, Shown::kWide, Shrinks::kMay},
    {"DIGEST", [](const object& o, const Look&) { return plain_cell(o, "dag_digest"); },
     Align::kLeft, Shown::kWide},
};
constexpr Listing kRuns{"runs", "runs", name_by_id, kRunColumns};

struct RunFilter {
  ListOptions page;
  std::string state;
  std::string dag;
  std::string parent;
  std::vector<std::string> labels;
  std::vector<std::string> params;
};

ExitCode list_runs(const Context& context, const RunFilter& filter) {
  QueryItems query{{"state", filter.state}, {"dag", filter.dag}, {"parent", filter.parent}};
  for (const std::string& label : filter.labels) query.emplace_back("label", label);
  for (const std::string& param : filter.params) query.emplace_back("param", param);
  return list(context, kRuns, with_query("/api/runs", query), filter.page);
}

// What waits for somebody outside, and the commands that answer.
void add_waits(Record& record, const object& why, const Look& look) {
  for (const auto& item : list_at(why, "standstills")) {
    if (!item.is_object()) continue;
    const object& one = item.get_object();
    for (const auto& obstacle : list_at(one, "obstacles")) {
      if (!obstacle.is_object()) continue;
      const std::string reason = text_at(obstacle.get_object(), "reason");
      const bool limits = reason == "no_such_limit" || reason == "limit_full";
      if (!reason.starts_with("waits_for_") && !limits) continue;
      std::string what = text_at(obstacle.get_object(), "what");
      if (time_at(one, "moves_at")) {
        what += fmt::format("; times out {}", time_cell(one, "moves_at", look).text);
      }
      record.add("waits", what, Tone::kStrong);
      record.add("", text_at(obstacle.get_object(), "action"));
    }
  }
}

// The runs of its sub-DAGs, the newest first.
void add_children(Record& record, const object& children, const Look& look) {
  constexpr std::size_t kShownMax = 10;
  std::size_t shown = 0;
  for (const auto& item : list_at(children, "runs")) {
    if (!item.is_object()) continue;
    if (++shown > kShownMax) {
      record.add("", "... more: vortex runs list --parent RUN");
      break;
    }
    const object& child = item.get_object();
    record.add(shown == 1 ? "children" : "",
               fmt::format("{} {} ({}) {}", text_at(child, "id"), text_at(child, "parent_task"),
                           text_at(child, "dag"), run_state_cell(child, look).text),
               tone_of_state(text_at(child, "state")));
  }
}

std::string run_record(const object& run, const object& why, const object& children,
                       const Look& look) {
  Record record;
  const Cell state = run_state_cell(run, look);
  record.add("run", text_at(run, "id")).add("dag", text_at(run, "dag"));
  if (const std::string parent = parent_cell(run, look).text; !parent.empty()) {
    record.add("parent", parent);
  }
  record.add("state", state.text, state.tone);
  if (text_at(run, "ending") != "none") record.add("ending", text_at(run, "ending"));
  if (const std::string reason = text_at(run, "reason"); !reason.empty()) {
    record.add("reason", reason);
  }
  if (const std::string group = text_at(run, "group"); !group.empty()) record.add("group", group);
  record.add("created", fmt::format("{} ({})", text_at(run, "created_at"),
                                    time_cell(run, "created_at", look).text));
  const std::string starts = text_at(run, "starts_at");
  if (!starts.empty() && text_at(run, "state") == "Running") {
    record.add("starts", fmt::format("{} ({})", starts, time_cell(run, "starts_at", look).text));
  }
  if (const std::string earlier = text_at(run, "rerun_of"); !earlier.empty()) {
    record.add("rerun of", earlier);
  }
  if (const std::string schedule = text_at(run, "schedule"); !schedule.empty()) {
    const std::string slot = text_at(run, "slot");
    record.add("schedule", slot.empty() ? schedule + " (triggered)" : schedule);
    if (!slot.empty()) record.add("slot", slot);
  }
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
  add_children(record, children, look);
  add_waits(record, why, look);
  return record.text(look);
}

ExitCode show_run(const Context& context, const std::string& text) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto run = find_run(**api, text);
  if (!run) return report(run.error());
  const Look look = look_at(context, STDOUT_FILENO);
  const std::string id = text_at(*run, "id");
  object why;
  if (text_at(*run, "state") == "Running" && !wants_json(context)) {
    const auto answer = (*api)->get(fmt::format("/api/runs/{}/explain", escaped(id)));
    if (answer) why = answer->object();
  }
  object children;
  if (!wants_json(context)) {
    const auto answer = (*api)->get(fmt::format("/api/runs?parent={}&limit=11", escaped(id)));
    if (answer) children = answer->object();
  }
  return show_one(context, *run, {id, run_record(*run, why, children, look)});
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

void add_run_list(CommandSpec runs, Command& chosen) {
  auto filter = std::make_shared<RunFilter>();
  CommandSpec command = runs.command("list", "List runs, newest first");
  command
      .option("--state", filter->state,
              "Only runs in this state: Running, Completed, Failed or Cancelled")
      .value_name("STATE");
  command.option("--dag", filter->dag, "Only runs of the DAG with this name").value_name("NAME");
  command.option("--parent", filter->parent, "Only sub-DAGs of this run").value_name("RUN");
  command.option("--label", filter->labels, "Only runs with this label; repeat for more")
      .value_name("KEY=VALUE")
      .one_word();
  command.option("--param", filter->params, "Only runs with this param; repeat for more")
      .value_name("NAME=VALUE")
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
      app.command("runs", "Manage runs: list, show, watch, wait, cancel, retry, approve")
          .group(kLook);
  runs.needs_command();
  runs.example("vortex runs list\nvortex runs watch @last");
  add_run_list(runs, chosen);
  auto text = std::make_shared<std::string>();
  CommandSpec one = runs.command("show", "Show a run");
  one.option("run", *text, kRunHelp).required();
  one.example("vortex runs show @last-failed");
  one.on_chosen(chosen, [text](Context& c) { return show_run(c, *text); });
  add_watch(runs, chosen);
  add_run_acts(runs, chosen);
  add_run_again(runs, chosen);
  add_run_answers(runs, chosen);
}

// vortex run: submit a DAG file and watch it until it ends.

namespace {

struct RunFlags {
  std::string file;
  std::vector<std::string> params;
  std::vector<std::string> labels;
  std::string key;
  std::string each;
  bool detach = false;
  bool dry_run = false;
  Duration limit;
  std::string at;
  Duration in;
  std::string keep_of;
};

std::string said_of(const WaitSpec& wait) {
  if (wait.kind == WaitKind::kFor) return "for " + short_text(wait.length);
  if (wait.kind == WaitKind::kUntil) return "until " + wait.until.text;
  if (wait.kind == WaitKind::kSignal) return "for signal " + wait.text;
  return fmt::format("for approval \"{}\"", wait.text);
}

// The DAG that a task runs as a child, with what is known of it.
std::string child_text(const DagPlan& plan, std::uint32_t node) {
  const auto& child = plan.nodes[node].child;
  if (!child) return {};
  const std::string& name = plan.node_spec(node).child->dag;
  if (!child->plan) return fmt::format("  runs DAG {} (stored)", name);
  return fmt::format("  runs DAG {}: {}", name, counted(child->plan->tasks, "task"));
}

// What would run, level by level, without telling anybody.
ExitCode show_plan(const DagPlan& plan) {
  const std::uint32_t late = plan.base->late_maps;
  print(fmt::format("{}: {}{} in {}\n", plan.spec.name, counted(plan.tasks, "task"),
                    late == 0 ? "" : fmt::format(" and {} made at run time", counted(late, "map")),
                    counted(plan.levels, "level")));
  if (plan.spec.schedule) print(fmt::format("  schedule: {}\n", in_words(*plan.spec.schedule)));
  for (std::uint32_t level = 0; level < plan.levels; ++level) {
    print(fmt::format("  level {}\n", level));
    for (const std::uint32_t node : plan.nodes_by_level[level]) {
      const NodeSpec& spec = plan.node_spec(node);
      std::string tasks;
      if (plan.is_late(node)) {
        tasks = " over " + std::get<MapOver>(spec.map->over).text;
      } else if (spec.map) {
        tasks = fmt::format(" x{}", plan.tasks_of(node));
      }
      print(fmt::format(
          "    {}{}{}{}{}{}\n", spec.name, tasks, child_text(plan, node),
          spec.wait ? "  waits " + said_of(*spec.wait) : "",
          spec.needs.empty() ? "" : fmt::format("  needs {}", fmt::join(spec.needs, ", ")),
          spec.finally ? "  finally" : ""));
    }
  }
  for (const auto& dag : plan.spec.dags) {
    print(fmt::format("  sub-DAG {}: {}\n", dag->name, counted(dag->nodes.size(), "task")));
    for (const NodeSpec& node : dag->nodes) {
      print(fmt::format(
          "    {}{}{}{}\n", node.name, node.child ? "  runs DAG " + node.child->dag : "",
          node.map ? "  map" : "",
          node.needs.empty() ? "" : fmt::format("  needs {}", fmt::join(node.needs, ", "))));
    }
  }
  return ExitCode::kOk;
}

// Every line gives its own params and labels, and nobody watches thousands of runs.
ExitCode run_each(const Context& context, const DagPlan& plan, const RunFlags& flags) {
  const char* other = !flags.params.empty()    ? "-p"
                      : !flags.labels.empty()  ? "--label"
                      : flags.limit.us > 0     ? "--wait"
                      : flags.dry_run          ? "--dry-run"
                      : !flags.at.empty()      ? "--at"
                      : flags.in.us > 0        ? "--in"
                      : !flags.keep_of.empty() ? "--keep-of"
                                               : nullptr;
  if (other != nullptr) {
    complain(fmt::format("{} cannot be combined with --each", other),
             R"(write params and labels into each line: {"params": {...}, "labels": {...}})");
    return ExitCode::kUsage;
  }
  return submit_many(context, plan, {.each = flags.each, .key = flags.key});
}

// A time without a zone is one of the clock on this machine.
std::optional<Instant> written_moment(const std::string& text) {
  const auto time = parse_written_time(text, DayEnd::kFirst);
  if (!time) return std::nullopt;
  if (!time->local) return Instant{time->seconds * seconds(1).us};
  const std::time_t shown = time->seconds;
  std::tm fields{};
  if (gmtime_r(&shown, &fields) == nullptr) return std::nullopt;
  fields.tm_isdst = -1;
  const std::time_t moment = std::mktime(&fields);
  if (moment == -1) return std::nullopt;
  return Instant{std::int64_t{moment} * seconds(1).us};
}

// When the run is to start, in UTC; empty: at once. The outer error has been said.
std::expected<std::string, ExitCode> start_of(const RunFlags& flags) {
  const auto usage = [](std::string what, std::string help) {
    complain(std::move(what), std::move(help));
    return std::unexpected(ExitCode::kUsage);
  };
  if (flags.at.empty() && flags.in.us == 0) return std::string();
  if (!flags.at.empty() && flags.in.us > 0) return usage("--at and --in are both given", "use one");
  if (!flags.keep_of.empty()) {
    return usage("a run that starts later cannot keep results of another",
                 "leave out --keep-of, or start it now");
  }
  const Instant now = wall_clock_now();
  if (flags.at.empty()) return slot_text(now + flags.in + seconds(1) - micros(1));
  const auto at = written_moment(flags.at);
  if (!at) {
    return usage(fmt::format("--at is '{}', which is not a date or time", flags.at),
                 "write 2026-03-01T02:30:00 (on this machine's clock) or 2026-03-01T02:30:00Z");
  }
  if (*at > now) return slot_text(*at);
  return usage(fmt::format("--at is {}, which has passed", slot_text(*at)),
               "leave it out to start the run now");
}

ExitCode run(const Context& context, const RunFlags& flags) {
  const auto plan = load_dag_plan(context, flags.file);
  if (!plan) return plan.error();
  if (!flags.each.empty()) return run_each(context, **plan, flags);
  auto params = params_from((*plan)->spec, flags.params);
  if (!params) return params.error();
  if (flags.dry_run) return show_plan(**plan);
  auto api = ApiClient::open(context);
  if (!api) return api.error();
  SubmitRequest request;
  request.dag_json = codec::write_dag((*plan)->spec);
  request.params_json = *std::move(params);
  request.labels = flags.labels;
  request.key = flags.key;
  const auto starts_at = start_of(flags);
  if (!starts_at) return starts_at.error();
  request.starts_at = *starts_at;
  if (!flags.keep_of.empty()) {
    const auto earlier = find_run(**api, flags.keep_of);
    if (!earlier) return report(earlier.error());
    request.keep_of = text_at(*earlier, "id");
  }
  const bool keeps = !request.keep_of.empty();
  const auto made = submit_run(**api, std::move(request));
  if (!made) return made.error();
  const std::string run_id = text_at(*made, "id");
  if (keeps && !context.quiet) talk(kept_text(*made));
  // Nobody watches for hours that nothing happens.
  const std::string later = text_at(*made, "starts_at");
  if (flags.detach || !later.empty()) {
    print(run_id + "\n");
    if (context.quiet) return ExitCode::kOk;
    if (!later.empty()) talk(fmt::format("{} starts at {}", run_id, later));
    talk(fmt::format("Watch it with:  vortex runs watch {}", run_id));
    return ExitCode::kOk;
  }
  if (!context.quiet) talk(fmt::format("{} submitted as {}", (*plan)->spec.name, run_id));
  WatchOptions watch;
  watch.limit = flags.limit;
  const ExitCode end = watch_run(context, **api, run_id, watch);
  if (wants_json(context)) {
    const auto last = (*api)->get("/api/runs/" + escaped(run_id));
    if (last) print(context.output == Output::kJson ? pretty_json(last->json) : last->text);
  }
  return end;
}

}  // namespace

void add_run(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("run", "Submit a DAG file and watch it until it ends");
  command.group(kRunThings);
  auto flags = std::make_shared<RunFlags>();
  command.option("file", flags->file, "DAG file, YAML or JSON").required();
  command.option("-p,--param", flags->params, "Param of the run, NAME=VALUE; repeat for more");
  command.option("-l,--label", flags->labels, "Label of the run, NAME=VALUE; repeat for more");
  command.option("--idempotency-key", flags->key,
                 "Repeating the command with the same key does not start another run");
  command
      .option("--each", flags->each,
              "Start one run for each line of a file of JSON lines and print their ids; each line "
              "is an object with params, labels and idempotency_key, all optional")
      .value_name("LINES");
  command.flag("-d,--detach", flags->detach, "Print the run's id without waiting");
  command.flag("--dry-run", flags->dry_run,
               "Check everything and show the plan without submitting");
  command.duration("--wait", flags->limit, "Wait at most this long, then exit 9");
  command.option("--at", flags->at, "Start the run at this time, and print its id without waiting")
      .value_name("TIME");
  command.duration("--in", flags->in, "Start the run after this long, like --at");
  command
      .option("--keep-of", flags->keep_of,
              "Keep the results of an earlier run that are still valid")
      .value_name("RUN");
  command.example(
      "vortex run thumbs.yaml -p dir=/srv/photos\n"
      "vortex run nightly.yaml --at 2026-02-22T02:00:00\n"
      "vortex run train.yaml --keep-of @last-failed\n"
      "vortex run nightly.yaml --detach --idempotency-key nightly-2026-02-22\n"
      "vortex run sync.yaml --each customers.jsonl");
  command.on_chosen(chosen, [flags](Context& context) { return run(context, *flags); });
}

}  // namespace vortex::cli
