// vortex tasks: the tasks of runs, why they are where they are, and what can be done to them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/run_watch.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

using boost::json::object;
using Texts = std::vector<std::string>;

Cell worker_cell(const object& task, const Look& /*look*/) { return plain_cell(task, "worker"); }

constexpr ListColumn kTaskColumns[] = {
    {"TASK", [](const object& o, const Look&) { return plain_cell(o, "id"); }},
    {"NAME", [](const object& o, const Look&) { return plain_cell(o, "node"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"STATE", [](const object& o, const Look& l) { return state_cell(o, "state", l); }},
    {"TRIES", [](const object& o, const Look&) { return plain_cell(o, "attempts"); },
     Align::kRight},
    {"WORKER", worker_cell, Align::kLeft, Shown::kAlways, Shrinks::kMay},
    {"CHANGED", [](const object& o, const Look& l) { return time_cell(o, "updated_at", l); }},
    {"PERCENT", [](const object& o, const Look&) { return plain_cell(o, "percent"); },
     Align::kRight, Shown::kWide},
    {"STEP", [](const object& o, const Look&) { return plain_cell(o, "step"); }, Align::kLeft,
     Shown::kWide, Shrinks::kMay},
    {"EPOCH", [](const object& o, const Look&) { return plain_cell(o, "epoch"); }, Align::kRight,
     Shown::kWide},
    {"CRASHES", [](const object& o, const Look&) { return plain_cell(o, "crashes"); },
     Align::kRight, Shown::kWide},
    {"ERROR", [](const object& o, const Look&) { return plain_cell(o, "error_message"); },
     Align::kLeft, Shown::kAlways, Shrinks::kMay},
};
constexpr Listing kTasks{"tasks", "tasks", name_by_id, kTaskColumns};

struct TaskListFilter {
  ListOptions page;
  std::string run;
  std::string state;
  std::string node;
  std::string worker;
};

ExitCode list_tasks(const Context& context, const TaskListFilter& filter) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  std::string run;
  if (!filter.run.empty()) {
    const auto found = find_run(**api, filter.run);
    if (!found) return report(found.error());
    run = text_at(*found, "id");
  }
  const std::string target = with_query(
      "/api/tasks",
      {{"run", run}, {"state", filter.state}, {"node", filter.node}, {"worker", filter.worker}});
  const auto fetched = fetch_all(**api, target, "tasks", filter.page);
  if (!fetched) return report(fetched.error());
  return show_list(context, kTasks, *fetched);
}

std::string command_text(const object& command) {
  std::vector<std::string> words;
  for (const auto& word : list_at(command, "argv")) words.push_back(text_of(word));
  return fmt::format("{}", fmt::join(words, " "));
}

void add_counters(Record& record, const object& task) {
  record.add("tries", fmt::format("{}: {} failed, {} crashed, {} stalled, {} released",
                                  number_at(task, "attempts"), number_at(task, "failures"),
                                  number_at(task, "crashes"), number_at(task, "stalls"),
                                  number_at(task, "releases")));
}

std::string task_record(const object& task, const Look& look) {
  Record record;
  record.add("task", text_at(task, "id")).add("name", text_at(task, "node"));
  record.add("dag", text_at(task, "dag"));
  const Cell state = state_cell(task, "state", look);
  record.add("state", state.text, state.tone);
  const auto add_if = [&](const char* name, const char* key) {
    const std::string value = text_at(task, key);
    if (!value.empty()) record.add(name, value);
  };
  record.add("command", command_text(object_at(task, "command")));
  const object& item = object_at(task, "map");
  if (!item.empty()) {
    record.add("item", fmt::format("[{}] {}", number_at(item, "index"), text_at(item, "item")));
  }
  add_if("worker", "worker");
  add_if("queue", "queue");
  add_if("epoch", "epoch");
  add_counters(record, task);
  if (number_at(task, "percent") > 0) {
    record.add("progress",
               fmt::format("{}% {}", number_at(task, "percent"), text_at(task, "step")));
  }
  add_if("error", "error_message");
  add_if("reused from", "reused_from");
  add_if("outputs", "outputs");
  return record.text(look);
}

std::string attempts_of(const object& attempts, const Look& look) {
  Table table({{"TRY", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"EPOCH", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"STARTED", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"TOOK", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"END", Align::kLeft, Shown::kAlways, Shrinks::kMay}});
  for (const auto& item : list_at(attempts, "attempts")) {
    if (!item.is_object()) continue;
    const object& o = item.get_object();
    const auto begin = time_at(o, "started_at");
    const auto end = time_at(o, "ended_at");
    const bool good = text_at(o, "verdict") == "completed";
    const bool open = text_at(o, "verdict").empty();
    table.add({plain_cell(o, "number"),
               plain_cell(o, "epoch"),
               time_cell(o, "started_at", look),
               {begin && end ? human_duration(*end - *begin) : "-", Tone::kPlain},
               {verdict_text(o), open ? Tone::kBusy : (good ? Tone::kGood : Tone::kBad)}});
  }
  return table.rows() == 0 ? std::string() : "\n" + table.text(look);
}

ExitCode show_task(const Context& context, const std::string& text) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto id = find_task(**api, text);
  if (!id) return report(id.error());
  const auto task = (*api)->get("/api/tasks/" + escaped(*id));
  if (!task) return report(task.error());
  const Look look = look_at(context, STDOUT_FILENO);
  std::string shown = task_record(task->object(), look);
  if (const auto tries = (*api)->get(fmt::format("/api/tasks/{}/attempts", escaped(*id)))) {
    shown += attempts_of(tries->object(), look);
  }
  return show_one(context, task->json, {*id, shown});
}

// What to do about each obstacle, and what every worker says.
void add_remedies(Record& record, const object& why) {
  std::string name = "try";
  for (const auto& item : list_at(why, "obstacles")) {
    const std::string action = item.is_object() ? text_at(item.get_object(), "action") : "";
    if (!action.empty()) record.add(std::exchange(name, ""), action);
  }
  name = "workers";
  for (const auto& item : list_at(why, "workers")) {
    if (!item.is_object()) continue;
    const object& one = item.get_object();
    record.add(std::exchange(name, ""), text_at(one, "worker") + " " + text_at(one, "why"));
  }
  const std::int64_t more = number_at(why, "workers_unnamed");
  if (more > 0) record.add("", fmt::format("and {} more", more));
}

ExitCode explain(const Context& context, const std::string& text) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto id = find_task(**api, text);
  if (!id) return report(id.error());
  const auto why = (*api)->get(fmt::format("/api/tasks/{}/explain", escaped(*id)));
  if (!why) return report(why.error());
  const object& o = why->object();
  const Look look = look_at(context, STDOUT_FILENO);
  Record record;
  const Cell state = state_cell(o, "state", look);
  record.add("task", *id).add("state", state.text, state.tone);
  record.add("reason", text_at(o, "reason"), Tone::kStrong);
  for (const auto& detail : list_at(o, "details")) record.add("", text_of(detail));
  record.add("changes when", text_at(o, "moves_when"));
  if (time_at(o, "moves_at")) record.add("at", time_cell(o, "moves_at", look).text);
  add_remedies(record, o);
  return show_one(context, why->json, {*id, record.text(look)});
}

enum class TaskAct : bool { kRetry, kCancel };

ExitCode act_on_tasks(const Context& context, TaskAct what, const Texts& texts) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const bool cancel = what == TaskAct::kCancel;
  std::vector<Act> acts;
  for (const std::string& text : texts) {
    const auto id = find_task(**api, text);
    if (!id) return report(id.error());
    if (cancel) {
      if (const auto no = confirm(context, fmt::format("cancel task {}", *id))) return *no;
    }
    const std::string verb = cancel ? "cancel" : "retry";
    acts.push_back(
        {post_request(fmt::format("/api/tasks/{}/{}", escaped(*id), verb)), *id,
         fmt::format(fmt::runtime(cancel ? "Cancelling task {}" : "Retrying task {}"), *id)});
  }
  return act_on_all(context, **api, std::move(acts));
}

void add_task_list(CommandSpec tasks, Command& chosen) {
  auto filter = std::make_shared<TaskListFilter>();
  CommandSpec command = tasks.command("list", "List tasks of one run or of all runs");
  command.option("run", filter->run, kRunHelp);
  command
      .option("--state", filter->state,
              "Only tasks in this state: Waiting, Queued, Scheduled, Running, Failed, ...")
      .value_name("STATE");
  command.option("--node", filter->node, "Only tasks with this name; requires a run")
      .value_name("NAME");
  command.option("--worker", filter->worker, "Only tasks that this worker holds").value_name("ID");
  add_list_options(command, filter->page);
  command.example("vortex tasks list @last --state Failed\nvortex tasks list --worker w1");
  command.on_chosen(chosen, [filter](Context& c) { return list_tasks(c, *filter); });
}

}  // namespace

void add_tasks(CommandSpec app, Command& chosen) {
  CommandSpec tasks =
      app.command("tasks", "Manage tasks: list, show, explain, retry, cancel").group(kLook);
  tasks.needs_command();
  tasks.example("vortex tasks explain @last/resize[3]");
  add_task_list(tasks, chosen);
  auto text = std::make_shared<std::string>();
  CommandSpec one = tasks.command("show", "Show a task and all of its attempts");
  one.option("task", *text, kTaskHelp).required();
  one.example("vortex tasks show r42-L1-7");
  one.on_chosen(chosen, [text](Context& c) { return show_task(c, *text); });
  CommandSpec why = tasks.command("explain", "Explain a task's state and what it is waiting for");
  why.option("task", *text, kTaskHelp).required();
  why.example("vortex tasks explain @last/report");
  why.on_chosen(chosen, [text](Context& c) { return explain(c, *text); });
  auto texts = std::make_shared<Texts>();
  CommandSpec again = tasks.command("retry", "Retry failed tasks");
  again.option("task", *texts, kTaskHelp).required();
  again.example("vortex tasks retry r42-L1-7");
  again.on_chosen(chosen, [texts](Context& c) { return act_on_tasks(c, TaskAct::kRetry, *texts); });
  CommandSpec stop = tasks.command("cancel", "Cancel tasks");
  stop.option("task", *texts, kTaskHelp).required();
  stop.example("vortex tasks cancel r42-L1-7 --yes");
  stop.on_chosen(chosen, [texts](Context& c) { return act_on_tasks(c, TaskAct::kCancel, *texts); });
}

}  // namespace vortex::cli
