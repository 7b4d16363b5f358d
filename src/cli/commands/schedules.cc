// vortex schedules: when DAGs run by themselves.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/zone_files.h"
#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/run_watch.h"
#include "cli/screen/terminal.h"
#include "codec/text.h"
#include "model/schedule.h"

namespace vortex::cli {
namespace {

constexpr std::uint32_t kSlotsMax = 1'000;

struct NextOptions {
  std::string file;
  std::string after;
  std::uint32_t count = 5;
};

std::string json_time(Instant at) {
  std::string text;
  codec::append_time(text, at);
  return text.substr(1, text.size() - 2);
}

// As the clocks there show it: "2026-03-30 02:30:00 +02:00".
std::string local_text(const Zone& zone, Instant at) {
  constexpr std::size_t kToTheSecond = 19;
  const std::int64_t offset = offset_at(zone, at);
  const TimeText text = time_text(at + seconds(offset));
  const std::int64_t minutes = (offset < 0 ? -offset : offset) / 60;
  return fmt::format("{} {}{:02}:{:02}", std::string_view(text.data(), kToTheSecond),
                     offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::optional<Instant> begin_of(const NextOptions& options, const Zone& zone) {
  if (options.after.empty()) return wall_clock_now();
  const auto time = parse_written_time(options.after, DayEnd::kFirst);
  if (time) return instant_of(*time, zone);
  complain(fmt::format("--after is '{}', which is not a date or time", options.after),
           "write 2026-03-01, 2026-03-01T02:30:00 or 2026-03-01T02:30:00Z");
  return std::nullopt;
}

std::vector<Instant> slots_of(const ScheduleSpec& spec, const Zone& zone, Instant after,
                              std::uint32_t count) {
  std::vector<Instant> slots;
  while (slots.size() < count) {
    const auto slot = next_slot(spec, zone, slots.empty() ? after : slots.back());
    if (!slot) break;
    slots.push_back(*slot);
  }
  return slots;
}

boost::json::object as_json(const DagSpec& dag, const Zone& zone,
                            const std::vector<Instant>& slots) {
  boost::json::array list;
  for (const Instant slot : slots) {
    list.push_back(
        boost::json::object{{"slot", json_time(slot)}, {"local", local_text(zone, slot)}});
  }
  return {{"dag", dag.name},
          {"schedule", in_words(*dag.schedule)},
          {"timezone", zone.name},
          {"slots", std::move(list)}};
}

std::string as_text(const DagSpec& dag, const Zone& zone, const std::vector<Instant>& slots,
                    const Look& look) {
  std::string text = fmt::format("{}: {}\n", dag.name, in_words(*dag.schedule));
  if (slots.empty()) return text + "no more runs\n";
  Table table({{"SLOT", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"UTC", Align::kLeft, Shown::kAlways, Shrinks::kNever}});
  for (const Instant slot : slots) {
    table.add({{local_text(zone, slot), Tone::kStrong}, {json_time(slot), Tone::kDim}});
  }
  return text + table.text(look);
}

bool is_dag_file(const std::string& text) {
  std::error_code unknown;
  if (std::filesystem::exists(text, unknown) || text.find('/') != std::string::npos) return true;
  return text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json");
}

std::expected<DagSpec, ExitCode> dag_wanted(const Context& context, const NextOptions& options) {
  if (!is_dag_file(options.file)) {
    const auto api = ApiClient::open(context);
    if (!api) return std::unexpected(api.error());
    return load_stored_dag(**api, options.file);
  }
  const auto plan = load_dag_plan(context, options.file);
  if (!plan) return std::unexpected(plan.error());
  return (*plan)->spec;
}

ExitCode next(const Context& context, const NextOptions& options) {
  const auto found = dag_wanted(context, options);
  if (!found) return found.error();
  const DagSpec& dag = *found;
  if (!dag.schedule) {
    complain(fmt::format("{} has no schedule", options.file),
             "write schedule: {cron: \"30 2 * * *\"} or schedule: {every: 15m} into it");
    return ExitCode::kInvalid;
  }
  const ZonePtr zone = system_zones().find(dag.schedule->timezone);
  if (!zone) {
    complain(fmt::format("time zone {} is not known on this machine", dag.schedule->timezone),
             "install the package tzdata");
    return ExitCode::kInvalid;
  }
  const auto after = begin_of(options, *zone);
  if (!after) return ExitCode::kUsage;
  const auto slots = slots_of(*dag.schedule, *zone, *after, options.count);
  return show_one(context, as_json(dag, *zone, slots),
                  {dag.name, as_text(dag, *zone, slots, look_at(context, STDOUT_FILENO))});
}

// ---- Schedules of stored DAGs ----

using boost::json::object;
using Texts = std::vector<std::string>;

std::string schedule_state(const object& schedule) {
  const std::string paused = text_at(schedule, "paused");
  if (paused == "none") return "active";
  return paused == "failure" ? "paused after a failure" : "paused";
}

Cell next_cell(const object& schedule, const Look& look) {
  const auto& slots = list_at(schedule, "next");
  if (slots.empty()) return {"-", Tone::kDim};
  const auto at = parse_time(text_of(slots.front()));
  return {at ? human_time(*at, look.now) : "", Tone::kPlain};
}

Cell last_cell(const object& schedule, const Look& look) {
  const std::string run = text_at(schedule, "last_run");
  if (run.empty()) return {"-", Tone::kDim};
  const std::string state = text_at(schedule, "last_run_state");
  return {state.empty() ? run : fmt::format("{} {}", run, state_text(state, look)),
          tone_of_state(state)};
}

constexpr ListColumn kScheduleColumns[] = {
    {"DAG", [](const object& o, const Look&) { return plain_cell(o, "dag"); }, Align::kLeft,
     Shown::kAlways, Shrinks::kMay},
    {"STATE",
     [](const object& o, const Look& l) {
       const std::string state = text_at(o, "paused") == "none" ? "active" : "paused";
       return Cell{state_text(state, l), tone_of_state(state)};
     }},
    {"NEXT", next_cell},
    {"LAST RUN", last_cell},
    {"SCHEDULE", [](const object& o, const Look&) { return plain_cell(o, "schedule"); },
     Align::kLeft, Shown::kAlways, Shrinks::kMay},
    {"OVERLAP", [](const object& o, const Look&) { return plain_cell(o, "overlap"); }, Align::kLeft,
     Shown::kWide},
};
constexpr Listing kSchedules{"schedules", "schedules",
                             [](const object& o) { return text_at(o, "dag"); }, kScheduleColumns};

std::string schedule_path(const std::string& dag) { return "/api/schedules/" + escaped(dag); }

std::string all_slots(const object& schedule, std::string_view key) {
  std::string all;
  for (const auto& slot : list_at(schedule, key)) {
    all += (all.empty() ? "" : "\n") + text_of(slot);
  }
  return all;
}

std::string schedule_record(const object& o, const Look& look) {
  Record record;
  record.add("dag", text_at(o, "dag")).add("schedule", text_at(o, "schedule"));
  const std::string state = schedule_state(o);
  record.add("state", state, tone_of_state(state == "active" ? "active" : "paused"));
  if (const std::string run = text_at(o, "failed_run"); !run.empty()) record.add("failed run", run);
  if (const std::string problem = text_at(o, "problem"); !problem.empty()) {
    record.add("problem", problem, Tone::kBad);
  }
  record.add("overlap", text_at(o, "overlap"));
  record.add("last run", last_cell(o, look).text);
  if (const std::string slot = text_at(o, "last_slot"); !slot.empty())
    record.add("last slot", slot);
  if (const std::string waiting = all_slots(o, "waiting"); !waiting.empty()) {
    record.add("waiting", waiting);
  }
  const std::string next = all_slots(o, "next");
  record.add("next", next.empty() ? "-" : next);
  record.add("applied", time_cell(o, "applied_at", look).text);
  if (const std::string by = text_at(o, "applied_by"); !by.empty()) record.add("by", by);
  return record.text(look);
}

ExitCode show_schedule(const Context& context, const std::string& dag) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto found = (*api)->get(schedule_path(dag));
  if (!found) return report(found.error());
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, found->json, {dag, schedule_record(found->object(), look)});
}

ExitCode pause_schedules(const Context& context, const char* verb, const Texts& dags) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const bool pause = std::string_view(verb) == "pause";
  std::vector<Act> acts;
  for (const std::string& dag : dags) {
    acts.push_back({post_request(fmt::format("{}/{}", schedule_path(dag), verb)), dag,
                    fmt::format("Schedule of {} {}", dag, pause ? "paused" : "resumed")});
  }
  return act_on_all(context, **api, std::move(acts));
}

struct TriggerOptions {
  std::string dag;
  bool unless_running = false;
  bool watch = false;
};

ExitCode trigger_schedule(const Context& context, const TriggerOptions& options) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  ApiRequest request =
      post_request(schedule_path(options.dag) + "/trigger",
                   compact_json(object{{"unless_running", options.unless_running}}));
  request.headers.emplace_back("Idempotency-Key", fresh_idempotency_key());
  const auto made = (*api)->call(std::move(request));
  if (!made) return report(made.error());
  const std::string run = text_at(made->object(), "id");
  if (!context.quiet) talk(fmt::format("Started {} of {}", run, options.dag));
  show_one(context, made->json, {run, run + "\n"});
  return options.watch ? watch_run(context, **api, run, {}) : ExitCode::kOk;
}

void add_stored(CommandSpec schedules, Command& chosen) {
  auto page = std::make_shared<ListOptions>();
  CommandSpec all = schedules.command("list", "List the schedules of stored DAGs");
  add_list_options(all, *page);
  all.example("vortex schedules list");
  all.on_chosen(chosen,
                [page](Context& c) { return list(c, kSchedules, "/api/schedules", *page); });
  auto dag = std::make_shared<std::string>();
  CommandSpec one = schedules.command("show", "Show a schedule, its next slots and last run");
  one.option("dag", *dag, "Name of the DAG").required();
  one.example("vortex schedules show nightly");
  one.on_chosen(chosen, [dag](Context& c) { return show_schedule(c, *dag); });
  auto dags = std::make_shared<Texts>();
  for (const char* verb : {"pause", "resume"}) {
    const bool pause = std::string_view(verb) == "pause";
    CommandSpec command =
        schedules.command(verb, pause ? "Pause schedules: skip their slots until they are resumed"
                                      : "Resume paused schedules from now on");
    command.option("dag", *dags, "Names of the DAGs").required();
    command.example(fmt::format("vortex schedules {} nightly", verb));
    command.on_chosen(chosen, [dags, verb](Context& c) { return pause_schedules(c, verb, *dags); });
  }
  auto options = std::make_shared<TriggerOptions>();
  CommandSpec now =
      schedules.command("trigger", "Start a run of a scheduled DAG now, outside of its slots");
  now.option("dag", options->dag, "Name of the DAG").required();
  now.flag("--unless-running", options->unless_running,
           "Refuse it while a run of the schedule has not ended");
  now.flag("--watch", options->watch, "Watch the run until it ends");
  now.example("vortex schedules trigger nightly --watch");
  now.on_chosen(chosen, [options](Context& c) { return trigger_schedule(c, *options); });
}

}  // namespace

void add_schedules(CommandSpec app, Command& chosen) {
  CommandSpec schedules = app.command("schedules", "Manage when DAGs run by themselves");
  schedules.group(kRunThings);
  schedules.needs_command();
  schedules.example("vortex schedules list\nvortex schedules next nightly.yaml");
  add_stored(schedules, chosen);
  auto options = std::make_shared<NextOptions>();
  CommandSpec preview = schedules.command("next", "Show the next times of a schedule");
  preview.option("dag", options->file, "DAG file, or name of a stored DAG").required();
  preview.option("--count", options->count, "Number of times to show")
      .between(1, kSlotsMax)
      .value_name("N")
      .shows_default();
  preview
      .option("--after", options->after,
              "Date or time to begin at, in the time zone of the schedule; now by default")
      .value_name("TIME");
  preview.example(
      "vortex schedules next nightly.yaml\n"
      "vortex schedules next nightly.yaml --after 2026-03-28 --count 3");
  preview.on_chosen(chosen, [options](Context& context) { return next(context, *options); });
}

}  // namespace vortex::cli
