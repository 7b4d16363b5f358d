// vortex backfill: runs for slots of a schedule that have passed.
//
// Each run has the key of its slot, so a slot never gets two, and a backfill that was broken off
// goes on when the command is repeated. So many runs are live at a time, whatever the schedule
// itself does.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/zone_files.h"
#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "cli/screen/terminal.h"
#include "model/schedule.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kBackfillMax = 10'000;
constexpr auto kBackfillLook = std::chrono::milliseconds(500);
constexpr std::string_view kUsedForAnother = "VX-RUN-004";

struct BackfillOptions {
  std::string dag;
  std::string from;
  std::string to;
  std::uint32_t parallel = 1;
  bool dry_run = false;
};

std::optional<Instant> moment_of(const char* option, const std::string& text, const Zone& zone,
                                 DayEnd of_date) {
  if (text.empty()) return wall_clock_now();
  const auto time = parse_written_time(text, of_date);
  if (time) return instant_of(*time, zone);
  complain(fmt::format("{} is '{}', which is not a date or time", option, text),
           "write 2026-03-01, 2026-03-01T02:30:00 or 2026-03-01T02:30:00Z");
  return std::nullopt;
}

// Slots from one moment to another, both included; an exit code instead: it was told.
std::expected<std::vector<Instant>, ExitCode> slots_wanted(const DagSpec& dag,
                                                           const BackfillOptions& options) {
  const ZonePtr zone = dag.schedule ? system_zones().find(dag.schedule->timezone) : nullptr;
  if (!zone) {
    complain(fmt::format("{} has no schedule that can be computed here", options.dag),
             "a backfill runs the slots of a schedule; `vortex run` runs a DAG without one");
    return std::unexpected(ExitCode::kInvalid);
  }
  const auto from = moment_of("--from", options.from, *zone, DayEnd::kFirst);
  auto to = moment_of("--to", options.to, *zone, DayEnd::kLast);
  if (!from || !to) return std::unexpected(ExitCode::kUsage);
  to = std::min(*to, wall_clock_now());  // later slots are the schedule's own
  std::vector<Instant> slots;
  for (auto slot = next_slot(*dag.schedule, *zone, *from - micros(1)); slot && *slot <= *to;
       slot = next_slot(*dag.schedule, *zone, *slot)) {
    slots.push_back(*slot);
    if (slots.size() <= kBackfillMax) continue;
    complain(fmt::format("there are more than {} slots", kBackfillMax), "choose a shorter time");
    return std::unexpected(ExitCode::kUsage);
  }
  return slots;
}

class Backfill {
 public:
  Backfill(const Context& context, ApiClient& api, const BackfillOptions& options)
      : context_(context), api_(api), options_(options) {}

  ExitCode run(const std::vector<Instant>& slots) {
    total_ = slots.size();
    for (auto next = slots.begin(); next != slots.end() || !live_.empty();) {
      while (next != slots.end() && live_.size() < options_.parallel) {
        if (const auto stopped = start(*next++)) return broken_off(*stopped);
      }
      if (live_.empty()) continue;
      std::this_thread::sleep_for(kBackfillLook);
      for (std::size_t left = live_.size(); left > 0; --left) {
        Live one = std::move(live_.front());
        live_.pop_front();
        if (const auto stopped = look_at(std::move(one))) return broken_off(*stopped);
      }
    }
    if (!context_.quiet) {
      talk(fmt::format("{} done: {} completed, {} failed or cancelled", counted(total_, "slot"),
                       done_ - failed_, failed_));
    }
    return failed_ > 0 ? ExitCode::kRunFailed : ExitCode::kOk;
  }

 private:
  struct Live {
    std::string slot;
    std::string run;
  };

  // Unset: it goes on.
  std::optional<ExitCode> start(Instant at) {
    const std::string slot = slot_text(at);
    ApiRequest request{net::Method::kPost,
                       fmt::format("/api/dags/{}/runs", escaped(options_.dag)),
                       compact_json(boost::json::object{{"slot", slot}}),
                       {},
                       {}};
    request.headers.emplace_back("Idempotency-Key", slot_key(options_.dag, at));
    const auto answer = api_.call(std::move(request));
    if (answer) {
      take({slot, text_at(answer->object(), "id")}, answer->object());
      return std::nullopt;
    }
    // Its run was made from another version of the DAG: it has had its turn.
    if (answer.error().code != kUsedForAnother) return report(answer.error());
    show(slot, "", "already there");
    ++done_;
    return std::nullopt;
  }

  std::optional<ExitCode> look_at(Live one) {
    const auto run = api_.get("/api/runs/" + escaped(one.run));
    if (!run) return report(run.error());
    take(std::move(one), run->object());
    return std::nullopt;
  }

  void take(Live one, const boost::json::object& run) {
    const std::string state = text_at(run, "state");
    if (state == "Running") return live_.push_back(std::move(one));
    ++done_;
    if (state != "Completed") ++failed_;
    show(one.slot, one.run, state);
  }

  void show(const std::string& slot, const std::string& run, const std::string& state) {
    if (wants_json(context_)) {
      return print(
          compact_json(boost::json::object{{"slot", slot}, {"run", run}, {"state", state}}) + "\n");
    }
    if (context_.output == Output::kName) return print(run + "\n");
    print(fmt::format("{}  {:8} {:14} {}/{}\n", slot, run, state, done_, total_));
  }

  ExitCode broken_off(ExitCode code) const {
    talk(fmt::format("broken off after {} of {}; repeat the command to go on", done_,
                     counted(total_, "slot")));
    return code;
  }

  const Context& context_;
  ApiClient& api_;
  const BackfillOptions& options_;
  std::deque<Live> live_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
};

ExitCode backfill(const Context& context, const BackfillOptions& options) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto dag = load_stored_dag(**api, options.dag);
  if (!dag) return dag.error();
  const auto slots = slots_wanted(*dag, options);
  if (!slots) return slots.error();
  if (slots->empty()) {
    talk("there are no slots in that time");
    return ExitCode::kOk;
  }
  if (!options.dry_run) return Backfill(context, **api, options).run(*slots);
  for (const Instant slot : *slots) print(slot_text(slot) + "\n");
  return ExitCode::kOk;
}

}  // namespace

void add_backfill(CommandSpec app, Command& chosen) {
  auto options = std::make_shared<BackfillOptions>();
  CommandSpec command = app.command("backfill", "Run slots of a schedule that have passed");
  command.group(kRunThings);
  command.option("dag", options->dag, "Name of a stored DAG with a schedule").required();
  command
      .option("--from", options->from,
              "First date or time, in the time zone of the schedule unless it has an offset")
      .value_name("TIME")
      .required();
  command.option("--to", options->to, "Last date or time, included; now by default")
      .value_name("TIME");
  command.option("--parallel", options->parallel, "Number of runs at a time")
      .between(1, 1'000)
      .value_name("N")
      .shows_default();
  command.flag("--dry-run", options->dry_run, "Only print the slots");
  command.example(
      "vortex backfill nightly --from 2026-03-01 --to 2026-03-07\n"
      "vortex backfill nightly --from 2026-01-01 --parallel 4");
  command.on_chosen(chosen, [options](Context& context) { return backfill(context, *options); });
}

}  // namespace vortex::cli
