#pragma once
// What happens in a run right now, beside how far it is: the tasks that run, those that cannot and
// why, and workers that were lost on the way.
//
//   resize[3]  on w1, 12s, 65% encoding | frame 1200 of 1800
//   3 tasks wait: no worker has the label gpu=a100 (w1 lacks the label gpu=a100)
//
// Pure: makes lines of what was read and of events; others read and show them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/time.h"
#include "model/plan.h"

namespace vortex::cli {

// One task that runs; `output` is the end of what it wrote.
std::string running_line(const boost::json::object& task, const DagPlan& plan,
                         std::string_view output, Instant now);

// What keeps tasks from moving until somebody acts: every obstacle with the reasons of a few
// workers, and what to do.
struct Remedy {
  std::string found;
  std::string fix;  // one command a line; empty: nothing but wait
};
Remedy remedy_of(const boost::json::object& standstill);
// All that stand in the list of an answer, with what to do below each; empty: there are none.
std::string standstills_text(const boost::json::array& standstills);

// Follows tasks that lost their worker until they run again.
class LostTasks {
 public:
  // What to tell of this event; unset: nothing.
  std::optional<std::string> see(const boost::json::object& event, const DagPlan& plan);

 private:
  std::map<std::uint32_t, std::string> lost_;  // index of the task -> worker that it was on
};

}  // namespace vortex::cli
