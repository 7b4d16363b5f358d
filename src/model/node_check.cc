#include "model/node_check.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/command_check.h"

namespace vortex {
namespace {

// A value read from outside may be none of the enum's.
template <class Enum>
Complaint complain_of_enum(std::string_view what, Enum value, Enum last) {
  return complain_of_number(what, static_cast<std::int64_t>(value), 0,
                            static_cast<std::int64_t>(last));
}

Complaint complain_of_size(std::string_view what, std::size_t size, std::size_t most) {
  if (size <= most) return std::nullopt;
  return fmt::format("{} {} are too many; the maximum is {}", size, what, most);
}

template <class Pairs>
Complaint complain_of_keys(std::string_view what, const Pairs& pairs) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : pairs) {
    const LineRule rule{.bytes_min = 1, .bytes_max = kNameBytesMax};
    if (auto c = complain_of_line(what, key, rule)) return c;
    keys.push_back(key);
  }
  return complain_of_twice(what, std::move(keys));
}

Complaint complain_of_retry(const NodeSpec& node) {
  if (!node.retry) return std::nullopt;
  const auto& [max_retries, backoff, unless_exit] = *node.retry;
  if (auto c = complain_of_number("the number of retries", max_retries, 0, kRetriesMax)) return c;
  if (auto c = complain_of_enum("backoff kind", backoff.kind, BackoffKind::kExponential)) return c;
  if (auto c = complain_of_delay("retry delay", backoff.delay, kDelayMax)) return c;
  if (auto c = complain_of_delay("max_delay of retries", backoff.max_delay, kDelayMax)) return c;
  if (backoff.max_delay < backoff.delay) {
    return fmt::format("max_delay of retries is {}; it must not be less than the delay of {}",
                       to_text(backoff.max_delay), to_text(backoff.delay));
  }
  const auto jitter = backoff.jitter_permille;
  if (auto c = complain_of_number("jitter in permille", jitter, 0, kJitterPermilleMax)) return c;
  if (auto c = complain_of_size("exit codes", unless_exit.size(), kListMax)) return c;
  for (const std::int32_t code : unless_exit) {
    if (auto c = complain_of_number("exit code in unless_exit", code, 1, 255)) return c;
  }
  return std::nullopt;
}

Complaint complain_of_resources(const NodeSpec& node) {
  const Resources& resources = node.requirements.resources;
  if (auto c = complain_of_number("cpu in thousandths", resources.cpu_milli, 0, kAmountMax))
    return c;
  if (auto c = complain_of_number("memory in bytes", resources.memory_bytes, 0, kAmountMax))
    return c;
  if (auto c = complain_of_size("resources", resources.named.size(), kEntriesMax)) return c;
  if (auto c = complain_of_keys("resource name", resources.named)) return c;
  for (const auto& [name, amount] : resources.named) {
    if (amount >= 0 && amount <= kAmountMax) continue;
    return complain_of_number("resource " + in_quotes(name), amount, 0, kAmountMax);
  }
  return std::nullopt;
}

Complaint complain_of_requirements(const NodeSpec& node) {
  const auto& [queue, labels, runtime, worker, resources] = node.requirements;
  const LineRule rule{.bytes_min = 0, .bytes_max = kLabelBytesMax};
  if (auto c = complain_of_name("queue name", queue)) return c;
  if (auto c = complain_of_line("runtime", runtime, rule)) return c;
  if (auto c = complain_of_line("worker", worker.text, rule)) return c;
  if (auto c = complain_of_dots("worker", worker.text)) return c;
  if (auto c = complain_of_size("labels", labels.size(), kEntriesMax)) return c;
  if (auto c = complain_of_keys("label name", labels)) return c;
  for (const auto& [key, value] : labels) {
    if (auto c = complain_of_line("label value", value, rule)) return c;
  }
  return std::nullopt;
}

Complaint complain_of_schedule(const NodeSpec& node) {
  if (auto c = complain_of_enum("trigger rule", node.trigger, TriggerRule::kNoneSkipped)) return c;
  if (auto c = complain_of_number("priority", node.priority, -kPriorityMax, kPriorityMax)) return c;
  if (auto c = complain_of_timeout("execution timeout", node.execution_timeout)) return c;
  if (auto c = complain_of_timeout("scheduled_timeout", node.scheduled_timeout)) return c;
  if (auto c = complain_of_timeout("stale_after", node.stale_after)) return c;
  if (node.stale_counts.progress || node.stale_counts.output) return std::nullopt;
  return "stale_counts is empty, so nothing would count as a sign of life";
}

Complaint complain_of_range(const MapRange& range) {
  if (range.step == 0) return "the step of the map's range is 0";
  if (range.step > 0 ? range.first <= range.last : range.first >= range.last) return std::nullopt;
  return fmt::format("the map's range from {} to {} by {} is empty", range.first, range.last,
                     range.step);
}

Complaint complain_of_map(const NodeSpec& node) {
  if (!node.map) return std::nullopt;
  const MapSpec& map = *node.map;
  if (auto c = complain_of_number("max_parallel", map.max_parallel, 0, kParallelMax)) return c;
  if (auto c = complain_of_name("'as' of the map", map.as)) return c;
  if (map.as == "index") return "'as' of the map is 'index', which is reserved for its number";
  if (const auto* range = std::get_if<MapRange>(&map.over)) return complain_of_range(*range);
  const auto& items = std::get<std::vector<std::string>>(map.over);
  if (items.empty()) return "the map's list is empty";
  for (const std::string& item : items) {
    if (auto c = complain_of_argument("item of the map", item, kArgumentBytesMax)) return c;
  }
  return std::nullopt;
}

Complaint complain_of_outputs(const NodeSpec& node) {
  if (auto c = complain_of_size("outputs", node.outputs.size(), kListMax)) return c;
  for (const std::string& name : node.outputs) {
    if (auto c = complain_of_name("output", name)) return c;
  }
  return complain_of_twice("output", {node.outputs.begin(), node.outputs.end()});
}

Complaint complain_of_node_command(const NodeSpec& node) {
  return complain_of_command(node.command);
}

}  // namespace

Complaint complain_of_param(const ParamSpec& param) {
  if (auto c = complain_of_name("param", param.name)) return c;
  if (auto c = complain_of_enum("type of a param", param.type, ParamType::kObject)) return c;
  const LineRule rule{.bytes_min = 0, .bytes_max = kHelpBytesMax};
  if (auto c = complain_of_line("help of the param", param.help, rule)) return c;
  if (!param.fallback || param.fallback->size() <= kFallbackBytesMax) return std::nullopt;
  return fmt::format("the default has {} bytes; at most {} are allowed", param.fallback->size(),
                     kFallbackBytesMax);
}

Complaint complain_of_values(const NodeSpec& node) {
  for (const auto check :
       {complain_of_schedule, complain_of_requirements, complain_of_resources, complain_of_retry,
        complain_of_map, complain_of_node_command, complain_of_outputs}) {
    if (auto complaint = check(node)) return complaint;
  }
  return std::nullopt;
}

}  // namespace vortex
