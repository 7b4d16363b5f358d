#pragma once
// What to log about something that is away and is tried again and again: the first failure, then
// again at growing intervals, and the return. Writes nothing itself; not for several threads.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/time.h"

namespace vortex::controller {

class OutageLines {
 public:
  // `back` begins the line about the return, such as "the database answers again".
  explicit OutageLines(std::string back) : back_(std::move(back)) {}

  // After a try that failed: the line to log; unset: the outage was reported lately.
  std::optional<std::string> failed(Instant now, std::string_view what) {
    if (since_ == kNever) {
      since_ = now;
      pause_ = kPauseMin;
      next_ = now + pause_;
      return std::string(what);
    }
    if (now < next_) return std::nullopt;
    pause_ = std::min(pause_ * 2, kPauseMax);
    next_ = now + pause_;
    return fmt::format("{} (for {} s now)", what, (now - since_).us / 1'000'000);
  }

  // After one that worked: the line to log; unset: there was no outage.
  std::optional<std::string> worked(Instant now) {
    if (since_ == kNever) return std::nullopt;
    const Duration away = now - since_;
    since_ = kNever;
    return fmt::format("{} after {:.1f} s", back_, static_cast<double>(away.us) / 1'000'000);
  }

 private:
  static constexpr Duration kPauseMin = seconds(10);
  static constexpr Duration kPauseMax = seconds(300);

  std::string back_;
  Instant since_ = kNever;  // kNever: it is there
  Instant next_;
  Duration pause_;
};

}  // namespace vortex::controller
