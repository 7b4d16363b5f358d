#pragma once
// Short texts for what a violation names: ids, epochs, holders, times.
// The checkers speak to people: keep ids, epochs and times in, and the sentence short.

#include <string>

#include "base/time.h"
#include "model/ids.h"
#include "model/rows.h"
#include "sim/check/holdings.h"

namespace vortex::sim {

std::string say(Instant t);                      // 12.000345s
std::string say(Duration d);                     // 12.000345s
std::string say(TaskId task);                    // r4/7
std::string say(const Attempt& attempt);         // r4/7 epoch 2
std::string say(const Holder& holder);           // worker 'a' life 3
std::string say(const TaskRow& row);             // r4/7 epoch 2 Running on worker 'a' life 3
std::string say(const PartitionKey& partition);  // orders/5
std::string say(const TaskCounters& counters);

}  // namespace vortex::sim
