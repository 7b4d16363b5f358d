#include "base/near_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace vortex {
namespace {

constexpr std::size_t kEditsMax = 2;
constexpr std::size_t kLengthMax = 100;  // longer texts are not typing mistakes
constexpr std::size_t kFar = kEditsMax + 1;

// With two edits almost any short name becomes any other.
std::size_t edits_allowed(std::string_view wanted) {
  if (wanted.size() < 3) return 0;
  return wanted.size() < 5 ? 1 : kEditsMax;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t length_gap(std::string_view a, std::string_view b) {
  return a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
}

// The number of single-character edits from a to b, or kFar. Only the cells of the table within
// kEditsMax of its diagonal can lead to a small answer, so only those are computed: cell d of row i
// stands for the first i characters of a against the first i + d - kEditsMax of b.
using Band = std::array<std::size_t, 2 * kEditsMax + 1>;

std::size_t edits(std::string_view a, std::string_view b) {
  if (length_gap(a, b) > kEditsMax) return kFar;
  while (!a.empty() && !b.empty() && lower(a.front()) == lower(b.front())) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  Band above{};
  for (std::size_t d = 0; d < above.size(); ++d) above[d] = d < kEditsMax ? kFar : d - kEditsMax;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    Band row{};
    for (std::size_t d = 0; d < row.size(); ++d) {
      const std::size_t j = i + d - kEditsMax;  // wraps below 0 to far above b.size()
      row[d] = kFar;
      if (j > b.size()) continue;
      if (j > 0) row[d] = above[d] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      if (d + 1 < row.size()) row[d] = std::min(row[d], above[d + 1] + 1);
      if (d > 0) row[d] = std::min(row[d], row[d - 1] + 1);
    }
    if (*std::min_element(row.begin(), row.end()) >= kFar) return kFar;
    above = row;
  }
  return above[b.size() + kEditsMax - a.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view wanted, std::span<const std::string_view> known) {
  if (wanted.empty() || wanted.size() > kLengthMax) return {};
  std::size_t best = edits_allowed(wanted) + 1;
  std::string_view nearest;
  for (const std::string_view name : known) {
    if (name.empty() || name.size() > kLengthMax) continue;
    const std::size_t distance = edits(wanted, name);
    if (distance >= best) continue;
    best = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace vortex
