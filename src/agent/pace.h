#pragma once
// How much work to hold beyond the slots, judged by how fast tasks end here.
//
// Without it a slot stands empty from the end of one task until the controller has made that end
// durable and sent the next. For tasks of minutes that is nothing; for tasks of a millisecond it is
// most of the time. Work held ahead is work that no other worker can have, so there is none until
// tasks have proved to be short, and what has waited too long goes back. Pure.

#include <cstdint>

#include "base/time.h"

namespace vortex::agent {

// Work for about this long is held ahead: a few round trips with a commit in each.
constexpr Duration kAheadFor = millis(25);
// What was held ahead and has not started after this long is given back.
constexpr Duration kAheadPatience = millis(150);
// While there is work ahead, nobody waits for single ends: those of this long are told in one call,
// and become durable in one commit.
constexpr Duration kReportsTogether = millis(16);

class Pace {
 public:
  Pace(std::uint32_t slots, Duration assumed) : slots_(slots), mean_(assumed) {}

  // A task ended by itself after this long.
  void ended(Duration ran);
  // What was held ahead had to be given back: trust has to be earned again.
  void too_slow() { mean_ = kUnproved; }
  // How many tasks beyond the slots.
  std::uint32_t ahead() const;

 private:
  static constexpr Duration kUnproved = seconds(1);

  std::uint32_t slots_;
  Duration mean_;  // of the newest ones, the latest weighing most
};

}  // namespace vortex::agent
