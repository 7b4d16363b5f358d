#include "cli/run_summary.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/schema.h"
#include "cli/address.h"
#include "cli/arguments.h"
#include "cli/human.h"
#include "cli/json_view.h"
#include "cli/width.h"

namespace vortex::cli {
namespace {

using boost::json::object;

constexpr std::size_t kFailedShown = 5;
constexpr std::size_t kLinesShown = 3;

std::vector<std::string> last_lines(std::string_view text, std::size_t count) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < count) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    const std::size_t begin = text.rfind('\n') + 1;  // npos + 1 is 0
    lines.insert(lines.begin(), one_line(text.substr(begin)));
    text = text.substr(0, begin);
  }
  return lines;
}

std::string headline(const object& run, const Look& look) {
  const std::string state = text_at(run, "state");
  std::vector<std::string> parts;
  for (const std::string_view word : words_of<TaskState>()) {
    const std::int64_t count = number_at(object_at(run, "counts"), word);
    if (count > 0) parts.push_back(fmt::format("{} {}", count, word));
  }
  std::string took;
  const auto begin = time_at(run, "created_at");
  const auto end = time_at(run, "finished_at");
  if (begin && end) took = " after " + human_duration(*end - *begin);
  if (text_at(run, "ending") == "timed_out") took += " (timed out)";
  return fmt::format("{}: run {} of {}{}: {}\n",
                     paint(state_text(state, look), tone_of_state(state), look), text_at(run, "id"),
                     one_line(text_at(run, "dag")), took, fmt::join(parts, ", "));
}

// Verdict and last output of one failed task.
std::string failed_task(ApiClient& api, const object& task, const DagPlan& plan, const Look& look) {
  const std::string id = text_at(task, "id");
  const std::string name = task_name(plan, static_cast<std::uint32_t>(number_at(task, "index")));
  std::string verdict = one_line(text_at(task, "error_message"));
  if (const auto attempts = api.get(fmt::format("/api/tasks/{}/attempts", escaped(id)))) {
    const auto& all = list_at(attempts->object(), "attempts");
    if (!all.empty() && all.back().is_object()) verdict = verdict_text(all.back().get_object());
  }
  std::string out = fmt::format("  {} ({}): {}\n", paint(name, Tone::kBad, look), id, verdict);
  const auto log = api.get(fmt::format("/api/tasks/{}/logs?tail=2000", escaped(id)));
  if (!log) return out;
  for (const std::string& line : last_lines(log->text, kLinesShown)) {
    out += "    | " + line + "\n";
  }
  return out;
}

}  // namespace

std::string verdict_text(const object& attempt) {
  const std::string verdict = text_at(attempt, "verdict");
  std::string out = verdict.empty() ? "still running" : verdict;
  for (char& c : out) c = c == '_' ? ' ' : c;
  if (verdict == "exit_code" || verdict == "signal") out += " " + text_at(attempt, "code");
  const std::string worker = text_at(attempt, "worker");
  if (!worker.empty()) out += " on " + worker;
  out += fmt::format(", attempt {}", number_at(attempt, "number"));
  const std::string message = text_at(attempt, "message");
  if (!message.empty()) out += ": " + message;
  return one_line(out);
}

std::string run_summary(ApiClient& api, const object& run, const DagPlan& plan, const Look& look) {
  std::string out = headline(run, look);
  const std::string id = text_at(run, "id");
  const std::int64_t failed = number_at(object_at(run, "counts"), "Failed");
  if (failed == 0) return out;
  const QueryItems filter{{"state", "Failed"}, {"limit", std::to_string(kFailedShown)}};
  const auto tasks = api.get(with_query(fmt::format("/api/runs/{}/tasks", escaped(id)), filter));
  if (!tasks) return out;
  const auto& items = list_at(tasks->object(), "tasks");
  for (const auto& item : items) {
    if (item.is_object()) out += failed_task(api, item.get_object(), plan, look);
  }
  const auto shown = static_cast<std::int64_t>(items.size());
  if (failed > shown)
    out += fmt::format("  ... and {}\n",
                       counted(static_cast<std::uint64_t>(failed - shown), "more failed task"));
  if (items.empty() || !items[0].is_object()) return out;
  const std::string first =
      task_name(plan, static_cast<std::uint32_t>(number_at(items[0].get_object(), "index")));
  return out +
         fmt::format("Show the output:  vortex logs {0}/{1}    Retry:  vortex runs retry {0}\n", id,
                     first);
}

}  // namespace vortex::cli
