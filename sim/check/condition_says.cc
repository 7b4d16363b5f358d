#include "sim/check/condition_says.h"

#include <charconv>
#include <string>
#include <vector>

namespace vortex::sim {

namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + by.size());
  }
}

std::string_view between(std::string_view text, std::string_view first, std::string_view last) {
  const std::size_t begin = text.find(first);
  if (begin == text.npos) return {};
  text.remove_prefix(begin + first.size());
  return text.substr(0, text.find(last));
}

std::int64_t number_behind(std::string_view text, std::string_view mark) {
  std::int64_t number = 0;
  const std::size_t at = text.find(mark);
  if (at == text.npos) return number;
  text.remove_prefix(at + mark.size());
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

ConditionSays yes_or_no(bool yes) { return yes ? ConditionSays::kYes : ConditionSays::kNo; }

std::string_view task_in(std::string_view atom) {
  const std::string_view reads = between(atom, "tasks.", ".outputs");
  return reads.empty() ? between(atom, "(", ")") : reads;
}

ConditionSays atom_says(std::string_view atom, const ConditionView& view) {
  if (atom == "true" || atom == "false") return yes_or_no(atom == "true");
  const std::string_view task = task_in(atom);
  if (atom.starts_with("params.n == ")) {
    if (!view.param) return ConditionSays::kUnclear;
    return yes_or_no(*view.param == number_behind(atom, "== "));
  }
  if (atom.starts_with("succeeded(")) return yes_or_no(view.end_of(task) == NamedEnd::kSucceeded);
  if (atom.starts_with("failed(")) return yes_or_no(view.end_of(task) == NamedEnd::kFailed);
  if (atom.starts_with("skipped(")) return yes_or_no(view.end_of(task) == NamedEnd::kSkipped);
  std::optional<std::int64_t> value = view.value_of(task);
  if (!value && atom.starts_with('(')) value = number_behind(atom, "?? ");
  if (!value) return ConditionSays::kUnclear;
  return yes_or_no(*value >= number_behind(atom, ">= "));
}

}  // namespace

ConditionSays read_drawn(std::string_view condition, const ConditionView& view) {
  const bool any = condition.contains(" or ");
  const auto atoms = split(condition, any ? " or " : " and ");
  for (std::string_view atom : atoms) {
    take(atom, "not ");
    const std::string_view task = task_in(atom);
    if (!task.empty() && view.end_of(task) == NamedEnd::kOpen) return ConditionSays::kOpen;
  }
  const ConditionSays deciding = yes_or_no(any);
  for (std::string_view atom : atoms) {
    const bool turned = take(atom, "not ");
    ConditionSays says = atom_says(atom, view);
    if (says == ConditionSays::kUnclear) return says;
    if (turned) says = yes_or_no(says == ConditionSays::kNo);
    if (says == deciding) return deciding;
  }
  return yes_or_no(!any);
}

}  // namespace vortex::sim
