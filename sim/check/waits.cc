#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "model/plan.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"
#include "sim/model/due.h"

namespace vortex::sim {

namespace {

bool asks(const WaitSpec& wait) {
  return wait.kind == WaitKind::kSignal || wait.kind == WaitKind::kApproval;
}

// What runs were told from outside, by run and number.
class Signals {
 public:
  void note(const Committed& commit) {
    for (const SignalRow& row : commit.rows.signals) rows_[{row.run, row.number}] = row;
  }
  // What this life of the task took; null: nothing.
  const SignalRow* taken(const TaskRow& task) const {
    for (auto at = rows_.lower_bound({task.id.run, 0});
         at != rows_.end() && at->first.first == task.id.run; ++at) {
      const SignalRow& row = at->second;
      if (row.taken_by == task.id.index && row.taken_epoch == task.epoch) return &row;
    }
    return nullptr;
  }
  bool any_free(RunId run, std::string_view name) const {
    for (auto at = rows_.lower_bound({run, 0}); at != rows_.end() && at->first.first == run; ++at) {
      const SignalRow& row = at->second;
      if (row.kind == SignalKind::kSignal && row.name == name && !row.taken_by) return true;
    }
    return false;
  }
  const std::map<std::pair<RunId, std::uint32_t>, SignalRow>& all() const { return rows_; }

 private:
  std::map<std::pair<RunId, std::uint32_t>, SignalRow> rows_;
};

// 58: a wait is nobody's work, and ends once and for its stated reason alone: not before its time,
// and soon after it; with a signal or an answer that came for it.
class WaitsEndRight : public Checker {
 public:
  explicit WaitsEndRight(const CheckerTools& tools)
      : Checker("58-waits-end-right", tools), time_(policy().sweep) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    time_.fact(fact);
    if (const auto* outage = std::get_if<OutageEnded>(&fact)) outage_ = outage->term_now;
    if (latest_.begins(fact)) outage_ = {};
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    signals_.note(*commit);
    for (const auto& change : picture.tasks().changes()) {
      const NodeSpec* spec = picture.spec_of(*change.after);
      if (spec == nullptr || !spec->wait || !change.after->reused_from.empty()) continue;
      check(picture, *commit, change, *spec->wait);
    }
    if (commit->term == time_.term()) check_late(picture, *commit);
  }

 private:
  void check(const Picture& picture, const Committed& commit, const RowChange<TaskRow>& change,
             const WaitSpec& wait) {
    const TaskRow& task = *change.after;
    const bool waited = change.before && change.before->state == TaskState::kQueued &&
                        change.before->epoch == task.epoch;
    const bool waits = task.state == TaskState::kQueued;
    if (waits && task.ready_at != kNever) {
      open_.insert(task.id);
    } else {
      open_.erase(task.id);
    }
    if (task.counters.attempts > 0) violated("{} was handed out, and only waits", say(task));
    if (waits) check_begun(change, wait, waited);
    const bool ended = !change.before || change.before->state != task.state;
    if (task.state == TaskState::kCompleted && ended) {
      check_completed(commit, task, wait, waited ? change.before->ready_at : Instant{});
    }
    if (task.state == TaskState::kFailed && ended) {
      check_failed(picture, commit, task, wait, waited ? change.before->ready_at : Instant{});
    }
  }

  void check_begun(const RowChange<TaskRow>& change, const WaitSpec& wait, bool waited) {
    const TaskRow& task = *change.after;
    Instant due = kNever;
    if (wait.kind == WaitKind::kFor) due = task.updated_at + wait.length;
    if (wait.kind == WaitKind::kUntil) due = Instant{} + seconds(wait.until.seconds);
    if (wait.timeout) due = task.updated_at + *wait.timeout;
    if (waited) due = change.before->ready_at;
    if (task.ready_at == due) return;
    violated("{} waits until {}; it should be until {}", say(task), say(task.ready_at), say(due));
  }

  void check_completed(const Committed& commit, const TaskRow& task, const WaitSpec& wait,
                       Instant due) {
    if (!asks(wait)) {
      if (wait.kind == WaitKind::kUntil) due = Instant{} + seconds(wait.until.seconds);
      if (commit.term_now >= due) return;
      return violated("{} ended at {}, before its time at {}", say(task), say(commit.term_now),
                      say(due));
    }
    const bool signal = wait.kind == WaitKind::kSignal;
    const SignalRow* row = signals_.taken(task);
    const SignalKind wanted = signal ? SignalKind::kSignal : SignalKind::kApproved;
    if (row == nullptr || row->kind != wanted) {
      return violated("{} ended well, and nothing was said that ends it", say(task));
    }
    if (signal && row->name != wait.text) {
      violated("{} took the signal '{}', it waits for '{}'", say(task), row->name, wait.text);
    }
    std::string outputs;
    for (const TaskDataRow& data : commit.rows.task_data) {
      if (data.id == task.id && data.outputs) outputs = *data.outputs;
    }
    if (outputs == row->data) return;
    violated("{} has outputs '{}', it was told '{}'", say(task), outputs, row->data);
  }

  void check_failed(const Picture& picture, const Committed& commit, const TaskRow& task,
                    const WaitSpec& wait, Instant due) {
    const DeadLetterRow* letter = picture.dead_letters().find({task.id, task.epoch});
    if (letter == nullptr || letter->reason == DeathReason::kConditionError) return;
    if (letter->reason == DeathReason::kRejected) {
      const SignalRow* row = signals_.taken(task);
      if (row != nullptr && row->kind == SignalKind::kRejected) return;
      return violated("{} was rejected by nobody", say(task));
    }
    const bool may = asks(wait) && wait.timeout && letter->reason == DeathReason::kWaitTimedOut;
    if (!may) return violated("{} failed as {}", say(task), to_text(letter->reason));
    if (commit.term_now >= due) return;
    violated("{} timed out at {}, before its time at {}", say(task), say(commit.term_now),
             say(due));
  }

  // Half a lease for whatever else the leader has to do, as for everything that is due.
  void check_late(const Picture& picture, const Committed& commit) {
    const Duration grace = policy().worker_lease / 2;
    const Instant now = commit.term_now;
    for (const TaskId id : open_) {
      const TaskRow& task = *picture.tasks().find(id);
      // One whose time is past may have begun just now.
      const Instant since = std::max({task.ready_at, task.updated_at, time_.began()});
      if (now <= since || time_.between(since, now) <= grace) continue;
      if (time_.between(std::max(time_.began(), outage_), now) <= grace) continue;
      violated("{} still waits, its time was up at {}", say(task), say(task.ready_at));
    }
  }

  Signals signals_;
  LeaderTime time_;
  LatestTerm latest_;
  Instant outage_;
  std::set<TaskId> open_;  // waits that have an end
};

// 59: what somebody said to a run and was told is kept, is kept: as it was said, once for a key,
// taken by one wait at most, and by one that waits for it without delay. The first answer to an
// approval holds.
class SaidIsTaken : public Checker {
 public:
  explicit SaidIsTaken(const CheckerTools& tools) : Checker("59-said-is-taken", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* commit = std::get_if<Committed>(&fact)) {
      for (const SignalRow& row : commit->rows.signals) check_row(row);
      signals_.note(*commit);
      check_waiting(picture, *commit);
    } else if (const auto* told = std::get_if<ClientTold>(&fact)) {
      if (const auto* kept = std::get_if<core::SignalKept>(&told->answer)) check_told(*told, *kept);
    }
  }

 private:
  void check_row(const SignalRow& row) {
    const auto& all = signals_.all();
    const auto known = all.find({row.run, row.number});
    if (known != all.end()) {
      SignalRow before = known->second;
      const bool moved = before.taken_by && before.taken_by != row.taken_by;
      before.taken_by = row.taken_by;
      before.taken_epoch = row.taken_epoch;
      if (moved || !(before == row)) {
        violated("what run {} was told as number {} was changed", to_text(row.run), row.number);
      }
    } else if (row.number > 1 && !all.contains({row.run, row.number - 1}) &&
               !newer_.contains({row.run, row.number - 1})) {
      violated("run {} was told number {}, and none before", to_text(row.run), row.number);
    }
    newer_.insert({row.run, row.number});
    for (const auto& [key, other] : all) {
      if (key.first != row.run || other.number == row.number) continue;
      if (!row.idempotency_key.empty() && other.idempotency_key == row.idempotency_key) {
        violated("run {} was told twice under the key '{}'", to_text(row.run), row.idempotency_key);
      }
      const bool same_task = row.taken_by && other.taken_by == row.taken_by;
      if (same_task && other.taken_epoch == row.taken_epoch) {
        violated("numbers {} and {} of run {} were taken by one task", other.number, row.number,
                 to_text(row.run));
      }
    }
  }

  // Nobody waits for what is there.
  void check_waiting(const Picture& picture, const Committed& commit) {
    for (const auto& change : picture.tasks().changes()) check_one(picture, *change.after);
    for (const SignalRow& row : commit.rows.signals) {
      const auto& tasks = picture.tasks().all();
      if (row.taken_by || row.kind != SignalKind::kSignal) continue;
      for (auto at = tasks.lower_bound({row.run, 0}); at != tasks.end() && at->first.run == row.run;
           ++at) {
        check_one(picture, at->second.row);
      }
    }
  }

  void check_one(const Picture& picture, const TaskRow& task) {
    const NodeSpec* spec = picture.spec_of(task);
    if (spec == nullptr || !spec->wait || spec->wait->kind != WaitKind::kSignal) return;
    const RunRow* run = picture.runs().find(task.id.run);
    const RunEnding ending = spec->finally ? run->finally_ending : run->ending;
    if (task.state != TaskState::kQueued || ending != RunEnding::kNone) return;
    if (!signals_.any_free(task.id.run, spec->wait->text)) return;
    violated("{} waits for '{}', which was sent and taken by nobody", say(task), spec->wait->text);
  }

  void check_told(const ClientTold& told, const core::SignalKept& kept) {
    const SignalRow& said = kept.row;
    const auto row = signals_.all().find({said.run, said.number});
    if (row == signals_.all().end()) {
      return violated("a client was told that {} keeps number {}, but no commit says so",
                      to_text(said.run), said.number);
    }
    if (const auto* signal = std::get_if<core::SignalRun>(&told.command)) {
      const bool same = row->second.run == signal->run && row->second.name == signal->name &&
                        row->second.data == signal->data &&
                        row->second.idempotency_key == signal->idempotency_key;
      if (!same) violated("signal '{}' is kept as something else", signal->name);
    } else if (const auto* answer = std::get_if<core::AnswerApproval>(&told.command)) {
      const SignalKind kind = answer->approved ? SignalKind::kApproved : SignalKind::kRejected;
      const bool same = row->second.run == answer->task.run && row->second.kind == kind &&
                        row->second.taken_by == answer->task.index;
      if (!same) violated("an answer about {} is kept as something else", say(answer->task));
    }
  }

  Signals signals_;
  std::set<std::pair<RunId, std::uint32_t>> newer_;
};

}  // namespace

void add_wait_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<WaitsEndRight>(tools));
  list.push_back(std::make_unique<SaidIsTaken>(tools));
}

}  // namespace vortex::sim
