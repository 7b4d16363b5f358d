#include "codec/reading.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/assert.h"
#include "base/text.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

constexpr std::size_t kShownDigits = 40;
constexpr std::size_t kKeysListedMax = 12;

// What other tools, or earlier versions, call things, and what is too far away for a typo. `help`
// is for where our word is no key either: it says where that one belongs. `note` is for where it is
// one and its value means something else than one would think. VALUE stands for what was given.
struct OtherWord {
  std::string_view word;
  std::string_view ours;
  std::string_view help = {};
  std::string_view note = {};
};
constexpr std::string_view kValueMark = "VALUE";
constexpr std::string_view kRetryHelp =
    "write retries: VALUE in a task, or in 'defaults' for all tasks";
constexpr std::string_view kMaxNote =
    "'attempts' is called 'max' here: the number of retries after the first try; "
    "write retry: {max: VALUE}";
constexpr std::string_view kRetriesNote =
    "did you mean 'retries'? It is the number of retries after the first try: retries: VALUE";
constexpr std::string_view kRunHelp = "the command of a task is its 'run'";
constexpr std::string_view kNeedsHelp = "a task lists the tasks it waits for in 'needs'";
constexpr std::string_view kTimeoutHelp = "write timeout: 90s, a number with a unit";
constexpr std::string_view kWhenHelp =
    "use 'trigger_rule' to depend on how the needed tasks ended; other conditions are not "
    "supported yet";
constexpr std::string_view kParallelHelp =
    "'max_parallel' of a map limits how many of its tasks run at once";
constexpr std::string_view kImageHelp =
    "tasks run directly on the worker: select one with 'labels' or 'runtime', or start it with "
    "--launcher container --container-root DIR";
constexpr std::string_view kScheduleHelp =
    "write schedule: {cron: \"30 2 * * *\", timezone: Europe/Berlin}";
constexpr std::array<OtherWord, 47> kOtherWords{{
    {"attempts", "max", {}, kMaxNote},
    {"retries", "max"},
    {"max_retries", "max"},
    {"max_attempts", "max"},
    {"attempts", "retries", kRetryHelp, kRetriesNote},
    {"retries", "retries", kRetryHelp},
    {"retires", "retries", kRetryHelp},
    {"max_retries", "retries", kRetryHelp},
    {"max_attempts", "retries", kRetryHelp, kRetriesNote},
    {"depends_on", "needs", kNeedsHelp},
    {"dependencies", "needs", kNeedsHelp},
    {"depends", "needs", kNeedsHelp},
    {"after", "needs", kNeedsHelp},
    {"command", "run", kRunHelp},
    {"cmd", "run", kRunHelp},
    {"script", "run", kRunHelp},
    {"args", "run", kRunHelp},
    {"environment", "env"},
    {"variables", "env"},
    {"cwd", "workdir"},
    {"working_directory", "workdir"},
    {"foreach", "map"},
    {"parameters", "params"},
    {"timeout_seconds", "", kTimeoutHelp},
    {"timeout_secs", "", kTimeoutHelp},
    {"timeout_minutes", "", kTimeoutHelp},
    {"when", "", kWhenHelp},
    {"condition", "", kWhenHelp},
    {"parallelism", "max_parallel", kParallelHelp},
    {"max_parallel", "max_parallel", kParallelHelp},
    {"concurrency_limit", "max_parallel", kParallelHelp},
    {"image", "", kImageHelp},
    {"container", "", kImageHelp},
    {"cron", "", kScheduleHelp},
    {"schedules", "", kScheduleHelp},
    {"schedule_interval", "", kScheduleHelp},
    {"tz", "timezone"},
    {"time_zone", "timezone"},
    {"interval", "every"},
    {"start", "from"},
    {"start_date", "from"},
    {"end", "until"},
    {"end_date", "until"},
    {"concurrency_policy", "overlap"},
    {"concurrencyPolicy", "overlap"},
    {"backfill", "catchup"},
    {"jobs", "tasks"},
}};

std::string filled_in(std::string_view help, std::string_view value) {
  std::string out(help);
  const std::size_t mark = out.find(kValueMark);
  if (mark != out.npos) out.replace(mark, kValueMark.size(), value);
  return out;
}

std::string known_as(std::string_view wanted, std::span<const std::string_view> known,
                     std::string_view value) {
  std::string_view help;
  for (const OtherWord& other : kOtherWords) {
    if (other.word != wanted) continue;
    if (std::ranges::find(known, other.ours) != known.end()) {
      if (!other.note.empty()) return filled_in(other.note, value);
      return fmt::format("did you mean {}?", in_quotes(other.ours));
    }
    help = other.help;
  }
  return filled_in(help, value);
}

std::string meant(std::string_view wanted, std::span<const std::string_view> known,
                  std::string_view value = {}) {
  const std::string_view near = nearest_name(wanted, known);
  if (!near.empty()) return fmt::format("did you mean {}?", in_quotes(near));
  return known_as(wanted, known, value);
}

// A short list is better than no help; the long ones are in the docs.
std::string meant_key(std::string_view wanted, std::span<const std::string_view> known,
                      std::string_view value) {
  std::string help = meant(wanted, known, value);
  if (!help.empty() || known.empty() || known.size() > kKeysListedMax) return help;
  return fmt::format("the keys are {}", fmt::join(known, ", "));
}

template <class Number>
void out_of_range(Reading& in, NodeIx node, Number low, Number high) {
  in.problem(node, fmt::format("{} is {}; the allowed range is {} to {}",
                               in.document().name_of(node), in.shown(node), low, high));
}

template <class Number>
bool parse_number(Reading& in, NodeIx node, Number low, Number high, Number& out) {
  if (in.document().kind(node) != NodeKind::kInteger) {
    const bool quoted = in.document().kind(node) == NodeKind::kText;
    in.wrong_type(node, "a whole number", quoted ? "write the number without quotes" : "");
    return false;
  }
  const std::string_view digits = in.document().text(node);
  Number number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc{} || stop != end || number < low || number > high) {
    out_of_range(in, node, low, high);
    return false;
  }
  out = number;
  return true;
}

}  // namespace

void Reading::problem(NodeIx node, std::string message, std::string help) {
  if (full()) return;
  const Position at = document_.position_of(node);
  const auto later = std::ranges::upper_bound(problems_, node, {}, &Found::node);
  problems_.insert(later, {.node = node,
                           .problem = {.pointer = document_.pointer_to(node),
                                       .message = std::move(message),
                                       .help = std::move(help),
                                       .line = at.line,
                                       .column = at.column}});
}

Problems Reading::take_problems() {
  VX_ASSERT(!fine());
  Problems problems;
  for (Found& found : problems_) problems.push_back(std::move(found.problem));
  problems_.clear();
  return problems;
}

std::string Reading::shown(NodeIx node) const {
  const std::string_view text = document_.text(node);
  switch (document_.kind(node)) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kFalse:
      return "false";
    case NodeKind::kTrue:
      return "true";
    case NodeKind::kInteger:
    case NodeKind::kDecimal:
      if (text.size() <= kShownDigits) return std::string(text);
      return fmt::format("{}... ({} digits)", text.substr(0, kShownDigits), text.size());
    case NodeKind::kText:
      return in_quotes(text);
    case NodeKind::kArray:
      return "a list";
    case NodeKind::kObject:
      return std::string(object_word(document_.syntax()));
  }
  VX_ASSERT(false && "a value outside NodeKind");
}

void Reading::wrong_type(NodeIx node, std::string_view wanted, std::string help) {
  if (full()) return;
  problem(node,
          fmt::format("{} is {}; it must be {}", document_.name_of(node), shown(node), wanted),
          std::move(help));
}

void Reading::unknown_key(NodeIx key, std::string_view owner,
                          std::span<const std::string_view> known) {
  if (full()) return;
  const std::string_view name = document_.text(key);
  const NodeIx value = key + 1;
  const bool number = document_.kind(value) == NodeKind::kInteger;
  problem(key,
          fmt::format("unknown key {} in {}{}{}", in_quotes(name), owner, owner.empty() ? "" : " ",
                      document_.owner_of(key)),
          meant_key(name, known, number ? shown(value) : "3"));
}

void Reading::duplicate_key(NodeIx key) {
  if (full()) return;
  problem(key, fmt::format("key {} is given twice", in_quotes(document_.text(key))));
}

void Reading::missing_key(NodeIx object, std::string_view name) {
  if (full()) return;
  problem(object, fmt::format("{} has no {}", document_.name_of(object), in_quotes(name)));
}

std::string_view object_word(Syntax syntax) {
  return syntax == Syntax::kYaml ? "a map" : "an object";
}

bool is_object(Reading& in, NodeIx node) {
  if (in.document().kind(node) == NodeKind::kObject) return true;
  in.wrong_type(node, object_word(in.document().syntax()));
  return false;
}

bool is_array(Reading& in, NodeIx node) {
  if (in.document().kind(node) == NodeKind::kArray) return true;
  in.wrong_type(node, "a list");
  return false;
}

std::optional<std::string_view> text_of(Reading& in, NodeIx node) {
  const NodeKind kind = in.document().kind(node);
  if (kind == NodeKind::kText) return in.document().text(node);
  const bool scalar = kind != NodeKind::kNull && kind < NodeKind::kText;
  std::string help;
  if (scalar && !in.full()) help = fmt::format("put it in quotes: \"{}\"", in.shown(node));
  in.wrong_type(node, "a string", std::move(help));
  return std::nullopt;
}

void read_text(Reading& in, NodeIx node, std::string& out) {
  if (const auto text = text_of(in, node)) out = *text;
}

void read_flag(Reading& in, NodeIx node, bool& out) {
  const NodeKind kind = in.document().kind(node);
  if (kind != NodeKind::kTrue && kind != NodeKind::kFalse) {
    in.wrong_type(node, "true or false");
    return;
  }
  out = kind == NodeKind::kTrue;
}

void read_texts(Reading& in, NodeIx node, std::vector<std::string>& out) {
  if (!is_array(in, node)) return;
  out.clear();
  out.reserve(in.document().count(node));
  in.document().each_item(node, [&](NodeIx item) {
    if (in.full()) return;
    if (const auto text = text_of(in, item)) out.emplace_back(*text);
  });
}

bool parse_signed(Reading& in, NodeIx node, std::int64_t low, std::int64_t high,
                  std::int64_t& out) {
  return parse_number(in, node, low, high, out);
}

bool parse_unsigned(Reading& in, NodeIx node, std::uint64_t low, std::uint64_t high,
                    std::uint64_t& out) {
  return parse_number(in, node, low, high, out);
}

void not_a_word(Reading& in, NodeIx node, std::span<const std::string_view> words) {
  if (in.full()) return;
  in.problem(node,
             fmt::format("{} is {}; it must be {}{}", in.document().name_of(node), in.shown(node),
                         words.size() > 1 ? "one of " : "", fmt::join(words, ", ")),
             meant(in.document().text(node), words));
}

bool is_object_of_names(Reading& in, NodeIx node) {
  if (!is_object(in, node)) return false;
  if (in.document().count(node) < 2) return true;
  std::vector<std::pair<std::string_view, NodeIx>> keys;
  keys.reserve(in.document().count(node));
  in.document().each_member(
      node, [&](NodeIx key, NodeIx) { keys.emplace_back(in.document().text(key), key); });
  std::ranges::sort(keys);
  for (std::size_t i = 1; i < keys.size() && !in.full(); ++i) {
    if (keys[i].first == keys[i - 1].first) in.duplicate_key(keys[i].second);
  }
  return true;
}

}  // namespace vortex::codec
