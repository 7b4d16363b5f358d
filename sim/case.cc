#include "sim/case.h"

#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vortex::sim {

namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::optional<std::uint64_t> number(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

template <class Enum>
std::optional<Enum> by_name(std::string_view word) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Enum::kCount); ++i) {
    if (to_text(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

bool add_numbers(std::set<std::uint32_t>& to, std::span<const std::string_view> words) {
  for (const auto word : words) {
    const auto value = number(word);
    if (!value) return false;
    to.insert(static_cast<std::uint32_t>(*value));
  }
  return true;
}

bool add_kinds(std::set<FaultKind>& to, std::span<const std::string_view> words) {
  for (const auto word : words) {
    const auto kind = by_name<FaultKind>(word);
    if (!kind) return false;
    to.insert(*kind);
  }
  return true;
}

bool read_line(Case& c, std::string_view key, std::span<const std::string_view> values) {
  if (key == "off") return add_kinds(c.off, values);
  if (key == "no-faults") return add_numbers(c.no_faults, values);
  if (key == "no-acts") return add_numbers(c.no_acts, values);
  if (key == "no-workers") return add_numbers(c.no_workers, values);
  if (values.size() != 1) return false;
  if (key == "seed") {
    const auto value = number(values[0]);
    if (value) c.seed = *value;
    return value.has_value();
  }
  if (key == "drawing") {
    const auto value = number(values[0]);
    if (value) c.drawing = static_cast<std::uint32_t>(*value);
    return value && *value >= kFirstDrawing && *value <= kPresentDrawing;
  }
  if (key == "scenario") {
    const auto scenario = by_name<Scenario>(values[0]);
    if (scenario) c.scenario = *scenario;
    return scenario.has_value();
  }
  return false;
}

}  // namespace

std::string to_text(const Case& c) {
  std::string text = fmt::format("# {}\nseed {}\n", c.note, c.seed);
  if (c.drawing != kFirstDrawing) text += fmt::format("drawing {}\n", c.drawing);
  if (c.scenario != Scenario::kBySeed) text += fmt::format("scenario {}\n", to_text(c.scenario));
  std::vector<std::string_view> off;
  off.reserve(c.off.size());
  for (const FaultKind kind : c.off) off.push_back(to_text(kind));
  if (!off.empty()) text += fmt::format("off {}\n", fmt::join(off, " "));
  if (!c.no_faults.empty()) text += fmt::format("no-faults {}\n", fmt::join(c.no_faults, " "));
  if (!c.no_acts.empty()) text += fmt::format("no-acts {}\n", fmt::join(c.no_acts, " "));
  if (!c.no_workers.empty()) text += fmt::format("no-workers {}\n", fmt::join(c.no_workers, " "));
  return text;
}

std::expected<Case, std::string> parse_case(std::string_view text) {
  Case c;
  c.drawing = kFirstDrawing;
  std::uint32_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (line.starts_with("# ") && c.note.empty()) c.note = line.substr(2);
    const auto words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) continue;
    if (!read_line(c, words[0], std::span(words).subspan(1))) {
      return std::unexpected(fmt::format("line {}: cannot read `{}`", line_number, line));
    }
  }
  return c;
}

std::string replay_command(const Case& c) {
  std::string line = fmt::format("scripts/sim --seed {} --trace", c.seed);
  if (c.scenario != Scenario::kBySeed) line += fmt::format(" --scenario {}", to_text(c.scenario));
  return line;
}

}  // namespace vortex::sim
