#include "api/query.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace vortex::api {

namespace {

constexpr std::uint64_t kQueryNumberMax = std::numeric_limits<std::int64_t>::max();

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// As answers write times, the fraction of a second may be left out.
std::optional<Instant> parse_utc(std::string_view text) {
  constexpr std::size_t kSecondsEnd = 19;  // YYYY-MM-DDTHH:MM:SS
  if (text.size() <= kSecondsEnd || text[10] != 'T' || !text.ends_with('Z')) return std::nullopt;
  std::string whole(text.substr(0, text.size() - 1));
  whole[10] = ' ';
  if (whole.size() == kSecondsEnd) whole += '.';
  if (whole.size() < kTimeTextSize) whole.resize(kTimeTextSize, '0');
  return parse_time_text(whole);
}

}  // namespace

std::string QueryReader::text(std::string_view name) const {
  return std::string(query_.find(name).value_or(std::string_view{}));
}

std::uint64_t QueryReader::number(std::string_view name, Bounds bounds) {
  const auto value = query_.find(name);
  if (!value) return bounds.fallback;
  const auto number = parse_number(*value);
  if (number && *number >= bounds.min && *number <= bounds.max) return *number;
  wrong(name, *value, fmt::format("a whole number from {} to {}", bounds.min, bounds.max));
  return bounds.fallback;
}

std::optional<std::uint64_t> QueryReader::number(std::string_view name) {
  if (!has(name)) return std::nullopt;
  return number(name, {0, 0, kQueryNumberMax});
}

bool QueryReader::flag(std::string_view name) {
  const auto value = query_.find(name);
  if (!value || *value == "false" || *value == "0") return false;
  if (!value->empty() && *value != "true" && *value != "1") wrong(name, *value, "true or false");
  return true;
}

std::optional<Instant> QueryReader::time(std::string_view name) {
  const auto value = query_.find(name);
  if (!value) return std::nullopt;
  const auto at = parse_utc(*value);
  if (!at) wrong(name, *value, "a time like 2026-02-22T22:59:55Z");
  return at;
}

std::optional<RunId> QueryReader::run(std::string_view name) {
  const auto value = query_.find(name);
  if (!value) return std::nullopt;
  const auto id = parse_run_id(*value);
  if (!id) wrong(name, *value, "a run id like r42");
  return id;
}

std::optional<TaskId> QueryReader::task(std::string_view name) {
  const auto value = query_.find(name);
  if (!value) return std::nullopt;
  const auto id = parse_task_id(*value);
  if (!id) wrong(name, *value, "a task id like r42-L1-7");
  return id;
}

std::optional<std::size_t> QueryReader::word(std::string_view name, Names words) {
  const auto value = query_.find(name);
  if (!value) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (same_ignoring_case(words[i], *value)) return i;
  }
  wrong(name, *value, fmt::format("one of {}", fmt::join(words, ", ")));
  return std::nullopt;
}

Labels QueryReader::labels(std::string_view name) {
  Labels labels;
  for (const auto& [key, value] : query_.items) {
    if (key != name) continue;
    const auto split = value.find('=');
    if (split == std::string::npos || split == 0) {
      wrong(name, value, "key=value");
    } else {
      labels.emplace_back(value.substr(0, split), value.substr(split + 1));
    }
  }
  std::ranges::sort(labels);
  return labels;
}

store::PageRequest QueryReader::page(Bounds bounds) {
  store::PageRequest page;
  page.limit = static_cast<std::uint32_t>(number("limit", bounds));
  page.cursor = text("cursor");
  return page;
}

void QueryReader::wrong(std::string_view name, std::string_view value, std::string_view wanted) {
  if (trouble_) return;
  constexpr std::size_t kShownMax = 80;
  trouble_ = api::trouble(Code::kBadQuery, fmt::format("{}='{}': it must be {}", name,
                                                       value.substr(0, kShownMax), wanted));
}

}  // namespace vortex::api
