#include "worker/slot/launch.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/hash.h"
#include "codec/text.h"

namespace vortex::worker {
namespace {

// One trace for a run, one span for an attempt, the same whoever computes it
// (W3C Trace Context).
std::string trace_parent(const Assignment& assignment, const WorkOrder& order) {
  Hasher run;
  run.add(order.dag);
  run.add(assignment.attempt.task.run.value);
  Hasher attempt;
  attempt.add(order.task_text);
  attempt.add(assignment.attempt.epoch.value);
  return fmt::format("00-{:016x}{:016x}-{:016x}-01", run.value(), run.value() ^ ~0ULL,
                     attempt.value() | 1U);
}

std::string time_text(Instant at) {
  std::string quoted;
  codec::append_time(quoted, at);
  return quoted.size() > 2 ? quoted.substr(1, quoted.size() - 2) : quoted;
}

}  // namespace

Launch make_launch(const Assignment& assignment, const LaunchContext& context) {
  const WorkOrder& order = *std::get<OrderPtr>(assignment.work);
  Launch launch;
  launch.attempt = assignment.attempt;
  launch.argv = order.command.argv;
  launch.env = order.command.env;
  launch.workdir = order.command.workdir;
  launch.kill_grace = assignment.kill_grace;
  launch.resources = order.resources;
  launch.checkpoint = assignment.checkpoint;
  launch.outputs = order.outputs;
  launch.report_output = order.report_output;
  launch.secrets = order.secrets;
  launch.user = order.user;
  launch.inputs = order.inputs;
  const auto set = [&launch](std::string name, std::string value) {
    launch.env.emplace_back(std::move(name), std::move(value));
  };
  set("VORTEX_RUN_ID", to_text(assignment.attempt.task.run));
  set("VORTEX_TASK_ID", order.task_text);
  set("VORTEX_TASK", order.task);
  set("VORTEX_DAG", order.dag);
  set("VORTEX_ATTEMPT", std::to_string(assignment.number));
  set("VORTEX_EPOCH", std::to_string(assignment.attempt.epoch.value));
  set("VORTEX_URL", context.url);
  if (!assignment.token.empty()) set("VORTEX_TOKEN", assignment.token);
  set("VORTEX_WORKER", context.worker);
  set("VORTEX_WORKER_PID", std::to_string(::getpid()));
  set("TRACEPARENT", trace_parent(assignment, order));
  if (order.map) {
    set("VORTEX_MAP_INDEX", std::to_string(order.map->index));
    set("VORTEX_MAP_ITEM", order.map->item);
  }
  if (assignment.execution_timeout > Duration{}) {
    set("VORTEX_DEADLINE", time_text(context.wall_now + assignment.execution_timeout));
  }
  return launch;
}

namespace {

bool has_zero(std::string_view text) { return text.contains('\0'); }

std::string complaint_of(const StartParts& parts) {
  if (parts.argv.empty()) return "the command is empty";
  if (std::ranges::any_of(parts.argv, has_zero)) {
    return "an argument contains a zero byte";
  }
  if (has_zero(parts.workdir)) return "the working directory contains a zero byte";
  for (const auto& [name, value] : parts.env) {
    if (name.empty() || name.contains('=') || has_zero(name)) {
      return fmt::format("'{}' is not a valid variable name", name.substr(0, name.find('\0')));
    }
    if (has_zero(value)) return fmt::format("the variable '{}' contains a zero byte", name);
  }
  return {};
}

// At least what they take in all: secrets may be among them, and a payload that grows by itself
// would leave copies behind.
std::size_t bytes_of(const StartParts& parts) {
  std::size_t bytes = parts.workdir.size() + 1;
  for (const std::string& argument : parts.argv) bytes += argument.size() + 1;
  for (const std::string& entry : parts.inherited) bytes += entry.size() + 1;
  for (const Variables* variables : {&parts.env, &parts.ours}) {
    for (const auto& [name, value] : *variables) bytes += name.size() + value.size() + 2;
  }
  return bytes;
}

void append(StartTexts& out, std::string_view text) { out.payload.append(text).push_back('\0'); }

// The variable that wins for each name: the last one of the task, unless we set it ourselves.
using LastOfName = std::unordered_map<std::string_view, const Variables::value_type*>;

LastOfName last_of_names(const StartParts& parts) {
  LastOfName last;
  last.reserve(parts.env.size() + parts.ours.size());
  for (const Variables* variables : {&parts.env, &parts.ours}) {
    for (const auto& variable : *variables) last[variable.first] = &variable;
  }
  return last;
}

void append_variable(StartTexts& out, const std::pair<std::string, std::string>& variable) {
  out.payload.append(variable.first).push_back('=');
  append(out, variable.second);
  ++out.envc;
}

}  // namespace

std::expected<void, std::string> write_texts(const StartParts& parts, StartTexts& out) {
  if (std::string complaint = complaint_of(parts); !complaint.empty()) {
    return std::unexpected(std::move(complaint));
  }
  out.payload.clear();
  out.payload.reserve(bytes_of(parts));
  out.argc = static_cast<std::uint32_t>(parts.argv.size());
  out.envc = 0;
  for (const std::string& argument : parts.argv) append(out, argument);
  const LastOfName last = last_of_names(parts);
  for (const std::string& entry : parts.inherited) {
    if (last.contains(std::string_view(entry).substr(0, entry.find('=')))) continue;
    append(out, entry);
    ++out.envc;
  }
  for (const Variables* variables : {&parts.env, &parts.ours}) {
    for (const auto& variable : *variables) {
      if (last.at(variable.first) == &variable) append_variable(out, variable);
    }
  }
  append(out, parts.workdir);
  return {};
}

}  // namespace vortex::worker
