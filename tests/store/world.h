#pragma once
// Random commits that make sense together: runs with their tasks, workers, recoveries, output.
//
// The same seed gives the same commits, so two stores can be fed alike. Some commits repeat a row
// in one list, some must be refused.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/commit.h"

namespace vortex::store::testing {

class World {
 public:
  explicit World(std::uint64_t seed);

  Commit next(Term term);
  // Something that no store may accept, whatever its state.
  Commit unacceptable(Term term);

  const std::vector<PlanPtr>& plans() const { return plans_; }
  std::vector<Attempt> attempts_with_output() const;
  std::uint64_t runs_made() const { return next_run_ - 1; }
  std::uint64_t recoveries_made() const { return next_recovery_ - 1; }
  std::uint64_t events_made() const { return next_event_ - 1; }
  Instant now() const { return now_; }

 private:
  struct Run {
    RunRow row;
    std::map<std::uint32_t, TaskRow> tasks;
  };

  std::string worker_name() { return "worker-" + std::to_string(rng_.below(4)); }
  Run& any_run();
  void make_run(Commit& commit);
  void change_run(Commit& commit);
  void change_task(Commit& commit);
  void end_attempt(Commit& commit);
  void keep_data(Commit& commit);
  void change_worker(Commit& commit);
  void recover(Commit& commit);
  void bury(Commit& commit);
  void change_small(Commit& commit);
  void change_webhooks(Commit& commit);
  void change_secrets(Commit& commit);
  void print_output(Commit& commit);
  void tell_events(Commit& commit);
  void expire(Commit& commit);
  void forget_if_finished(std::uint64_t id);

  Rng rng_;
  Instant now_;
  Instant webhook_made_;  // the newest of them
  std::vector<PlanPtr> plans_;
  std::map<std::uint64_t, Run> runs_;
  std::map<Attempt, std::uint64_t> output_;
  std::uint64_t next_run_ = 1;
  std::uint64_t next_recovery_ = 1;
  std::uint64_t next_event_ = 1;
};

}  // namespace vortex::store::testing
