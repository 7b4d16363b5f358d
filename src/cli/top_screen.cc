#include "cli/top_screen.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/listing.h"
#include "cli/progress_view.h"
#include "cli/status_text.h"
#include "cli/width.h"

namespace vortex::cli {
namespace {

using boost::json::object;
using Lines = std::vector<std::string>;

Lines split(const std::string& text) {
  Lines lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// A run as one group of tasks.
TaskGroup group_of(const object& run) {
  TaskGroup group{fmt::format("{} {}", text_at(run, "id"), text_at(run, "dag")),
                  static_cast<std::uint32_t>(number_at(run, "tasks")),
                  {}};
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    group.by_state[i] = static_cast<std::uint32_t>(
        number_at(object_at(run, "counts"), to_text(static_cast<TaskState>(i))));
  }
  return group;
}

Lines run_lines(const object& runs, const Look& look) {
  std::vector<TaskGroup> groups;
  for (const auto& run : list_at(runs, "runs")) {
    if (run.is_object()) groups.push_back(group_of(run.get_object()));
  }
  const BarRoom room = room_for(groups, look.width, groups.size());
  Lines lines;
  for (const TaskGroup& group : groups) lines.push_back(bar_line(group, Pace{}, room, look));
  return lines;
}

Lines worker_lines(const object& workers, const Look& look) {
  Table table({{"WORKER", Align::kLeft, Shown::kAlways, Shrinks::kMay},
               {"STATE", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"HELD", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"DONE", Align::kRight, Shown::kAlways, Shrinks::kNever},
               {"HEARD", Align::kLeft, Shown::kAlways, Shrinks::kNever},
               {"MACHINE", Align::kLeft, Shown::kAlways, Shrinks::kMay}});
  for (const auto& item : list_at(workers, "workers")) {
    if (!item.is_object()) continue;
    const object& o = item.get_object();
    table.add({plain_cell(o, "id"),
               state_cell(o, "state", look),
               {fmt::format("{}/{}", number_at(o, "held"), number_at(o, "slots")), Tone::kPlain},
               plain_cell(o, "completed"),
               time_cell(o, "last_heartbeat", look),
               plain_cell(o, "machine")});
  }
  return table.rows() == 0 ? Lines{"no workers"} : split(table.text(look));
}

// A section takes its part; what is left out is counted.
void add_section(Lines& out, const std::string& title, Lines lines, std::size_t room) {
  out.emplace_back();
  out.push_back(title);
  if (lines.size() > room && room > 0) {
    const std::size_t hidden = lines.size() - room + 1;
    lines.resize(room - 1);
    lines.push_back(fmt::format("... {} more", hidden));
  }
  out.insert(out.end(), lines.begin(), lines.end());
}

}  // namespace

std::string top_frame(const TopSeen& seen, std::size_t rows, Look look) {
  look.now = time_at(seen.status, "now").value_or(look.now);
  Lines out = split(status_text(seen.status, look));
  if (!seen.trouble.empty()) {
    const std::string text = "NOT LIVE: " + one_line(seen.trouble);
    out.insert(out.begin(),
               paint(cut_to_width(text, look.width, Ellipsis::kAscii), Tone::kBad, look));
  }
  const std::size_t fixed = out.size() + 7;
  const std::size_t left = rows > fixed ? rows - fixed : 3;
  Lines runs = run_lines(seen.runs, look);
  const std::size_t for_runs =
      std::clamp<std::size_t>(runs.size(), 1, std::max<std::size_t>(left / 2, 1));
  if (runs.empty()) runs.emplace_back("no active runs");
  add_section(out, paint("RUNS", Tone::kStrong, look), std::move(runs), for_runs);
  add_section(out, paint("WORKERS", Tone::kStrong, look), worker_lines(seen.workers, look),
              std::max<std::size_t>(left - std::min(left, for_runs), 2));
  out.emplace_back();
  out.push_back(paint("q: quit   space: refresh", Tone::kDim, look));
  if (out.size() > rows) out.resize(rows);
  std::string frame = "\x1b[H";
  for (std::size_t i = 0; i < out.size(); ++i) {
    frame += out[i] + "\x1b[K";
    if (i + 1 < out.size()) frame += "\r\n";
  }
  return frame + "\x1b[J";
}

}  // namespace vortex::cli
