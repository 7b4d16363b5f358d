#include "base/fault_point.h"

#ifdef VX_FAULTS

#include <charconv>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>

namespace vortex {
namespace {

std::mutex guard;
std::string armed_name;
std::uint64_t left = 0;

}  // namespace

namespace detail {

std::atomic<bool> fault_points_armed{false};

void reach_fault_point(std::string_view name) {
  const std::scoped_lock lock(guard);
  if (name != armed_name || left == 0) return;
  --left;
  if (left > 0) return;
  // As sudden as a power cut for this process: no handler, no flush, no destructor.
  ::raise(SIGKILL);
}

}  // namespace detail

bool arm_fault_point(std::string_view text) {
  const auto at = text.find('@');
  if (at == 0 || at == std::string_view::npos) return false;
  const std::string_view number = text.substr(at + 1);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(number.begin(), number.end(), count);
  if (error != std::errc{} || end != number.end() || count == 0) return false;
  const std::scoped_lock lock(guard);
  armed_name = text.substr(0, at);
  left = count;
  detail::fault_points_armed = true;
  return true;
}

}  // namespace vortex

#endif
