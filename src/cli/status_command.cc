// vortex status, vortex timings: the system in one screen, and how long recovery can take.
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command_spec.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"
#include "cli/status_text.h"

namespace vortex::cli {
namespace {

using boost::json::object;

ExitCode status(const Context& context) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto answer = (*api)->get("/api/status");
  if (!answer) return report(answer.error());
  Look look = look_at(context, STDOUT_FILENO);
  // Times are those of the controller: so is "now".
  look.now = time_at(answer->object(), "now").value_or(look.now);
  std::string text = status_text(answer->object(), look);
  const std::string queues = queues_text(answer->object(), look);
  if (!queues.empty()) text += "\n" + queues;
  return show_one(context, answer->json, {text_at(answer->object(), "id"), text});
}

constexpr ListColumn kTimingColumns[] = {
    {"EVIDENCE", [](const object& o, const Look&) { return plain_cell(o, "evidence"); }},
    {"AT WORST",
     [](const object& o, const Look&) {
       const std::int64_t worst = number_at(o, "worst_ms");
       return Cell{worst == 0 ? "immediate" : human_duration(millis(worst)), Tone::kStrong};
     },
     Align::kRight},
    {"WHAT HAPPENED", [](const object& o, const Look&) { return plain_cell(o, "what"); },
     Align::kLeft, Shown::kAlways, Shrinks::kMay},
    {"HOW IT COMES ABOUT", [](const object& o, const Look&) { return plain_cell(o, "formula"); },
     Align::kLeft, Shown::kWide, Shrinks::kMay},
};
constexpr Listing kTimings{"timings", "timings",
                           [](const object& o) { return text_at(o, "evidence"); }, kTimingColumns};

ExitCode timings(const Context& context) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto answer = (*api)->get("/api/timings");
  if (!answer) return report(answer.error());
  const Fetched all{list_at(answer->object(), "timings"), false};
  const ExitCode code = show_list(context, kTimings, all);
  const std::string note = text_at(answer->object(), "note");
  if (!context.quiet && !wants_json(context) && !note.empty()) talk("note: " + note);
  return code;
}

}  // namespace

void add_status(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("status", "Show the whole system on one screen").group(kLook);
  command.example("vortex status");
  command.on_chosen(chosen, status);
}

void add_timings(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("timings", "Show the worst-case recovery time for each kind of evidence")
          .group(kLook);
  command.example("vortex timings -o wide");
  command.on_chosen(chosen, timings);
}

}  // namespace vortex::cli
