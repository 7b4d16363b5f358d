#pragma once
// Workers that speak the real protocol with the core: register, poll with what they hold, report
// each task as started, in the next call as completed, and take what the answer brings.
//
// A worker whose poll is held back does nothing until it is answered. Not the agent: only as much
// of it as keeps the core busy at little cost of its own.

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "bench/core/measured_core.h"
#include "core/command.h"
#include "model/dag.h"
#include "model/sync.h"

namespace vortex::bench {

struct FleetSize {
  std::uint32_t workers = 1;
  std::uint32_t slots = 1;  // each
  // How many tasks a call may report as started, and how many as completed.
  std::uint32_t reports_per_call = std::numeric_limits<std::uint32_t>::max();
  Labels labels{};
};

class Fleet {
 public:
  Fleet(MeasuredCore& core, FleetSize size, std::string name = "worker");

  // Calls with Started and Completed reports until at least this many more tasks are completed;
  // returns how many were.
  std::uint32_t work_off(std::uint32_t tasks);
  // Lets the workers take and start this many tasks; completes none.
  void start_tasks(std::uint32_t tasks);
  // Polls that ask for no work, so that what is submitted next stays queued. Only when none is
  // held.
  void rest();
  // One poll of one worker that holds what it holds; answered at once when `wait` is zero.
  void heartbeat(std::uint32_t worker, Duration wait);

  const WorkerId& id(std::uint32_t worker) const { return members_[worker].id; }
  std::uint32_t workers() const { return static_cast<std::uint32_t>(members_.size()); }
  std::uint64_t calls() const { return calls_; }

 private:
  struct Member {
    WorkerId id;
    std::uint64_t seq = 0;
    ReplyMark ack;
    bool waiting = false;        // a poll of it is held back
    std::deque<Attempt> fresh;   // assigned, not yet reported
    std::deque<Attempt> active;  // reported as started
  };
  enum class Ends : std::uint8_t { kComplete, kKeep };

  core::Sync make_call(std::uint32_t worker, std::uint32_t slots);
  void turn(std::uint32_t worker, Ends ends);
  void send(const core::Command& command);
  void read(const core::Reply& reply);
  // Every worker that may call does; false when none could.
  bool round(Ends ends);

  MeasuredCore& core_;
  FleetSize size_;
  std::vector<Member> members_;
  std::uint64_t calls_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace vortex::bench
