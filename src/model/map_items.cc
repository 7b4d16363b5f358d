#include "model/map_items.h"

#include <limits>

#include <fmt/format.h>

#include "base/assert.h"

namespace vortex {
namespace {

// All arithmetic is unsigned, where wrapping is defined: the distance between two int64 always
// fits a uint64, and so does the size of every step.
std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::uint64_t count_range(const MapRange& range) {
  const bool up = range.step > 0;
  if (range.step == 0) return 0;
  if (up ? range.first > range.last : range.first < range.last) return 0;
  const std::uint64_t distance =
      up ? bits(range.last) - bits(range.first) : bits(range.first) - bits(range.last);
  const std::uint64_t steps = distance / (up ? bits(range.step) : 0 - bits(range.step));
  return steps == std::numeric_limits<std::uint64_t>::max() ? steps : steps + 1;
}

}  // namespace

std::uint64_t count_items(const MapSpec& map) {
  if (const auto* range = std::get_if<MapRange>(&map.over)) return count_range(*range);
  return std::get<std::vector<std::string>>(map.over).size();
}

std::string item_text(const MapSpec& map, std::uint64_t position) {
  VX_ASSERT(position < count_items(map));
  if (const auto* range = std::get_if<MapRange>(&map.over)) {
    const std::uint64_t item = bits(range->first) + position * bits(range->step);
    return fmt::to_string(static_cast<std::int64_t>(item));
  }
  return std::get<std::vector<std::string>>(map.over)[position];
}

}  // namespace vortex
