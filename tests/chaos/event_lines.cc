#include "tests/chaos/event_lines.h"

#include <optional>
#include <set>
#include <string_view>

#include <boost/json.hpp>

#include "cli/screen/human.h"

namespace vortex::chaos {

namespace {

namespace json = boost::json;

// Keys of events are literals; those that are read live as long.
const char* lasting(std::string_view key) {
  static std::set<std::string, std::less<>> keys;
  return keys.emplace(key).first->c_str();
}

std::string text_at(const json::object& line, std::string_view key) {
  const json::value* found = line.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

std::optional<Event> read_event(const json::object& line) {
  const auto kind = from_text<EventKind>(text_at(line, "event"));
  const auto at = cli::parse_time(text_at(line, "ts"));
  const json::value* seq = line.if_contains("seq");
  const json::value* data = line.if_contains("data");
  if (!kind || !at || seq == nullptr || data == nullptr || !data->is_object()) return std::nullopt;
  Event event;
  event.seq = seq->to_number<std::uint64_t>();
  event.at = *at;
  event.kind = *kind;
  event.worker = WorkerId(text_at(line, "worker_id"));
  event.task_name = text_at(line, "task");
  if (const auto task = text_at(line, "task_id"); !task.empty()) {
    event.task = parse_task_id(task);
    if (!event.task) return std::nullopt;
  }
  event.run = parse_run_id(text_at(line, "run_id"));
  for (const auto& [key, value] : data->get_object()) {
    if (value.is_string()) {
      event.data.emplace_back(lasting(key), std::string(value.get_string()));
    } else {
      event.data.emplace_back(lasting(key), value.to_number<std::int64_t>());
    }
  }
  return event;
}

}  // namespace

std::expected<std::vector<Event>, std::string> read_events(const EventBlock& block) {
  std::vector<Event> events;
  std::string_view rest = block.lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    boost::system::error_code error;
    const json::value parsed = json::parse(line, error);
    const auto event =
        !error && parsed.is_object() ? read_event(parsed.get_object()) : std::nullopt;
    if (!event) return std::unexpected("cannot read this line of the log: " + std::string(line));
    events.push_back(*event);
  }
  return events;
}

}  // namespace vortex::chaos
