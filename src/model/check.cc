#include "model/check.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/unseen.h"
#include "model/dag.h"
#include "model/passing/children.h"

namespace vortex {
namespace {

constexpr std::size_t kQuotedBytesMax = kNameBytesMax;  // a valid name is never cut

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_char(char c) { return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-'; }

unsigned char byte(char c) { return static_cast<unsigned char>(c); }

bool is_control(char c) { return byte(c) < 0x20 || byte(c) == 0x7f; }

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kQuotedBytesMax)) {
    // Bytes above ASCII too: the cut may have split a character.
    if (is_control(c) || byte(c) > 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte(c));
    } else {
      out += c;
    }
  }
  out += '\'';
  if (text.size() > kQuotedBytesMax) {
    fmt::format_to(std::back_inserter(out), "... ({} bytes)", text.size());
  }
  return out;
}

std::string short_text(Duration duration) {
  constexpr std::pair<Duration, const char*> kUnits[] = {
      {hours(24), "d"}, {hours(1), "h"}, {minutes(1), "m"}, {seconds(1), "s"}, {millis(1), "ms"}};
  for (const auto& [unit, name] : kUnits) {
    if (duration >= unit && duration.us % unit.us == 0) {
      return fmt::format("{}{}", duration.us / unit.us, name);
    }
  }
  return fmt::format("{}us", duration.us);
}

std::string to_text(Duration duration) {
  if (duration.us % seconds(1).us == 0) return fmt::format("{}s", duration.us / seconds(1).us);
  if (duration.us % millis(1).us == 0) return fmt::format("{}ms", duration.us / millis(1).us);
  return fmt::format("{}us", duration.us);
}

Complaint complain_of_name(std::string_view what, std::string_view name) {
  if (name.empty()) return fmt::format("{} is empty", what);
  if (name.size() > kNameBytesMax) {
    return fmt::format("{} {} is too long; at most {} characters are allowed", what,
                       in_quotes(name), kNameBytesMax);
  }
  if (!std::all_of(name.begin(), name.end(), is_name_char)) {
    return fmt::format("{} {} may contain only letters, digits, '_', '.' and '-'", what,
                       in_quotes(name));
  }
  if (!is_letter_or_digit(name.front())) {
    return fmt::format("{} {} must start with a letter or a digit", what, in_quotes(name));
  }
  return std::nullopt;
}

Complaint complain_of_line(std::string_view what, std::string_view text, LineRule rule) {
  if (text.size() < rule.bytes_min) return fmt::format("{} is empty", what);
  if (text.size() > rule.bytes_max) {
    return fmt::format("{} {} is too long; at most {} bytes are allowed", what, in_quotes(text),
                       rule.bytes_max);
  }
  const auto unseen = find_unseen(text);
  if (!unseen) return std::nullopt;
  if (unseen->is_direction) {
    return fmt::format("{} {} contains a character that changes the direction of text ({})", what,
                       in_quotes(text), unseen_text(*unseen));
  }
  return fmt::format("{} {} contains a control character", what, in_quotes(text));
}

Complaint complain_of_dots(std::string_view what, std::string_view id) {
  if (id != "." && id != "..") return std::nullopt;
  return fmt::format("{} {} is not allowed: '.' and '..' have a special meaning in paths and URLs",
                     what, in_quotes(id));
}

Complaint complain_of_argument(std::string_view what, std::string_view text,
                               std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return fmt::format("{} {} is too long; at most {} bytes are allowed", what, in_quotes(text),
                       bytes_max);
  }
  if (text.find('\0') != std::string_view::npos) {
    return fmt::format("{} {} contains a zero byte", what, in_quotes(text));
  }
  return std::nullopt;
}

Complaint complain_of_twice(std::string_view what, std::vector<std::string_view> texts) {
  std::sort(texts.begin(), texts.end());
  const auto twice = std::adjacent_find(texts.begin(), texts.end());
  if (twice == texts.end()) return std::nullopt;
  return fmt::format("{} {} is given twice", what, in_quotes(*twice));
}

Complaint complain_of_number(std::string_view what, std::int64_t number, std::int64_t low,
                             std::int64_t high) {
  if (number >= low && number <= high) return std::nullopt;
  return fmt::format("{} is {}; the allowed range is {} to {}", what, number, low, high);
}

Complaint complain_of_delay(std::string_view what, Duration delay, Duration high) {
  if (delay >= Duration{} && delay <= high) return std::nullopt;
  return fmt::format("{} is {}; the allowed range is 0s to {}", what, to_text(delay),
                     to_text(high));
}

Complaint complain_of_timeout(std::string_view what, std::optional<Duration> timeout) {
  // The upper end keeps `now + timeout` a valid Instant.
  if (!timeout || (*timeout > Duration{} && *timeout <= kForever)) return std::nullopt;
  return fmt::format("{} is {}; it must be more than 0s", what, to_text(*timeout));
}

namespace {

Complaint complain_of_words(std::string_view what, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (auto c = complain_of_argument(what, word, kArgumentBytesMax)) return c;
  }
  return std::nullopt;
}

// The first word names the program: of the shell if there is one, else of the arguments.
Complaint complain_of_program(const CommandLine& command) {
  const auto& words = command.shell.empty() ? command.argv : command.shell;
  if (words.empty() || !words.front().empty()) return std::nullopt;
  return "the name of the program to start is empty";
}

Complaint complain_of_environment(const CommandLine& command) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : command.env) {
    if (auto c = complain_of_variable(name, value)) return c;
    names.push_back(name);
  }
  return complain_of_twice("environment variable", std::move(names));
}

std::size_t bytes_of(const CommandLine& command) {
  std::size_t bytes = 0;
  for (const auto* words : {&command.argv, &command.shell}) {
    for (const std::string& word : *words) bytes += word.size() + 1;
  }
  for (const auto& [name, value] : command.env) bytes += name.size() + value.size() + 2;
  return bytes;
}

}  // namespace

Complaint complain_of_variable(std::string_view name, std::string_view value) {
  if (name.empty()) return "the name of an environment variable is empty";
  if (name.find('=') != std::string_view::npos) {
    return fmt::format("the name of environment variable {} contains a '='", in_quotes(name));
  }
  if (name.find_first_of(" \t\r\n\v\f") != std::string_view::npos) {
    return fmt::format("the name of environment variable {} contains a space", in_quotes(name));
  }
  if (auto c = complain_of_argument("environment variable", name, kNameBytesMax)) return c;
  // Name, '=' and value are one argument to the kernel.
  return complain_of_argument("environment value", value, kArgumentBytesMax - name.size() - 1);
}

Complaint complain_of_command(const CommandLine& command) {
  if (const std::size_t bytes = bytes_of(command); bytes > kCommandBytesMax) {
    return fmt::format("the command has {} bytes with its environment; at most {} are allowed",
                       bytes, kCommandBytesMax);
  }
  if (auto c = complain_of_program(command)) return c;
  if (auto c = complain_of_words("argument", command.argv)) return c;
  if (auto c = complain_of_words("word of the shell", command.shell)) return c;
  if (auto c = complain_of_environment(command)) return c;
  return complain_of_argument("workdir", command.workdir, kPathBytesMax);
}

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
  const auto& [max_retries, backoff, unless_exit, only_exit, on] = *node.retry;
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
  if (auto c = complain_of_size("exit codes", only_exit.size(), kListMax)) return c;
  for (const std::int32_t code : only_exit) {
    if (auto c = complain_of_number("exit code in only_exit", code, 1, 255)) return c;
  }
  if (!only_exit.empty() && !unless_exit.empty()) {
    return "retry has both only_exit and unless_exit; use only one of them";
  }
  if (auto c = complain_of_size("causes in retry.on", on.size(), kListMax)) return c;
  for (const RetryCause cause : on) {
    if (auto c = complain_of_enum("cause in retry.on", cause, RetryCause::kStale)) return c;
  }
  if (!only_exit.empty() && !on.empty() && std::ranges::find(on, RetryCause::kFailed) == on.end()) {
    return "retry has only_exit, but 'failed' is missing in retry.on";
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
  const auto& [queue, labels, runtime, worker, resources, user] = node.requirements;
  const LineRule rule{.bytes_min = 0, .bytes_max = kLabelBytesMax};
  if (auto c = complain_of_name("queue name", queue)) return c;
  if (auto c = complain_of_line("runtime", runtime, rule)) return c;
  if (auto c = complain_of_line("worker", worker.text, rule)) return c;
  if (auto c = complain_of_dots("worker", worker.text)) return c;
  if (!user.empty()) {
    if (auto c = complain_of_name("user", user)) return c;
  }
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
  if (is_late(map)) return std::nullopt;  // its expression is checked with all others
  if (const auto* range = std::get_if<MapRange>(&map.over)) return complain_of_range(*range);
  const auto& items = std::get<std::vector<std::string>>(map.over);
  if (items.empty()) return "the map's list is empty";
  for (const std::string& item : items) {
    if (auto c = complain_of_argument("item of the map", item, kArgumentBytesMax)) return c;
  }
  return std::nullopt;
}

// Each item of a map would be sent them.
Complaint complain_of_inputs(const NodeSpec& node) {
  if (node.inputs.empty()) return std::nullopt;
  if (node.map) return "a map cannot have 'inputs'; pass what an item needs through env";
  return complain_of_size("inputs", node.inputs.size(), kListMax);
}

Complaint complain_of_outputs(const NodeSpec& node) {
  if (auto c = complain_of_size("outputs", node.outputs.size(), kListMax)) return c;
  for (const std::string& name : node.outputs) {
    if (auto c = complain_of_name("output", name)) return c;
  }
  return complain_of_twice("output", {node.outputs.begin(), node.outputs.end()});
}

Complaint complain_of_secret(const SecretUse& use) {
  if (auto c = complain_of_secret_name(use.secret)) return c;
  if (use.file) return complain_of_name("file of a secret", use.as);
  if (use.as.starts_with("VORTEX_")) {
    return fmt::format("the variable {} of a secret starts with VORTEX_, which is reserved",
                       in_quotes(use.as));
  }
  return complain_of_variable(use.as, {});
}

Complaint complain_of_secrets(const NodeSpec& node) {
  if (auto c = complain_of_size("secrets", node.secrets.size(), kEntriesMax)) return c;
  std::vector<std::string_view> variables;
  std::vector<std::string_view> files;
  for (const SecretUse& use : node.secrets) {
    if (auto c = complain_of_secret(use)) return c;
    (use.file ? files : variables).push_back(use.as);
  }
  if (auto c = complain_of_twice("file of a secret", files)) return c;
  if (variables.empty()) return std::nullopt;
  for (const auto& [name, value] : node.command.env) {
    if (std::ranges::find(variables, name) != variables.end()) {
      return fmt::format("the variable {} is in both env and secrets", in_quotes(name));
    }
  }
  return complain_of_twice("variable of a secret", variables);
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

Complaint complain_of_secret_name(std::string_view name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty()) return "the name of a secret is empty";
  if (name.size() > kSecretNameBytesMax) {
    return fmt::format("the name of a secret has {} bytes; at most {} are allowed", name.size(),
                       kSecretNameBytesMax);
  }
  const bool fine = is_plain(name.front()) && std::ranges::all_of(name, [&](char c) {
                      return is_plain(c) || c == '.' || c == '_' || c == '/' || c == '-';
                    });
  if (fine) return std::nullopt;
  return fmt::format(
      "{} is not the name of a secret: names have lower-case letters, digits, '.', '_', '/' and "
      "'-', with a letter or digit in front",
      in_quotes(name));
}

Complaint read_secret_reference(std::string_view text, SecretUse& out) {
  const std::size_t mark = text.find('@');
  out.secret = text.substr(0, mark);
  out.version = 0;
  if (mark != text.npos) {
    const std::string_view number = text.substr(mark + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), out.version);
    if (error != std::errc{} || end != number.data() + number.size() || out.version == 0 ||
        number.front() == '0') {
      return fmt::format("{} is not the version of a secret: write NAME@3, or NAME for the latest",
                         in_quotes(number));
    }
  }
  return complain_of_secret_name(out.secret);
}

Complaint complain_of_values(const NodeSpec& node) {
  for (const auto check :
       {complain_of_wait, complain_of_child, complain_of_schedule, complain_of_requirements,
        complain_of_resources, complain_of_retry, complain_of_map, complain_of_node_command,
        complain_of_inputs, complain_of_outputs, complain_of_secrets, complain_of_limits}) {
    if (auto complaint = check(node)) return complaint;
  }
  return std::nullopt;
}

namespace {

using Kind = DagError::Kind;
using Fault = std::optional<DagError>;

Fault find_wrong_size(const DagSpec& spec, const DagLimits& limits) {
  if (spec.nodes.empty()) return DagError{Kind::kEmpty, "", "a DAG needs at least one task"};
  if (std::ranges::all_of(spec.nodes, &NodeSpec::finally)) {
    return DagError{Kind::kEmpty, "", "a DAG needs at least one task besides those in 'finally'"};
  }
  if (spec.nodes.size() > limits.nodes_max) {
    return DagError{
        Kind::kTooManyNodes, "",
        fmt::format("{} tasks are too many; the limit is {}", spec.nodes.size(), limits.nodes_max)};
  }
  std::size_t needs = 0;
  for (const NodeSpec& node : spec.nodes) needs += node.needs.size();
  if (needs <= limits.needs_max) return std::nullopt;
  return DagError{
      Kind::kTooManyNeeds, "",
      fmt::format("{} dependencies are too many; the limit is {}", needs, limits.needs_max)};
}

Fault find_bad_name(const DagSpec& spec) {
  if (auto c = complain_of_name("the DAG's name", spec.name)) {
    return DagError{Kind::kBadName, "", *std::move(c)};
  }
  for (std::size_t i = 0; i < spec.nodes.size(); ++i) {
    const std::string& name = spec.nodes[i].name;
    auto c = complain_of_name("name", name);
    if (!c) continue;
    // A name that is not even a line of text is not repeated; the position tells the node.
    const bool shown =
        !complain_of_line("name", name, {.bytes_min = 1, .bytes_max = kNameBytesMax});
    return DagError{Kind::kBadName, shown ? name : "", fmt::format("node {}: {}", i + 1, *c)};
  }
  return std::nullopt;
}

Fault find_duplicate_name(const DagSpec& spec) {
  std::vector<std::pair<std::string_view, std::size_t>> names;
  names.reserve(spec.nodes.size());
  for (const NodeSpec& node : spec.nodes) names.emplace_back(node.name, names.size() + 1);
  std::sort(names.begin(), names.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto twice = std::adjacent_find(names.begin(), names.end(), same);
  if (twice == names.end()) return std::nullopt;
  return DagError{
      Kind::kDuplicateName, std::string(twice->first),
      fmt::format("tasks {} and {} have the same name", twice->second, std::next(twice)->second)};
}

Fault find_bad_param(const DagSpec& spec) {
  if (spec.params.size() > kListMax) {
    return DagError{
        Kind::kBadValue,
        "",
        fmt::format("{} params are too many; the limit is {}", spec.params.size(), kListMax),
        {"params"}};
  }
  std::vector<std::string_view> names;
  for (const ParamSpec& param : spec.params) {
    if (auto c = complain_of_param(param)) {
      return DagError{Kind::kBadValue, "", *std::move(c), {"params", param.name}};
    }
    names.push_back(param.name);
  }
  auto c = complain_of_twice("param", std::move(names));
  if (!c) return std::nullopt;
  return DagError{Kind::kBadValue, "", *std::move(c), {"params"}};
}

Fault find_bad_output(const DagSpec& spec) {
  const auto fault = [](std::string detail, std::vector<std::string> member) {
    return DagError{Kind::kBadValue, "", std::move(detail), std::move(member)};
  };
  if (spec.outputs.size() > kListMax) {
    return fault(
        fmt::format("{} outputs are too many; the limit is {}", spec.outputs.size(), kListMax),
        {"outputs"});
  }
  std::vector<std::string_view> names;
  for (const auto& [name, text] : spec.outputs) {
    auto c = complain_of_name("output", name);
    if (!c) c = complain_of_argument("output", text, kArgumentBytesMax);
    if (c) return fault(*std::move(c), {"outputs", name});
    names.push_back(name);
  }
  auto c = complain_of_twice("output", std::move(names));
  if (!c) return std::nullopt;
  return fault(*std::move(c), {"outputs"});
}

Fault find_bad_value(const DagSpec& spec, const DagLimits& limits) {
  if (auto c = complain_of_timeout("run timeout", spec.run_timeout)) {
    return DagError{Kind::kBadValue, "", *std::move(c), {"timeout"}};
  }
  if (auto c = complain_of_timeout("finally_timeout", spec.finally_timeout)) {
    return DagError{Kind::kBadValue, "", *std::move(c), {"finally_timeout"}};
  }
  if (auto fault = find_bad_param(spec)) return fault;
  if (auto fault = find_bad_output(spec)) return fault;
  if (auto fault = find_bad_schedule(spec, limits.zones)) return fault;
  if (auto fault = find_bad_concurrency(spec)) return fault;
  for (const NodeSpec& node : spec.nodes) {
    if (auto c = complain_of_values(node)) {
      return DagError{Kind::kBadValue, node.name, *std::move(c)};
    }
  }
  return std::nullopt;
}

Fault find_too_many_tasks(const DagSpec& spec, const DagLimits& limits) {
  std::uint64_t tasks = 0;
  std::uint32_t late = 0;
  for (const NodeSpec& node : spec.nodes) {
    if (node.map && is_late(*node.map) && ++late > limits.late_maps_max) {
      return DagError{Kind::kBadValue, node.name,
                      fmt::format("is map number {} over an expression; at most {} are allowed",
                                  late, limits.late_maps_max)};
    }
    const std::uint64_t more = node.map ? count_items(*node.map) : 1;
    if (more > limits.tasks_max - tasks) {
      return DagError{Kind::kTooManyTasks, node.name,
                      fmt::format("{} more tasks after {} are too many; the limit is {}", more,
                                  tasks, limits.tasks_max)};
    }
    tasks += more;
  }
  return std::nullopt;
}

}  // namespace

void sort_names(DagSpec& spec) {
  for (NodeSpec& node : spec.nodes) {
    std::sort(node.requirements.labels.begin(), node.requirements.labels.end());
    std::sort(node.limits.begin(), node.limits.end());
    std::sort(node.requirements.resources.named.begin(), node.requirements.resources.named.end());
  }
}

std::optional<DagError> find_fault(const DagSpec& spec, const DagLimits& limits) {
  if (auto fault = find_wrong_size(spec, limits)) return fault;
  if (auto fault = find_bad_name(spec)) return fault;
  if (auto fault = find_duplicate_name(spec)) return fault;
  if (auto fault = find_bad_value(spec, limits)) return fault;
  return find_too_many_tasks(spec, limits);
}

}  // namespace vortex
