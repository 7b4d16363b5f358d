#include "cli/status_text.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"

namespace vortex::cli {
namespace {

using boost::json::object;

// "3 IDLE, 1 OFFLINE"; what is zero is left out.
std::string counts_text(const object& counts, const Look& look) {
  std::vector<std::string> parts;
  for (const auto& member : counts) {
    const std::string state(member.key());
    const std::int64_t count = number_at(counts, state);
    if (count == 0) continue;
    parts.push_back(paint(fmt::format("{} {}", count, state), tone_of_state(state), look));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string status_text(const object& status, const Look& look) {
  const bool leads = flag_at(status, "leader");
  const bool brake = flag_at(status, "brake_engaged");
  const std::int64_t dead = number_at(status, "dead_letters");
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{}  {}\n", paint(fmt::format("{:<12}", name), Tone::kDim, look), value);
  };
  line("controller", fmt::format("{} ({}), version {}, up {}", text_at(status, "id"),
                                 leads ? "leader" : "standby", text_at(status, "version"),
                                 human_duration(seconds(number_at(status, "uptime_seconds")))));
  line("workers", counts_text(object_at(status, "workers"), look));
  line("tasks", counts_text(object_at(status, "tasks"), look));
  line("requeued", fmt::format("{} in the last hour", number_at(status, "requeued_last_hour")));
  line("dead letters",
       dead == 0 ? "none" : paint(fmt::format("{} open: vortex dlq list", dead), Tone::kBad, look));
  if (brake) {
    line("brake",
         paint("engaged: silence alone does not reclaim tasks right now", Tone::kWarn, look));
  }
  return out;
}

std::string queues_text(const object& status, const Look& look) {
  const auto& queues = list_at(status, "queues");
  if (queues.empty()) return {};
  Table table({{"QUEUE", Align::kLeft, Shown::kAlways, Shrinks::kMay},
               {"READY", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"HELD", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"WORKERS", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"OLDEST", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"STATE", Align::kLeft, Shown::kAlways, Shrinks::kNever}});
  for (const auto& item : queues) {
    if (!item.is_object()) continue;
    const object& o = item.get_object();
    const char* state = flag_at(o, "paused") ? "paused" : "active";
    table.add({plain_cell(o, "name"),
               plain_cell(o, "ready"),
               plain_cell(o, "held"),
               plain_cell(o, "workers"),
               time_cell(o, "oldest_ready", look),
               {state_text(state, look), tone_of_state(state)}});
  }
  return table.text(look);
}

}  // namespace vortex::cli
