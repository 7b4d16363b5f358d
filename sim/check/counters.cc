#include <map>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

bool any_went_back(const TaskCounters& before, const TaskCounters& after) {
  return after.attempts < before.attempts || after.failures < before.failures ||
         after.crashes < before.crashes || after.stalls < before.stalls ||
         after.releases < before.releases || after.unstarted < before.unstarted;
}

// 13: failures <= retries + 1 (stalls likewise), and every attempt is accounted for.
class AttemptsAddUp : public CommitChecker {
 public:
  explicit AttemptsAddUp(const CheckerTools& tools) : CommitChecker("13-attempts-add-up", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      if (picture.acted_on(change.after->id))
        earlier_[change.after->id] = left_over(picture, *change.after);
      const NodeSpec* spec = picture.spec_of(*change.after);
      // 70 counts the attempts of a sub-DAG, which are runs.
      if (spec == nullptr || !spec->child) check_sum(picture, *change.after);
      check_limits(picture, *change.after);
      const bool reset = picture.acted_on(change.after->id);
      if (change.before && change.after->counters.attempts < change.before->counters.attempts) {
        violated("{}: attempts are numbered anew", say(*change.after));
      }
      if (change.before && !reset &&
          any_went_back(change.before->counters, change.after->counters)) {
        violated("{}: counters went back from {} to {}", say(*change.after),
                 say(change.before->counters), say(change.after->counters));
      }
    }
  }

 private:
  // An attempt that is under way, succeeded or was cancelled is in no other counter.
  static bool has_uncounted_attempt(const Picture& picture, const TaskRow& task) {
    const NodeSpec* spec = picture.spec_of(task);
    if ((spec != nullptr && spec->wait) || !task.reused_from.empty()) return false;
    if (is_held(task.state) || task.state == TaskState::kCompleted) return true;
    if (task.state != TaskState::kCancelled) return false;
    const AttemptRow* last = picture.attempts().find({task.id, task.epoch});
    return last != nullptr && last->verdict == Verdict::kCancelled;
  }

  static int left_over(const Picture& picture, const TaskRow& task) {
    const TaskCounters& c = task.counters;
    const int uncounted = has_uncounted_attempt(picture, task) ? 1 : 0;
    return c.attempts - (c.failures + c.crashes + c.stalls + c.releases + uncounted);
  }

  void check_sum(const Picture& picture, const TaskRow& task) {
    const TaskCounters& c = task.counters;
    const auto earlier = earlier_.find(task.id);
    if (left_over(picture, task) == (earlier == earlier_.end() ? 0 : earlier->second)) return;
    violated("{}: the sum of {} is wrong", say(task), say(c));
  }

  void check_limits(const Picture& picture, const TaskRow& task) {
    const NodeSpec* spec = picture.spec_of(task);
    if (spec == nullptr) return;
    const int tries = (spec->retry ? *spec->retry : policy().retry).max_retries + 1;
    const TaskCounters& c = task.counters;
    const bool used_up =
        c.failures >= tries || c.stalls >= tries || c.unstarted >= policy().never_started_limit;
    const bool beyond =
        c.failures > tries || c.stalls > tries || c.unstarted > policy().never_started_limit;
    if (!beyond && (!used_up || is_final(task.state))) return;
    violated("{}: tried too often ({}; {} tries allowed, {} without a start)", say(task), say(c),
             tries, policy().never_started_limit);
  }

  std::map<TaskId, int> earlier_;  // attempts from before an operator set the counters back
};

// 14: a crash never touches the failures, a failure never the crashes: each end of an attempt
// counts in the one counter that its verdict names.
class CrashIsNoFailure : public CommitChecker {
 public:
  explicit CrashIsNoFailure(const CheckerTools& tools)
      : CommitChecker("14-crash-is-no-failure", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      if (picture.acted_on(change.after->id)) continue;  // counters start anew
      const NodeSpec* spec = picture.spec_of(*change.after);
      if (spec != nullptr && spec->child) continue;  // 72: it has no attempts on workers
      const TaskCounters before = change.before ? change.before->counters : TaskCounters{};
      if (before == change.after->counters) continue;
      const auto found = picture.ended().find(change.after->id);
      check(*change.after, before,
            found == picture.ended().end() ? EndedAttempts{} : found->second);
    }
    for (const auto& [task, ended] : picture.ended()) check_counted(picture, task, ended);
  }

 private:
  void check(const TaskRow& task, const TaskCounters& before, const EndedAttempts& ended) {
    const TaskCounters& after = task.counters;
    const std::int64_t failures = after.failures - before.failures;
    const std::int64_t crashes = after.crashes - before.crashes;
    const std::int64_t stalls = after.stalls - before.stalls;
    const std::int64_t releases = after.releases - before.releases;
    const std::int64_t nobody = std::int64_t{ended.lost} + ended.releases;
    if (failures == ended.failures && stalls == ended.stalls && crashes <= ended.lost &&
        crashes + releases == nobody) {
      return;
    }
    violated(
        "{}: failures +{}, crashes +{}, stalls +{}, releases +{}, but its attempts ended with {} "
        "failures, {} lost workers, {} stalls, {} releases",
        say(task), failures, crashes, stalls, releases, ended.failures, ended.lost, ended.stalls,
        ended.releases);
  }

  void check_counted(const Picture& picture, TaskId id, const EndedAttempts& ended) {
    const bool must_count = ended.failures + ended.stalls + ended.releases + ended.lost > 0;
    if (must_count && !picture.tasks().changed(id)) {
      violated("an attempt at {} ended and was counted nowhere", say(id));
    }
  }
};

// A01: an attempt that ends after its worker was told to give it back, because it had not started
// it, counts as not started, whatever the worker says or does not say about it.
class NotStartedCounts : public CommitChecker {
 public:
  explicit NotStartedCounts(const CheckerTools& tools)
      : CommitChecker("13-not-started-counts", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.tasks().changes()) {
      if (!change.before || change.before->stop != StopReason::kNotStarted) continue;
      const AttemptRow* end = picture.attempts().find({change.before->id, change.before->epoch});
      if (end == nullptr || !picture.attempts().changed(end->attempt)) continue;
      const bool slipped = end->verdict == Verdict::kLostInTransit ||
                           end->verdict == Verdict::kGivenBack ||
                           end->verdict == Verdict::kSelfFenced;
      if (slipped)
        violated("{} was told to be given back unstarted, and ended as {}", say(end->attempt),
                 to_text(end->verdict));
    }
  }
};

}  // namespace

void add_counter_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<AttemptsAddUp>(tools));
  list.push_back(std::make_unique<CrashIsNoFailure>(tools));
  list.push_back(std::make_unique<NotStartedCounts>(tools));
}

}  // namespace vortex::sim
