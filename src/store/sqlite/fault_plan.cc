#include "store/sqlite/fault_plan.h"

#include <charconv>

namespace vortex::store::sqlite {
namespace {

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<FaultPlan> parse_fault_plan(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == text.npos) return std::nullopt;
  const std::string_view kind = text.substr(0, at);
  if (kind != "full" && kind != "io") return std::nullopt;
  FaultPlan plan;
  plan.kind = kind == "full" ? FaultPlan::Kind::kFull : FaultPlan::Kind::kIo;
  const std::string_view range = text.substr(at + 1);
  const std::size_t dash = range.find('-');
  const auto first = read_number(range.substr(0, dash));
  if (!first) return std::nullopt;
  plan.first = *first;
  if (dash == range.npos) {
    plan.last = *first;
  } else if (dash + 1 < range.size()) {
    const auto last = read_number(range.substr(dash + 1));
    if (!last || *last < *first) return std::nullopt;
    plan.last = *last;
  }
  return plan;
}

}  // namespace vortex::store::sqlite
