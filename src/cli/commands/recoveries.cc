// vortex recoveries: the ledger of workers that were lost and of the tasks taken back from them.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr ListColumn kRecoveryColumns[] = {
    {"ID", [](const object& o, const Look&) { return plain_cell(o, "id"); }, Align::kRight},
    {"WORKER", [](const object& o, const Look&) { return plain_cell(o, "worker"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"EVIDENCE", [](const object& o, const Look&) { return plain_cell(o, "evidence"); }},
    {"TASKS", [](const object& o, const Look&) { return plain_cell(o, "num_tasks"); },
     Align::kRight},
    {"WHEN", [](const object& o, const Look& l) { return time_cell(o, "at", l); }},
    {"INCARNATION", [](const object& o, const Look&) { return plain_cell(o, "incarnation"); },
     Align::kRight, Shown::kWide},
    {"TIME", [](const object& o, const Look&) { return plain_cell(o, "at"); }, Align::kLeft,
     Shown::kWide},
};
constexpr Listing kRecoveries{"recoveries", "recoveries", name_by_id, kRecoveryColumns};

struct LedgerFilter {
  ListOptions page;
  std::string worker;
  std::string task;
};

ExitCode list_recoveries(const Context& context, const LedgerFilter& filter) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  QueryItems query{{"worker", filter.worker}};
  if (!filter.task.empty()) {
    const auto id = find_task(**api, filter.task);
    if (!id) return report(id.error());
    query.emplace_back("task", *id);
  }
  const auto fetched =
      fetch_all(**api, with_query("/api/recoveries", query), "recoveries", filter.page);
  if (!fetched) return report(fetched.error());
  return show_list(context, kRecoveries, *fetched);
}

std::string items_text(const boost::json::array& items, const Look& look) {
  Table table({{"TASK", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"TRIES", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"EPOCH", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"FROM", Align::kLeft, Shown::kAlways, Shrinks::kMay},
               {"TO", Align::kLeft, Shown::kAlways, Shrinks::kMay}});
  for (const auto& item : items) {
    if (!item.is_object()) continue;
    const object& o = item.get_object();
    const std::string to = text_at(o, "new_worker");
    table.add({plain_cell(o, "task"),
               plain_cell(o, "attempts"),
               {fmt::format("{} -> {}", text_at(o, "old_epoch"), text_at(o, "new_epoch"))},
               plain_cell(o, "old_worker"),
               {to.empty() ? "(not yet)" : to, to.empty() ? Tone::kWarn : Tone::kPlain}});
  }
  return table.rows() == 0 ? std::string() : "\n" + table.text(look);
}

ExitCode show_recovery(const Context& context, const std::string& id) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const std::string target = "/api/recoveries/" + escaped(id);
  auto recovery = (*api)->get(target);
  if (!recovery) return report(recovery.error());
  const auto items = fetch_all(**api, target, "items", {.limit = 0, .all = true});
  if (!items) return report(items.error());
  object whole = recovery->object();
  whole["items"] = items->items;
  whole["next_cursor"] = nullptr;
  const Look look = look_at(context, STDOUT_FILENO);
  Record record;
  record.add("recovery", text_at(whole, "id")).add("worker", text_at(whole, "worker"));
  record.add("incarnation", text_at(whole, "incarnation"));
  record.add("evidence", text_at(whole, "evidence"), Tone::kStrong);
  record.add("when",
             fmt::format("{} ({})", text_at(whole, "at"), time_cell(whole, "at", look).text));
  record.add("tasks", text_at(whole, "num_tasks"));
  return show_one(context, whole, {id, record.text(look) + items_text(items->items, look)});
}

}  // namespace

void add_recoveries(CommandSpec app, Command& chosen) {
  CommandSpec recoveries =
      app.command("recoveries", "Show the recovery ledger: lost workers and their tasks")
          .group(kLook);
  recoveries.needs_command();
  recoveries.example("vortex recoveries list");
  auto filter = std::make_shared<LedgerFilter>();
  CommandSpec all = recoveries.command("list", "List recoveries, newest first");
  all.option("--worker", filter->worker, "Only recoveries of this worker").value_name("ID");
  all.option("--task", filter->task, "Only recoveries of this task").value_name("TASK");
  add_list_options(all, filter->page);
  all.example("vortex recoveries list --worker w1");
  all.on_chosen(chosen, [filter](Context& c) { return list_recoveries(c, *filter); });
  auto id = std::make_shared<std::string>();
  CommandSpec one = recoveries.command("show", "Show a recovery and all of its tasks");
  one.option("recovery", *id, "Number of the recovery").required();
  one.example("vortex recoveries show 3");
  one.on_chosen(chosen, [id](Context& c) { return show_recovery(c, *id); });
}

}  // namespace vortex::cli
