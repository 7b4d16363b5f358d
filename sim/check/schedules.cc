#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/schedule_watch.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

std::string field_of(const Event& event, std::string_view key) {
  for (const auto& [name, value] : event.data) {
    if (key != name) continue;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return std::to_string(std::get<std::int64_t>(value));
  }
  return {};
}

// "1970-01-12T13:46:50Z"
Instant slot_of(const Event& event, std::string_view key) {
  const auto time = parse_written_time(field_of(event, key), DayEnd::kFirst);
  return time ? Instant{time->seconds * 1'000'000} : kNever;
}

bool is_about_slot(EventKind kind) {
  return kind == EventKind::kSlotStarted || kind == EventKind::kSlotQueued ||
         kind == EventKind::kSlotSkipped;
}

// 55: a slot has at most one run, which knows its slot and the next one and is not made before it.
class OneRunASlot : public CommitChecker {
 public:
  explicit OneRunASlot(const CheckerTools& tools) : CommitChecker("55-one-run-a-slot", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.runs().changes()) {
      const RunRow& run = *change.after;
      if (change.before || !run.request || run.request->slot == kNever) continue;
      check(run, *run.request);
    }
  }

 private:
  void check(const RunRow& run, const RunRequest& request) {
    const auto [known, is_new] = runs_.try_emplace({request.schedule, request.slot}, run.id);
    if (!is_new) {
      violated("slot {} of '{}' started run {} and run {}", say(request.slot), request.schedule,
               to_text(known->second), to_text(run.id));
    }
    if (request.slot > run.created_at) {
      violated("run {} was made before its slot {}", to_text(run.id), say(request.slot));
    }
    if (!run.plan || !run.plan->spec.schedule || run.plan->spec.schedule->every <= Duration{}) {
      return;
    }
    const SlotRule rule(*run.plan->spec.schedule);
    if (rule.next(request.slot).value_or(kNever) != request.slot_end) {
      violated("run {} says that slot {} ends at {}", to_text(run.id), say(request.slot),
               say(request.slot_end));
    }
  }

  std::map<std::pair<std::string, Instant>, RunId> runs_;
};

// What the log says of each schedule, event by event.
struct Watched {
  std::optional<ScheduleSpec> spec;  // unset: not known, so nothing is judged
  Instant position;                  // slots up to here are decided
  bool paused = false;
  std::set<Instant> queued;
  std::set<RunId> live;
  // The step that is being read: what it may do about an absence.
  Instant step_at = kNever;
  SlotRule::Absence absence;
};

// Goes through the log and keeps what both checkers below need.
class ScheduleChecker : public CommitChecker {
 public:
  using CommitChecker::CommitChecker;

  void committed(const Picture&, const Committed& commit) final {
    now_ = std::max(now_, commit.term_now);
    for (const ScheduleRow& row : commit.rows.schedules) {
      if (!row.removed) rows_[row.dag] = row.plan;
    }
    for (const Event& event : commit.events) take(commit, event);
  }

 protected:
  // Before and after the event is taken into what is known of its schedule.
  virtual void before(Watched&, const std::string& dag, const Event&) = 0;
  virtual void finish_one(const Watched&, const std::string& dag) = 0;

  void finish(const Picture&, Instant) final {
    for (const auto& [dag, watched] : watched_) {
      if (watched.spec) finish_one(watched, dag);
    }
  }

  Instant now_;

 private:
  void take(const Committed& commit, const Event& event) {
    note_run(event);
    const std::string dag = field_of(event, "dag");
    switch (event.kind) {
      case EventKind::kScheduleSet:
        return set(commit, dag, event);
      case EventKind::kScheduleRemoved: {
        auto live = std::move(watched_[dag].live);
        watched_[dag] = Watched{};
        watched_[dag].live = std::move(live);
        return;
      }
      case EventKind::kScheduleTriggered:
        if (event.run) start(dag, *event.run);
        return;
      case EventKind::kSchedulePaused:
      case EventKind::kScheduleResumed:
      case EventKind::kSlotStarted:
      case EventKind::kSlotQueued:
      case EventKind::kSlotSkipped:
      case EventKind::kSlotsMissed:
        break;
      default:
        return;
    }
    Watched& watched = watched_[dag];
    if (watched.spec) before(watched, dag, event);
    follow(watched, dag, event);
  }

  void follow(Watched& watched, const std::string& dag, const Event& event) {
    if (event.kind == EventKind::kSchedulePaused) watched.paused = true;
    if (event.kind == EventKind::kScheduleResumed) {
      watched.paused = false;
      watched.position = std::max(watched.position, event.at);
    }
    if (event.kind == EventKind::kSlotsMissed) {
      watched.position = std::max(watched.position, slot_of(event, "last"));
    }
    if (!is_about_slot(event.kind)) return;
    const Instant slot = slot_of(event, "slot");
    watched.position = std::max(watched.position, slot);
    watched.queued.erase(slot);
    if (event.kind == EventKind::kSlotQueued) watched.queued.insert(slot);
    if (event.kind == EventKind::kSlotStarted && event.run) start(dag, *event.run);
  }

  void start(const std::string& dag, RunId run) {
    dag_of_[run] = dag;
    watched_[dag].live.insert(run);
  }

  void note_run(const Event& event) {
    if (!event.run) return;
    const auto found = dag_of_.find(*event.run);
    if (found == dag_of_.end()) return;
    std::set<RunId>& live = watched_[found->second].live;
    if (event.kind == EventKind::kRunComplete) live.erase(*event.run);
    if (event.kind == EventKind::kTaskRetry || event.kind == EventKind::kTaskRedriven) {
      live.insert(*event.run);
    }
  }

  // Of several in one commit only the last is in the rows: then it is not known any more.
  void set(const Committed& commit, const std::string& dag, const Event& event) {
    Watched& watched = watched_[dag];
    const auto sets = std::ranges::count_if(commit.events, [&](const Event& other) {
      const bool about =
          other.kind == EventKind::kScheduleSet || other.kind == EventKind::kScheduleRemoved;
      return about && field_of(other, "dag") == dag;
    });
    const PlanPtr plan = rows_[dag];
    if (sets > 1 || !plan || !plan->spec.schedule || plan->spec.schedule->every <= Duration{}) {
      watched.spec.reset();
      lost_.insert(dag);
    }
    if (lost_.contains(dag)) return;
    const bool same =
        watched.spec && SlotRule(*watched.spec).same_slots(SlotRule(*plan->spec.schedule));
    watched.spec = plan->spec.schedule;
    if (!same) watched.position = std::max(watched.position, event.at);
  }

  std::map<std::string, Watched> watched_;
  std::map<std::string, PlanPtr> rows_;
  std::map<RunId, std::string> dag_of_;
  std::set<std::string> lost_;
};

// 56: every slot is started, queued, skipped for a reason, or missed as the catch-up rule says, in
// their order and once; a queued one is started or skipped in the end.
class EachSlotDecided : public ScheduleChecker {
 public:
  explicit EachSlotDecided(const CheckerTools& tools)
      : ScheduleChecker("56-each-slot-decided", tools) {}

 private:
  void before(Watched& watched, const std::string& dag, const Event& event) override {
    const SlotRule rule(*watched.spec);
    if (event.kind == EventKind::kScheduleResumed) return check_resume(watched, rule, dag, event);
    if (event.kind == EventKind::kSlotsMissed) return check_missed(watched, rule, dag, event);
    if (!is_about_slot(event.kind)) return;
    const Instant slot = slot_of(event, "slot");
    if (event.kind == EventKind::kSlotSkipped && field_of(event, "reason").empty()) {
      violated("slot {} of '{}' was skipped without a reason", say(slot), dag);
    }
    if (watched.queued.contains(slot)) return;
    if (watched.paused) violated("slot {} of '{}' was decided during a pause", say(slot), dag);
    begin_step(watched, rule, event.at);
    const auto next = rule.next(watched.position);
    if (!next || *next != slot) {
      return violated("slot {} of '{}' was decided after {}, where {} comes next", say(slot), dag,
                      say(watched.position), next ? say(*next) : "none");
    }
    if (slot > event.at) violated("slot {} of '{}' was decided before it came", say(slot), dag);
    const bool late = slot.us < event.at.us - watched.spec->jitter.us - 2 * policy().sweep.us;
    if (late && !watched.absence.allowed.contains(slot)) {
      violated("slot {} of '{}' was decided at {}, which is too late", say(slot), dag,
               say(event.at));
    }
  }

  void begin_step(Watched& watched, const SlotRule& rule, Instant at) const {
    if (watched.step_at == at) return;
    watched.step_at = at;
    watched.absence = rule.absence(watched.position, at, policy().sweep);
  }

  void check_resume(const Watched& watched, const SlotRule& rule, const std::string& dag,
                    const Event& event) {
    const std::uint64_t skipped = rule.count(watched.position, event.at);
    if (field_of(event, "slots") == std::to_string(skipped)) return;
    violated("'{}' was resumed at {} and told of {} skipped slots, not {}", dag, say(event.at),
             field_of(event, "slots"), skipped);
  }

  void check_missed(Watched& watched, const SlotRule& rule, const std::string& dag,
                    const Event& event) {
    const bool absent = field_of(event, "reason") == "no controller was running";
    if (absent) begin_step(watched, rule, event.at);
    const Instant first = slot_of(event, "first");
    const Instant last = slot_of(event, "last");
    const auto due = absent ? watched.absence.missed_to : rule.newest(event.at);
    const bool fine =
        rule.next(watched.position) == first && due == last &&
        field_of(event, "slots") == std::to_string(rule.count(watched.position, last));
    if (fine) return;
    violated("slots {} to {} of '{}' were missed at {} ({}), after {}; {} is the last to miss",
             say(first), say(last), dag, say(event.at), field_of(event, "slots"),
             say(watched.position), due ? say(*due) : "none");
  }

  void finish_one(const Watched& watched, const std::string& dag) override {
    if (watched.paused) return;
    if (!watched.queued.empty() && watched.live.empty()) {
      violated("slot {} of '{}' still waits, and no run of it is live",
               say(*watched.queued.begin()), dag);
    }
    const auto next = SlotRule(*watched.spec).next(watched.position);
    const Duration most = watched.spec->jitter + policy().sweep * 4 + seconds(1);
    if (next && *next + most < now_) {
      violated("slot {} of '{}' was never decided", say(*next), dag);
    }
  }
};

// 57: the rule for overlaps is kept.
class OverlapKept : public ScheduleChecker {
 public:
  explicit OverlapKept(const CheckerTools& tools) : ScheduleChecker("57-overlap-kept", tools) {}

 private:
  static constexpr std::size_t kQueuedMax = 100;

  void before(Watched& watched, const std::string& dag, const Event& event) override {
    if (!is_about_slot(event.kind)) return;
    const Overlap overlap = watched.spec->overlap;
    const std::string slot = say(slot_of(event, "slot"));
    const std::string reason = field_of(event, "reason");
    if (event.kind == EventKind::kSlotStarted) {
      if (overlap != Overlap::kAllow && !watched.live.empty()) {
        violated("slot {} of '{}' started while run {} was live", slot, dag,
                 to_text(*watched.live.begin()));
      }
      return;
    }
    const bool queues = overlap == Overlap::kQueueOne || overlap == Overlap::kQueueAll ||
                        overlap == Overlap::kCancelRunning;
    if (event.kind == EventKind::kSlotQueued) {
      const std::size_t most = overlap == Overlap::kQueueAll ? kQueuedMax : 1;
      if (!queues || watched.live.empty() || watched.queued.size() >= most) {
        violated("slot {} of '{}' was queued beside {} others, with {} live runs", slot, dag,
                 watched.queued.size(), watched.live.size());
      }
      return;
    }
    if (reason.ends_with("has not ended") && (overlap != Overlap::kSkip || watched.live.empty())) {
      violated("slot {} of '{}' was skipped because '{}', which is not so", slot, dag, reason);
    }
    if (reason.ends_with("waits already") &&
        (overlap != Overlap::kQueueOne || watched.queued.empty())) {
      violated("slot {} of '{}' was skipped because '{}', which is not so", slot, dag, reason);
    }
  }

  void finish_one(const Watched&, const std::string&) override {}
};

}  // namespace

void add_schedule_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<OneRunASlot>(tools));
  list.push_back(std::make_unique<EachSlotDecided>(tools));
  list.push_back(std::make_unique<OverlapKept>(tools));
}

}  // namespace vortex::sim
