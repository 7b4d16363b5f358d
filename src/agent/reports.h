#pragma once
// Reports on their way to the controller, in order, each kept until it is acknowledged.
//
// At most one call carries reports at a time, always the oldest ones. What comes in meanwhile goes
// with the next call; a call that failed gives its reports back in place. Bounded: per attempt one
// Started, one end, and beside those in flight only the newest checkpoint.

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "agent/messages.h"
#include "model/sync.h"

namespace vortex::agent {

class ReportQueue {
 public:
  void add(Report report);
  // Nothing more is said about this attempt.
  void drop(Attempt attempt);
  void clear();

  bool empty() const { return queue_.empty(); }
  bool any_waiting() const { return queue_.size() > in_flight_; }
  std::size_t size() const { return queue_.size(); }

  // The oldest reports, as many as fit. Precondition: no other call carries any.
  std::vector<Report> send_with(CallId call, std::size_t bytes_max);
  // The controller has processed every call up to `seq_seen`. Returns the attempts whose end is
  // now known for good.
  std::vector<Attempt> acknowledge(std::uint64_t seq_seen);
  // The call is over; what it carried and was not acknowledged waits again.
  void give_back(CallId call);

 private:
  std::deque<Report> queue_;
  std::size_t in_flight_ = 0;  // the first so many of the queue
  std::optional<CallId> carrier_;
};

// The attempt is over with this report.
bool is_end(const ReportBody& body);

}  // namespace vortex::agent
