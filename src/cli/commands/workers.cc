// vortex workers, vortex machines: who does the work, and what an operator says to them.

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "net/socket.h"

namespace vortex::cli {
namespace {

using boost::json::object;
using Texts = std::vector<std::string>;

std::string joined(const boost::json::array& items) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(text_of(item));
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string labels_of(const object& worker) {
  std::vector<std::string> texts;
  for (const auto& label : object_at(worker, "labels")) {
    texts.push_back(fmt::format("{}={}", std::string_view(label.key()), text_of(label.value())));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

// What keeps it from getting work although it is there.
Cell note_cell(const object& worker, const Look& /*look*/) {
  if (text_at(worker, "blame") == "probation") return {"probation", Tone::kWarn};
  if (flag_at(worker, "cordoned")) return {"cordoned", Tone::kWarn};
  if (flag_at(worker, "suspect")) return {"suspect", Tone::kWarn};
  if (flag_at(worker, "flapping")) return {"flapping", Tone::kWarn};
  return {"-", Tone::kDim};
}

Cell load_cell(const object& worker, const Look& /*look*/) {
  return {fmt::format("{}/{}", number_at(worker, "held"), number_at(worker, "slots")),
          Tone::kPlain};
}

Cell uptime_cell(const object& worker, const Look& /*look*/) {
  const std::int64_t up = number_at(worker, "uptime_seconds");
  return {up > 0 ? human_duration(seconds(up)) : "-", Tone::kPlain};
}

constexpr ListColumn kWorkerColumns[] = {
    {"WORKER", [](const object& o, const Look&) { return plain_cell(o, "id"); }},
    {"STATE", [](const object& o, const Look& l) { return state_cell(o, "state", l); }},
    {"NOTE", note_cell},
    {"HELD", load_cell, Align::kRight},
    {"DONE", [](const object& o, const Look&) { return plain_cell(o, "completed"); },
     Align::kRight},
    {"LOST", [](const object& o, const Look&) { return plain_cell(o, "times_lost"); },
     Align::kRight},
    {"HEARD", [](const object& o, const Look& l) { return time_cell(o, "last_heartbeat", l); }},
    {"UPTIME", uptime_cell, Align::kRight},
    {"MACHINE", [](const object& o, const Look&) { return plain_cell(o, "machine"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"ZONE", [](const object& o, const Look&) { return plain_cell(o, "zone"); }, Align::kLeft,
     Shown::kWide},
    {"GROUP", [](const object& o, const Look&) { return plain_cell(o, "group"); }, Align::kLeft,
     Shown::kWide},
    {"QUEUES", [](const object& o, const Look&) { return Cell{joined(list_at(o, "queues"))}; },
     Align::kLeft, Shown::kWide, Shrinks::kMay},
    {"LABELS", [](const object& o, const Look&) { return Cell{labels_of(o)}; }, Align::kLeft,
     Shown::kWide, Shrinks::kMay},
    {"VERSION", [](const object& o, const Look&) { return plain_cell(o, "version"); }, Align::kLeft,
     Shown::kWide},
};
constexpr Listing kWorkers{"workers", "workers", name_by_id, kWorkerColumns};

constexpr ListColumn kMachineColumns[] = {
    {"MACHINE", [](const object& o, const Look&) { return plain_cell(o, "id"); }},
    {"STATE",
     [](const object& o, const Look& l) {
       const char* state = flag_at(o, "online") ? "online" : "offline";
       return Cell{state_text(state, l), tone_of_state(state)};
     }},
    {"SINCE", [](const object& o, const Look& l) { return time_cell(o, "since", l); }},
};
constexpr Listing kMachines{"machines", "machines", name_by_id, kMachineColumns};

struct WorkerListFilter {
  ListOptions page;
  std::string state;
  std::string zone;
  std::string group;
  std::string machine;
  bool live = false;
};

ExitCode list_workers(const Context& context, const WorkerListFilter& filter) {
  if (same_ignoring_case(filter.state, "ACTIVE") && !context.quiet) {
    talk("note: ACTIVE means IDLE or RUNNING");
  }
  const QueryItems query{{"state", filter.state},
                         {"zone", filter.zone},
                         {"group", filter.group},
                         {"machine", filter.machine},
                         {"live", filter.live ? "true" : ""}};
  return list(context, kWorkers, with_query("/api/workers", query), filter.page);
}

// Why it is cordoned although no operator did it, and what comes next; empty: nothing to say.
std::string blame_of(const object& worker, const Look& look) {
  const std::string blame = text_at(worker, "blame");
  if (blame == "probation") {
    return "on probation: gets one task at a time until one ends normally";
  }
  if (blame != "cordoned") return {};
  return "tasks died abnormally on it; probation begins " +
         time_cell(worker, "probation_at", look).text;
}

std::string worker_record(const object& worker, const Look& look) {
  Record record;
  const Cell state = state_cell(worker, "state", look);
  const Cell note = note_cell(worker, look);
  record.add("worker", text_at(worker, "id")).add("machine", text_at(worker, "machine"));
  record.add("state", state.text, state.tone);
  if (note.text != "-") record.add("note", note.text, note.tone);
  const std::string blame = blame_of(worker, look);
  if (!blame.empty()) record.add("blame", blame, Tone::kWarn);
  record.add("holds", load_cell(worker, look).text + " slots");
  record.add("attempts", fmt::format("{} of {} completed", number_at(worker, "completed"),
                                     number_at(worker, "ended")));
  record.add("lost", counted(static_cast<std::uint64_t>(number_at(worker, "times_lost")), "time"));
  if (flag_at(worker, "flapping")) {
    record.add(
        "flapping",
        fmt::format("lost {} recently",
                    counted(static_cast<std::uint64_t>(number_at(worker, "lost_lately")), "time")),
        Tone::kBad);
  }
  record.add("heard", time_cell(worker, "last_heartbeat", look).text);
  record.add("uptime", uptime_cell(worker, look).text);
  const auto add_if = [&](const char* name, const std::string& value) {
    if (!value.empty() && value != "0") record.add(name, value);
  };
  add_if("incarnation", text_at(worker, "incarnation"));
  add_if("address", text_at(worker, "address"));
  add_if("zone", text_at(worker, "zone"));
  add_if("group", text_at(worker, "group"));
  add_if("queues", joined(list_at(worker, "queues")));
  add_if("labels", labels_of(worker));
  add_if("runtimes", joined(list_at(worker, "runtimes")));
  add_if("users of tasks", joined(list_at(worker, "users")));
  add_if("version", text_at(worker, "version"));
  return record.text(look);
}

// A worker that is not there was most often mistyped.
Failure with_near_name(ApiClient& api, Failure failure, const std::string& id) {
  if (failure.code != "VX-WORKER-001") return failure;
  const auto all = api.get("/api/workers?limit=10000");
  if (!all) return failure;
  std::vector<std::string> names;
  for (const auto& worker : list_at(all->object(), "workers")) {
    if (worker.is_object()) names.push_back(text_at(worker.get_object(), "id"));
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest_name(id, views);
  if (!near.empty()) failure.help = fmt::format("did you mean '{}'? {}", near, failure.help);
  return failure;
}

ExitCode show_worker(const Context& context, const std::string& id) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  auto worker = (*api)->get("/api/workers/" + escaped(id));
  if (!worker) return report(with_near_name(**api, std::move(worker.error()), id));
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, worker->json, {id, worker_record(worker->object(), look)});
}

struct WorkerVerb {
  const char* name;
  const char* path;
  const char* help;
  const char* done;
  const char* question;  // empty: nothing is asked
  net::Method method = net::Method::kPost;
};

constexpr WorkerVerb kWorkerVerbs[] = {
    {"cordon", "cordon", "Cordon workers: assign no more tasks until uncordoned",
     "Worker {} cordoned", ""},
    {"uncordon", "uncordon", "Uncordon workers", "Worker {} uncordoned", ""},
    {"reset", "reset-state", "Declare this worker process dead and move its tasks immediately",
     "Worker {} declared dead; its tasks run elsewhere",
     "declare worker {} dead and run its tasks elsewhere"},
    {"delete", "", "Delete a worker that is gone; refused while it is present", "Worker {} deleted",
     "delete worker {} and its history", net::Method::kDelete},
};

ExitCode act_on_workers(const Context& context, const WorkerVerb& verb, const Texts& ids) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  std::vector<Act> acts;
  for (const std::string& id : ids) {
    if (*verb.question != '\0') {
      if (const auto no = confirm(context, fmt::format(fmt::runtime(verb.question), id))) {
        return *no;
      }
    }
    const char* slash = *verb.path == '\0' ? "" : "/";
    ApiRequest request =
        post_request(fmt::format("/api/workers/{}{}{}", escaped(id), slash, verb.path));
    request.method = verb.method;
    acts.push_back(
        {std::move(request), id, fmt::format(fmt::runtime(verb.done), id),
         [&api, id](Failure failure) { return with_near_name(**api, std::move(failure), id); }});
  }
  return act_on_all(context, **api, std::move(acts));
}

struct Drain {
  Texts ids;
  std::optional<Duration> deadline;
};

std::string drain_text(const boost::json::object& worker, const Drain& drain) {
  const std::string id = text_at(worker, "id");
  const std::int64_t held = number_at(worker, "held");
  if (text_at(worker, "state") != "DRAINING" || held == 0) {
    return fmt::format("Worker {} has nothing to finish and is leaving", id);
  }
  const std::string limit = drain.deadline ? human_duration(*drain.deadline)
                                           : std::string("its worker.shutdown_timeout_secs");
  return fmt::format(
      "Worker {} takes no more tasks. {} {} within {}; after that, tasks are stopped and run "
      "elsewhere",
      id, held, held == 1 ? "task may finish" : "tasks may finish", limit);
}

ExitCode drain_workers(const Context& context, const Drain& drain) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  std::string body;
  if (drain.deadline) body = fmt::format(R"({{"deadline":"{}ms"}})", drain.deadline->us / 1'000);
  ExitCode first = ExitCode::kOk;
  for (const std::string& id : drain.ids) {
    const auto answer =
        (*api)->call(post_request(fmt::format("/api/workers/{}/drain", escaped(id)), body));
    if (!answer) {
      const ExitCode code = report(answer.error());
      if (first == ExitCode::kOk) first = code;
    } else if (context.output == Output::kTable || context.output == Output::kWide) {
      if (!context.quiet) talk(drain_text(answer->object(), drain));
    } else {
      show_one(context, answer->json, {id, {}});
    }
  }
  return first;
}

void add_drain(CommandSpec workers, Command& chosen) {
  auto drain = std::make_shared<Drain>();
  auto deadline = std::make_shared<Duration>(micros(-1));
  CommandSpec command =
      workers.command("drain", "Drain workers: assign no more tasks and leave when done");
  command.option("worker", drain->ids, "Worker ids").required();
  command.duration("--deadline", *deadline,
                   "Time for running tasks to finish, such as 10s (default: the worker's "
                   "shutdown_timeout_secs)");
  command.example("vortex workers drain w1\nvortex workers drain w1 --deadline 10s");
  command.on_chosen(chosen, [drain, deadline](Context& c) {
    if (*deadline >= Duration{}) drain->deadline = *deadline;
    return drain_workers(c, *drain);
  });
}

void add_worker_list(CommandSpec workers, Command& chosen) {
  auto filter = std::make_shared<WorkerListFilter>();
  CommandSpec command = workers.command("list", "List workers");
  command
      .option("--state", filter->state,
              "Only workers in this state: REGISTERING, IDLE, RUNNING, DRAINING, INACTIVE, "
              "OFFLINE, or ACTIVE")
      .value_name("STATE");
  command.option("--zone", filter->zone, "Only workers in this zone").value_name("NAME");
  command.option("--group", filter->group, "Only workers in this group").value_name("NAME");
  command.option("--machine", filter->machine, "Only workers on this machine").value_name("ID");
  command.flag("--live", filter->live, "Only workers that are present");
  add_list_options(command, filter->page);
  command.example("vortex workers list --live -o wide");
  command.on_chosen(chosen, [filter](Context& c) { return list_workers(c, *filter); });
}

}  // namespace

void add_workers(CommandSpec app, Command& chosen) {
  CommandSpec workers =
      app.command("workers", "Manage workers: list, show, drain, cordon, reset, delete")
          .group(kAct);
  workers.needs_command();
  workers.example("vortex workers list\nvortex workers drain w1");
  add_worker_list(workers, chosen);
  auto id = std::make_shared<std::string>();
  CommandSpec one = workers.command("show", "Show a worker");
  one.option("worker", *id, "Worker id").required();
  one.example("vortex workers show w1");
  one.on_chosen(chosen, [id](Context& c) { return show_worker(c, *id); });
  add_drain(workers, chosen);
  for (const WorkerVerb& verb : kWorkerVerbs) {
    auto ids = std::make_shared<Texts>();
    CommandSpec command = workers.command(verb.name, verb.help);
    command.option("worker", *ids, "Worker ids").required();
    command.example(fmt::format("vortex workers {} w1", verb.name));
    command.on_chosen(chosen, [ids, &verb](Context& c) { return act_on_workers(c, verb, *ids); });
  }
}

void add_machines(CommandSpec app, Command& chosen) {
  CommandSpec machines =
      app.command("machines", "Show the machines that workers run on").group(kLook);
  machines.needs_command();
  machines.example("vortex machines list");
  CommandSpec all = machines.command("list", "List machines");
  all.example("vortex machines list -o json");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kMachines, "/api/machines"); });
}

// vortex fence check: inside a task, before an irreversible step: does this attempt still hold it?

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

ExitCode check_fence(const Context& context) {
  const std::string task = environment("VORTEX_TASK_ID");
  const std::string epoch = environment("VORTEX_EPOCH");
  const std::string url = environment("VORTEX_URL");
  if (task.empty() || epoch.empty()) {
    complain("VORTEX_TASK_ID and VORTEX_EPOCH are not set",
             "`vortex fence check` only works inside a task");
    return ExitCode::kUsage;
  }
  Context where = context;
  if (where.servers.empty() && !url.empty()) where.servers.push_back(url);
  // Good for this attempt alone, and it came the same way: that may be in clear.
  where.token = environment("VORTEX_TOKEN");
  const bool own = where.token.starts_with("vxa_");
  const auto controllers = controllers_of(where);
  if (!controllers) return controllers.error();
  for (const net::ClientConfig& controller : *controllers) {
    if (own || controller.token.empty() || !net::is_in_clear(controller.endpoint)) continue;
    complain(
        fmt::format("not sending the token to {} in clear text", net::url_of(controller.endpoint)),
        "start the worker with `--server https://...`; tasks are given its address in "
        "VORTEX_URL");
    return ExitCode::kAuth;
  }
  const auto api = ApiClient::open(where);
  if (!api) return api.error();
  const std::string target = fmt::format("/api/tasks/{}/fence", escaped(task));
  const auto answer = (*api)->get(with_query(target, {{"epoch", epoch}}));
  if (answer) {
    if (wants_json(context)) print(answer->text + "\n");
    return ExitCode::kOk;
  }
  // Lost for good, or never had: both mean stop.
  const int status = answer.error().status;
  const bool over = answer.error().code == "VX-AUTH-009";
  const bool lost = status == 409 || status == 404 || over;
  const ExitCode code = report(answer.error());
  return lost ? ExitCode::kFailed : code;
}

}  // namespace

void add_fence(CommandSpec app, Command& chosen) {
  CommandSpec fence =
      app.command("fence", "Check from inside a task whether it may still act").group(kAct);
  fence.needs_command();
  fence.example("vortex fence check && publish");
  CommandSpec ask = fence.command(
      "check", "Exit 0 while this attempt holds its task, 1 if not, 5 if no controller answers");
  ask.example("vortex fence check && curl -X POST https://example.org/publish");
  ask.on_chosen(chosen, check_fence);
}

}  // namespace vortex::cli
