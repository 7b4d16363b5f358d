#include "tests/faults/fault_points.h"

#include <charconv>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/fault_point.h"

namespace vortex::faults {
namespace {

struct Armed {
  std::mutex guard;
  std::string name;
  std::uint64_t left = 0;
};

// Made when first asked for: it is armed before main() begins, perhaps before the globals of this
// file would be made.
Armed& armed() {
  static Armed one;
  return one;
}

#ifdef VX_FAULTS
void reach(std::string_view name) {
  Armed& mine = armed();
  const std::scoped_lock lock(mine.guard);
  if (name != mine.name || mine.left == 0) return;
  --mine.left;
  if (mine.left > 0) return;
  // As sudden as a power cut for this process: no handler, no flush, no destructor.
  ::raise(SIGKILL);
}
#endif

}  // namespace

bool arm_fault_point(std::string_view text) {
  const auto at = text.find('@');
  if (at == 0 || at == std::string_view::npos) return false;
  const std::string_view number = text.substr(at + 1);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(number.begin(), number.end(), count);
  if (error != std::errc{} || end != number.end() || count == 0) return false;
  Armed& mine = armed();
  const std::scoped_lock lock(mine.guard);
  mine.name = text.substr(0, at);
  mine.left = count;
#ifdef VX_FAULTS
  on_fault_point = reach;
#endif
  return true;
}

}  // namespace vortex::faults
