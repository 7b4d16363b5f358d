#pragma once
// For checkers of who is given what: the log of each commit, walked event by event up to every
// claim.
//
// What is known at a claim is what the log told before it, also within one commit, where rows show
// only how it ended. A history without its log has no claims to judge.

#include "sim/check/checker.h"
#include "sim/model/leader_time.h"
#include "sim/model/told.h"

namespace vortex::sim {

// A task is handed out.
struct Claim {
  const Event& event;
  const TaskRow& task;  // as it is after the commit
  const NodeSpec& spec;
  const ToldWorker& worker;
  const WorkerInfo& info;
};

// What that life of a worker said of itself, as rows before or after this commit have it.
const WorkerInfo* info_of_life(const Picture& picture, const Holder& life);

class ClaimChecker : public Checker {
 public:
  using Checker::Checker;
  void fact(const Picture& picture, Instant, const Fact& fact) final;

 protected:
  virtual void claimed(const Picture& picture, const Claim& claim) = 0;
  virtual void after(const Picture&, const Event&) {}
  virtual void committed(const Picture&, const Committed&) {}
  virtual void term_began(const Picture&) {}
  const Told& told() const { return told_; }

 private:
  void meet(const Picture& picture, const Event& event);

  Told told_;
  LatestTerm latest_;
};

}  // namespace vortex::sim
