#pragma once
// Positions in the core's tables, and the intrusive list that threads tasks together.
//
// A task is in at most one list at a time (a ready list, a parking list, or what a worker holds),
// so one pair of links in the task serves them all and moving it costs no memory.

#include <cstdint>

#include "base/strong.h"

namespace vortex::core {

using TaskIx = StrongIndex<struct TaskIxTag>;
using RunIx = StrongIndex<struct RunIxTag>;
using WorkerIx = StrongIndex<struct WorkerIxTag>;
using ClassIx = StrongIndex<struct ClassIxTag>;
using QueueIx = StrongIndex<struct QueueIxTag>;
using ProfileIx = StrongIndex<struct ProfileIxTag>;
using LimitIx = StrongIndex<struct LimitIxTag>;
using ScheduleIx = StrongIndex<struct ScheduleIxTag>;
using LeaseIx = StrongIndex<struct LeaseIxTag>;

struct TaskLinks {
  TaskIx prev;
  TaskIx next;
};

struct TaskList {
  TaskIx head;
  TaskIx tail;
  std::uint32_t size = 0;
  bool empty() const { return size == 0; }
};

}  // namespace vortex::core
