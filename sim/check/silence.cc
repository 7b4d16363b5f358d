#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "sim/check/brake_watch.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"
#include "sim/model/leader_time.h"
#include "sim/model/told.h"

namespace vortex::sim {

namespace {

// How much of the past is kept per worker. A recovery is committed a little after it was decided,
// and what was heard in between does not count against it.
constexpr std::size_t kHeardMax = 16;

// What a loss rests on when it is told by the log; none: it is no loss, or has proof.
std::optional<Evidence> weak_evidence(const Event& event) {
  const std::string text = text_in(event, "evidence");
  for (const Evidence weak : {Evidence::kSilence, Evidence::kHint}) {
    if (text == to_text(weak)) return weak;
  }
  return std::nullopt;
}

// 19: no reclaim by silence before the lease ended, while the brake holds, inside the grace after
// an outage, or of most of the fleet at once.
class NoEarlySilence : public Checker {
 public:
  explicit NoEarlySilence(const CheckerTools& tools)
      : Checker("19-no-early-silence", tools), time_(policy().sweep) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    brake_.fact(fact);
    time_.fact(fact);
    if (const auto* heard = std::get_if<WorkerHeard>(&fact)) {
      // A leader that does not know yet that it was replaced hears for nobody.
      if (heard->term == term_) note_heard({heard->worker, heard->incarnation}, heard->term_now);
    } else if (const auto* began = std::get_if<TermBegan>(&fact)) {
      begin_term(picture, *began);
    } else if (const auto* ended = std::get_if<OutageEnded>(&fact)) {
      if (ended->term == term_) floors_.push_back(ended->term_now);
    } else if (std::holds_alternative<Committed>(fact)) {
      fleet_max_ = std::max(fleet_max_, picture.holdings().present());
      read_log(std::get<Committed>(fact));
      for (const auto& change : picture.workers().changes()) note_registered(change);
      for (const auto& change : picture.recoveries().changes()) check(picture, *change.after);
    }
  }

 private:
  // One that was overtaken while it loaded may still say that it began; it changes nothing.
  void begin_term(const Picture& picture, const TermBegan& began) {
    if (began.term < term_) return;
    term_ = began.term;
    floors_.assign(1, began.term_now);
    heard_.clear();
    weak_losses_.clear();
    trickled_.clear();
    fleet_max_ = picture.holdings().present();
    told_.begin_term();
    losses_.clear();
    registered_.clear();
  }

  // In the order of the log: who was present when a worker was given up, and what was known.
  void read_log(const Committed& commit) {
    for (const Event& event : commit.events) {
      if (const auto evidence = weak_evidence(event); evidence && commit.term == term_) {
        check_doubt(event);
        losses_.emplace_back(event.at, event.worker);
      }
      told_.take(event);
      if (event.kind == EventKind::kWorkerRegistered) {
        registered_[event.worker] = event.at;
      }
    }
  }

  // Silent for half a lease or more, for the leader, at that time.
  bool is_doubtful(const WorkerId& id, const ToldWorker& worker, Instant at) const {
    Instant heard = time_.began();
    for (const Instant floor : floors_) {
      if (floor <= at) heard = std::max(heard, floor);
    }
    if (const auto known = registered_.find(id); known != registered_.end()) {
      heard = std::max(heard, known->second);
    }
    if (const auto known = heard_.find({id, worker.incarnation}); known != heard_.end()) {
      // All that is remembered is later: it was heard at a time that is forgotten.
      if (known->second.front() > at && known->second.size() == kHeardMax) return false;
      for (const Instant t : known->second) {
        if (t <= at) heard = std::max(heard, t);
      }
    }
    return time_.between(heard, at) >= policy().worker_lease / 2;
  }

  // The doubt: more than half of at least so many workers silent, or lost on weak evidence within
  // one lease and not back. Then nobody is given up but under the brake.
  void check_doubt(const Event& event) {
    const auto phase = brake_.phase_at(event.at);
    if (!phase || *phase != BrakePhase::kOff) return;
    std::uint32_t fleet = 0;
    std::uint32_t doubtful = 0;
    for (const auto& [id, worker] : told_.workers()) {
      const bool present =
          worker.standing >= Standing::kRegistering && worker.standing <= Standing::kDraining;
      if (!present) continue;
      ++fleet;
      if (id == event.worker || is_doubtful(id, worker, event.at)) ++doubtful;
    }
    std::set<WorkerId> lost;
    for (const auto& [at, id] : losses_) {
      const ToldWorker* worker = told_.worker(id);
      const bool gone = worker != nullptr && worker->standing == Standing::kGone;
      if (gone && event.at - at < policy().worker_lease) lost.insert(id);
    }
    fleet += static_cast<std::uint32_t>(lost.size());
    doubtful += static_cast<std::uint32_t>(lost.size());
    if (fleet < policy().brake_fleet_min || doubtful * 2 <= fleet) return;
    violated("'{}' was given up at {} while {} of {} workers are in doubt, without the brake",
             event.worker.text, say(event.at), doubtful, fleet);
  }

  void note_heard(const Holder& holder, Instant at) {
    std::deque<Instant>& times = heard_[holder];
    if (times.size() == kHeardMax) times.pop_front();
    times.push_back(at);
  }

  // Registering is being heard for the first time. What an earlier leader registered has the grace
  // of the term: its clock was another one.
  void note_registered(const RowChange<WorkerRow>& change) {
    const WorkerRow& after = *change.after;
    if (change.before && change.before->incarnation == after.incarnation) return;
    note_heard({after.info->id, after.incarnation}, after.registered_at);
  }

  void check(const Picture& picture, const RecoveryRow& row) {
    if (row.evidence != Evidence::kSilence && row.evidence != Evidence::kHint) return;
    if (!told_.any()) check_fleet(picture, row);
    if (row.evidence == Evidence::kHint) return;
    check_heard(row);
    check_floor(row);
    check_brake(row);
  }

  void too_early(const RecoveryRow& row, std::string_view why, Instant since) {
    if (row.at - since >= policy().worker_lease) return;
    violated("recovery {} took {} for silent at {}, but {} at {} (lease {})", row.id.value,
             say(Holder{row.worker, row.incarnation}), say(row.at), why, say(since),
             say(policy().worker_lease));
  }

  void check_heard(const RecoveryRow& row) {
    const auto found = heard_.find({row.worker, row.incarnation});
    if (found == heard_.end()) return;
    const auto& times = found->second;
    const auto last =
        std::find_if(times.rbegin(), times.rend(), [&](Instant heard) { return heard <= row.at; });
    if (last != times.rend()) too_early(row, "it was heard", *last);
  }

  void check_floor(const RecoveryRow& row) {
    // The clock stands still within a turn: what was decided at the very instant at which an outage
    // was seen to end was decided before that.
    const auto last = std::find_if(floors_.rbegin(), floors_.rend(),
                                   [&](Instant floor) { return floor < row.at; });
    if (last != floors_.rend()) too_early(row, "a term began or an outage ended", *last);
  }

  void check_brake(const RecoveryRow& row) {
    const auto phase = brake_.phase_at(row.at);
    if (!phase || *phase == BrakePhase::kOff) return;
    if (*phase == BrakePhase::kHolding) {
      return violated("recovery {} by silence at {} while the brake holds", row.id.value,
                      say(row.at));
    }
    while (!trickled_.empty() && trickled_.front() <= row.at - minutes(1)) trickled_.pop_front();
    trickled_.push_back(row.at);
    // Rounded up, and one for where a minute is cut.
    const std::uint32_t allowed =
        (fleet_max_ * policy().brake_permille_per_minute + 999) / 1000 + 1;
    if (trickled_.size() <= allowed) return;
    violated("{} recoveries by silence within a minute under the brake; {} of {} workers allowed",
             trickled_.size(), allowed, fleet_max_);
  }

  // The same for a history without its log, as far as rows tell: more than half of the fleet lost
  // within one lease. The one that tips the scale may be counted before or after it is lost.
  void check_fleet(const Picture& picture, const RecoveryRow& row) {
    const Instant from = row.at - policy().worker_lease;
    while (!weak_losses_.empty() && weak_losses_.front().first <= from) weak_losses_.pop_front();
    weak_losses_.emplace_back(row.at, row.worker);
    std::set<WorkerId> lost;
    for (const auto& [at, id] : weak_losses_) {
      const WorkerRow* worker = picture.workers().find(id);
      if (worker == nullptr || !is_present(worker->state)) lost.insert(id);
    }
    const std::size_t fleet = picture.holdings().present() + lost.size();
    if (fleet < policy().brake_fleet_min || lost.size() * 2 <= fleet + 2) return;
    if (brake_.was_on_within(from, row.at)) return;
    violated("{} of {} workers lost on weak evidence within one lease, without the brake",
             lost.size(), fleet);
  }

  Term term_;
  BrakeWatch brake_;
  LeaderTime time_;
  Told told_;
  std::map<WorkerId, Instant> registered_;            // the present life of each
  std::vector<std::pair<Instant, WorkerId>> losses_;  // of this term, by weak evidence
  std::map<Holder, std::deque<Instant>> heard_;
  std::vector<Instant> floors_;  // of this term: nothing counts as silent for a lease after each
  std::deque<std::pair<Instant, WorkerId>> weak_losses_;
  std::deque<Instant> trickled_;
  std::uint32_t fleet_max_ = 0;  // of this term
};

}  // namespace

void add_silence_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<NoEarlySilence>(tools));
}

}  // namespace vortex::sim
