#include "model/ids.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace vortex {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Takes a number from the front of `text`. Digits only, and none that does not fit.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// As above, and only in the one form that we print: two texts never name the same task.
template <class Number>
std::optional<Number> take_canonical(std::string_view& text) {
  if (text.size() > 1 && text[0] == '0' && is_decimal(text[1])) return std::nullopt;
  return take_number<Number>(text);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string to_text(RunId run) { return fmt::format("r{}", run.value); }

std::string to_text(TaskId task) {
  return fmt::format("r{}-L{}-{}", task.run.value, task.level, task.index);
}

std::optional<RunId> parse_run_id(std::string_view text) {
  if (!take_prefix(text, "r")) return std::nullopt;
  const auto run = take_canonical<std::uint64_t>(text);
  if (!run || !text.empty()) return std::nullopt;
  return RunId{*run};
}

std::optional<TaskId> parse_task_id(std::string_view text) {
  if (!take_prefix(text, "r")) return std::nullopt;
  const auto run = take_canonical<std::uint64_t>(text);
  if (!run || !take_prefix(text, "-L")) return std::nullopt;
  const auto level = take_canonical<std::uint32_t>(text);
  if (!level || !take_prefix(text, "-")) return std::nullopt;
  const auto index = take_canonical<std::uint32_t>(text);
  if (!index || !text.empty()) return std::nullopt;
  return TaskId{.run = {*run}, .index = *index, .level = *level};
}

std::optional<std::uint32_t> level_from_id(std::string_view text) {
  constexpr std::string_view kMark = "-L";
  for (auto at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + 1)) {
    const auto digits = text.substr(at + kMark.size());
    const auto length = digits.find_first_not_of("0123456789");
    if (length == 0 || length == std::string_view::npos || digits[length] != '-') continue;
    auto number = digits.substr(0, length);
    return take_number<std::uint32_t>(number);
  }
  return std::nullopt;
}

}  // namespace vortex
