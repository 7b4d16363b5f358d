#include <algorithm>

#include "sim/check/claims.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// How many of the workers in service may wait for a probation, as the documentation has it: a
// share, but at least one of two or more, and never all of them.
std::uint64_t waiting_max(std::uint64_t in_service, std::uint64_t percent) {
  if (percent == 0 || in_service < 2) return 0;
  const std::uint64_t share = in_service * percent / 100;
  if (share == 0) return 1;
  return share < in_service ? share : in_service - 1;
}

// 45: no more workers are out of service by blame than allowed, however they came to be so: nobody
// can take the fleet away by sending tasks that die.
class BlameCapped : public CommitChecker {
 public:
  explicit BlameCapped(const CheckerTools& tools) : CommitChecker("45-blame-capped", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    if (picture.workers().changes().empty()) return;
    std::uint64_t in_service = 0;
    std::uint64_t waiting = 0;
    for (const auto& [id, entry] : picture.workers().all()) {
      const WorkerRow& row = entry.row;
      const bool by_blame = row.blame != WorkerBlame::kNone;
      if (by_blame && !row.cordoned) violated("'{}' is blamed and not cordoned", id.text);
      if (!is_present(row.state) || row.state == WorkerState::kDraining) continue;
      if (row.cordoned && !by_blame) continue;
      ++in_service;
      waiting += row.blame == WorkerBlame::kCordoned ? 1 : 0;
    }
    const std::uint64_t most = waiting_max(in_service, policy().cordon_share_percent);
    if (waiting <= most) return;
    violated("{} of {} workers are cordoned by blame; at most {} may be", waiting, in_service,
             most);
  }
};

// 46: a worker on probation is given a task only when it holds none, and the first one that ends
// normally there lifts its cordon.
class OneOnProbation : public ClaimChecker {
 public:
  explicit OneOnProbation(const CheckerTools& tools) : ClaimChecker("46-one-on-probation", tools) {}

 private:
  void claimed(const Picture&, const Claim& claim) override {
    if (claim.worker.blame != WorkerBlame::kProbation) return;
    const std::size_t held = told().held_by(claim.event.worker);
    if (held == 0) return;
    violated("{} was given to '{}', which is on probation and holds {} already",
             say(*claim.event.task), claim.event.worker.text, held);
  }

  void after(const Picture&, const Event& event) override {
    const bool normal = event.kind == EventKind::kTaskComplete ||
                        (event.kind == EventKind::kTaskFailed &&
                         text_in(event, "verdict") == to_text(Verdict::kExitCode));
    if (!normal) return;
    const ToldWorker* worker = told().worker(event.worker);
    if (worker == nullptr || worker->blame != WorkerBlame::kProbation) return;
    violated("a task ended normally on '{}', and its probation goes on", event.worker.text);
  }
};

// 47: who is cordoned by blame waits as long as was said and no longer: with each failed probation
// twice as long, up to a limit; a leader that hears of it late does it at once.
class ProbationBegins : public Checker {
 public:
  explicit ProbationBegins(const CheckerTools& tools) : Checker("47-probation-begins", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (std::holds_alternative<FaultsStopped>(fact)) faults_stopped_ = true;
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    last_ = commit->term_now;
    for (const auto& change : picture.workers().changes()) check_wait(*change.after);
  }

  // In the end somebody leads who has had the time for it.
  void finish(const Picture& picture, Instant) override {
    if (!faults_stopped_) return;
    for (const auto& [id, entry] : picture.workers().all()) {
      const WorkerRow& row = entry.row;
      if (row.blame != WorkerBlame::kCordoned || !is_present(row.state)) continue;
      if (row.probation_at + policy().worker_lease * 2 >= last_) continue;
      violated("'{}' was to be on probation at {}, and still waits at {}", id.text,
               say(row.probation_at), say(last_));
    }
  }

 private:
  void check_wait(const WorkerRow& row) {
    if (row.blame != WorkerBlame::kCordoned) return;
    if (row.times_blamed == 0) return violated("'{}' was blamed no time", row.info->id.text);
    const std::uint32_t doublings = std::min(row.times_blamed - 1, 4U);
    const Duration longest = policy().probation_after * (1 << doublings);
    if (row.probation_at <= last_ + longest) return;
    violated("'{}' waits until {}, longer than {} after {}", row.info->id.text,
             say(row.probation_at), say(longest), say(last_));
  }

  bool faults_stopped_ = false;
  Instant last_;
};

}  // namespace

void add_probation_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<BlameCapped>(tools));
  list.push_back(std::make_unique<OneOnProbation>(tools));
  list.push_back(std::make_unique<ProbationBegins>(tools));
}

}  // namespace vortex::sim
