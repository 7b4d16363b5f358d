#include "cli/screen/life.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments.h"
#include "cli/screen/human.h"
#include "cli/screen/json_view.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr std::size_t kWorkersNamed = 3;

std::string last_line(std::string_view output) {
  while (output.ends_with('\n') || output.ends_with('\r')) output.remove_suffix(1);
  output.remove_prefix(output.find_last_of("\r\n") + 1);  // npos + 1 is 0
  return one_line(output);
}

// "w1 lacks the label gpu=a100; w2 is cordoned by an operator; 5 more"
std::string workers_text(const object& standstill) {
  const auto& workers = list_at(standstill, "workers");
  const std::size_t named = std::min(workers.size(), kWorkersNamed);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < named; ++i) {
    if (!workers[i].is_object()) continue;
    const object& one = workers[i].get_object();
    parts.push_back(one_line(text_at(one, "worker") + " " + text_at(one, "why")));
  }
  const std::size_t more =
      workers.size() - named + static_cast<std::size_t>(number_at(standstill, "workers_unnamed"));
  if (more > 0) parts.push_back(fmt::format("{} more", more));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Obstacles that are only about workers are made clear by what each of them says.
bool is_about_workers(std::string_view reason) {
  return reason == "no_such_worker" || reason == "resources_nowhere" ||
         reason == "fitting_workers_gone";
}

// Further lines stand under the first one.
std::string indented(std::string_view lines) {
  std::string out;
  for (const char c : lines) out += c == '\n' ? std::string("\n       ") : std::string(1, c);
  return out;
}

}  // namespace

std::string running_line(const object& task, const DagPlan& plan, std::string_view output,
                         Instant now) {
  const auto index = static_cast<std::uint32_t>(number_at(task, "index"));
  std::string out =
      fmt::format("{}  on {}", task_name(plan, index), one_line(text_at(task, "worker")));
  if (const auto since = time_at(task, "started_at")) {
    out += ", " + human_duration(std::max(now - *since, Duration{}));
  }
  const std::int64_t percent = number_at(task, "percent");
  const std::string step = one_line(text_at(task, "step"));
  if (percent > 0 || !step.empty()) {
    out += fmt::format(", {}%{}{}", percent, step.empty() ? "" : " ", step);
  }
  const std::string line = last_line(output);
  if (!line.empty()) out += " | " + line;
  return out;
}

Remedy remedy_of(const object& standstill) {
  const std::int64_t tasks = number_at(standstill, "tasks");
  Remedy out;
  out.found = fmt::format("{} {}: ", counted(static_cast<std::uint64_t>(tasks), "task"),
                          tasks == 1 ? "waits" : "wait");
  std::vector<std::string> what;
  std::vector<std::string> actions;
  bool about_workers = false;
  for (const auto& item : list_at(standstill, "obstacles")) {
    if (!item.is_object()) continue;
    const object& obstacle = item.get_object();
    about_workers = about_workers || is_about_workers(text_at(obstacle, "reason"));
    what.push_back(one_line(text_at(obstacle, "what")));
    const std::string action = one_line(text_at(obstacle, "action"));
    if (!action.empty()) actions.push_back(action);
  }
  const std::string all = fmt::format("{}", fmt::join(what, "; also, "));
  // "1 task waits for approval ..."
  const bool said = tasks == 1 && all.starts_with("waits ");
  out.found = said ? "1 task " + all : out.found + all;
  const std::string workers = workers_text(standstill);
  if (about_workers && !workers.empty()) out.found += fmt::format(" ({})", workers);
  out.fix = fmt::format("{}", fmt::join(actions, "\n"));
  return out;
}

std::string standstills_text(const boost::json::array& standstills) {
  std::string out;
  for (const auto& item : standstills) {
    if (!item.is_object()) continue;
    const Remedy remedy = remedy_of(item.get_object());
    out += (out.empty() ? "" : "\n") + remedy.found;
    if (!remedy.fix.empty()) out += "\n  try: " + indented(remedy.fix);
  }
  return out;
}

std::optional<std::string> LostTasks::see(const object& event, const DagPlan& plan) {
  const auto task = parse_task_id(text_at(event, "task_id"));
  if (!task || task->index >= plan.tasks) return std::nullopt;
  const std::string kind = text_at(event, "event");
  const object& data = object_at(event, "data");
  if (kind == "task_requeued" && text_at(data, "reason") == "worker_lost") {
    lost_[task->index] = one_line(text_at(data, "previous_worker"));
    return fmt::format("worker {} lost, {} is queued again", lost_[task->index],
                       task_name(plan, task->index));
  }
  if (kind != "task_reassigned") return std::nullopt;
  const auto before = lost_.extract(task->index);
  if (before.empty()) return std::nullopt;
  return fmt::format("worker {} lost, {} is running again on {}", before.mapped(),
                     task_name(plan, task->index), one_line(text_at(data, "new_worker")));
}

}  // namespace vortex::cli
