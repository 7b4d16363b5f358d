// vortex schedules: when DAGs run by themselves.

#include <cstdint>
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
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/listing.h"
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

ExitCode next(const Context& context, const NextOptions& options) {
  const auto plan = load_dag_plan(context, options.file);
  if (!plan) return plan.error();
  const DagSpec& dag = (*plan)->spec;
  if (!dag.schedule) {
    complain(fmt::format("{} has no schedule", options.file),
             "write schedule: {cron: \"30 2 * * *\"} or schedule: {every: 15m} into it");
    return ExitCode::kInvalid;
  }
  const ZonePtr zone = system_zones().find(dag.schedule->timezone);
  const auto after = begin_of(options, *zone);
  if (!after) return ExitCode::kUsage;
  const auto slots = slots_of(*dag.schedule, *zone, *after, options.count);
  return show_one(context, as_json(dag, *zone, slots),
                  {dag.name, as_text(dag, *zone, slots, look_at(context, STDOUT_FILENO))});
}

}  // namespace

void add_schedules(CommandSpec app, Command& chosen) {
  CommandSpec schedules = app.command("schedules", "Show when DAGs run by themselves");
  schedules.group(kRunThings);
  schedules.needs_command();
  schedules.example("vortex schedules next nightly.yaml");
  auto options = std::make_shared<NextOptions>();
  CommandSpec preview =
      schedules.command("next", "Show the next times of the schedule in a DAG file");
  preview.option("file", options->file, "DAG file").required();
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
