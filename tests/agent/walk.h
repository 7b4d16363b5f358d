#pragma once
// One agent and an honest controller of a few lines, joined by a network that loses, delays,
// reorders and repeats. Small enough to read; the full world is the simulator's.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "agent/agent.h"
#include "base/hash.h"
#include "base/rng.h"

namespace vortex::agent {

class Walk {
 public:
  explicit Walk(std::uint64_t seed);
  // Faults for a while, then none until everything should be done.
  void run();

  std::size_t tasks_left() const { return queued_.size() + out_.size(); }
  std::uint64_t digest() const { return digest_.value(); }
  std::uint32_t fenced() const { return fenced_; }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  struct Offer {
    Epoch epoch;
    std::uint64_t first_reply = 0;
  };

  void after(Duration delay, std::function<void()> act);
  void feed(Input input);
  void obey(Output& output);
  void send(const SendRegister& call);
  void send(const SendSync& call);
  // What a call's processing leaves to be done: its answer, made when it is due.
  struct Served {
    Duration parked;
    std::function<Input()> answer;
  };
  void carry(CallId call, Duration limit, std::function<Served()> serve);
  void start(const Assignment& assignment);
  void kill(Attempt attempt);
  void end(Attempt attempt, ProcessExited exited);
  Input on_register(const SendRegister& call);
  Served on_sync(const SendSync& call);
  void check_list(const SyncRequest& request);
  void take_reports(const SyncRequest& request);
  SyncReply reply_to(const SyncRequest& request);
  void requeue(TaskId task);
  void end_lease(Instant heard);

  Rng rng_;
  Agent agent_;
  Instant now_;
  bool faults_ = true;
  std::multimap<Instant, std::function<void()>> events_;
  Instant cut_until_;

  // The worker's processes.
  std::set<Attempt> alive_;
  std::set<Attempt> ever_started_;
  std::set<Attempt> dying_;

  // The controller.
  Incarnation incarnation_;
  bool session_ = false;
  Instant heard_;
  std::uint64_t last_seq_ = 0;
  std::uint64_t replies_ = 0;
  std::map<TaskId, Epoch> queued_;
  std::map<TaskId, Offer> out_;

  Hasher digest_;
  std::uint32_t fenced_ = 0;
  std::vector<std::string> wrong_;
};

}  // namespace vortex::agent
