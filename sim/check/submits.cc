#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

const std::string& key_of(const RunRow& run) {
  static const std::string none;
  return run.request ? run.request->idempotency_key : none;
}

// A submit and the run it was told to have made; null when the fact is something else.
struct Accepted {
  const core::SubmitRun* submit = nullptr;
  RunId run;
};

Accepted accepted_submit(const Fact& fact) {
  const auto* told = std::get_if<ClientTold>(&fact);
  if (told == nullptr) return {};
  const auto* submit = std::get_if<core::SubmitRun>(&told->command);
  const auto* answer = std::get_if<core::RunAccepted>(&told->answer);
  if (submit == nullptr || answer == nullptr) return {};
  return {submit, answer->run};
}

// 1: no acknowledged submit is lost, neither by vanishing nor by being written over.
class SubmitKept : public Checker {
 public:
  explicit SubmitKept(const CheckerTools& tools) : Checker("01-submit-kept", tools) {}

  void fact(const Picture& picture, Instant true_time, const Fact& fact) override {
    const Accepted accepted = accepted_submit(fact);
    if (accepted.submit != nullptr) {
      told_.try_emplace(accepted.run, accepted.submit->idempotency_key);
    }
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    for (const auto& change : picture.runs().changes()) {
      if (change.before) check_same_run(*change.before, *change.after);
    }
    for (const RunId run : commit->expired) check_forgotten(picture.runs().find(run), run);
    if (picture.any_forgotten()) check_stays_forgotten(picture, true_time);
  }

  void finish(const Picture& picture, Instant) override {
    for (const auto& [run, key] : told_) {
      const RunRow* row = picture.runs().find(run);
      if (row == nullptr) {
        violated("run {} (key '{}') was acknowledged and is not there", to_text(run), key);
      } else if (key_of(*row) != key) {
        violated("run {} was acknowledged for key '{}' but has key '{}'", to_text(run), key,
                 key_of(*row));
      }
    }
  }

 private:
  void check_same_run(const RunRow& before, const RunRow& after) {
    const bool same_plan = !before.plan || !after.plan || before.plan->digest == after.plan->digest;
    if (same_plan && before.created_at == after.created_at && key_of(before) == key_of(after)) {
      return;
    }
    violated("run {} (key '{}', made at {}) was written over by another (key '{}', made at {})",
             to_text(before.id), key_of(before), say(before.created_at), key_of(after),
             say(after.created_at));
  }

  void check_forgotten(const RunRow* row, RunId run) {
    if (row == nullptr) return violated("run {} was forgotten and never made", to_text(run));
    if (row->state != RunState::kRunning) return;
    violated("run {} (key '{}') was forgotten while it was running", to_text(run), key_of(*row));
  }

  // Rows that come after it would stay for ever: nobody sweeps twice.
  void check_stays_forgotten(const Picture& picture, Instant now) {
    const auto check = [&](RunId run, std::string_view what) {
      if (picture.forgotten_at(run) < now) {
        violated("run {} was forgotten, and then its {} was written", to_text(run), what);
      }
    };
    for (const auto& change : picture.runs().changes()) check(change.after->id, "row");
    for (const auto& change : picture.tasks().changes()) check(change.after->id.run, "task");
    for (const auto& change : picture.attempts().changes()) {
      check(change.after->attempt.task.run, "attempt");
    }
    for (const auto& change : picture.dead_letters().changes()) {
      check(change.after->attempt.task.run, "dead letter");
    }
    for (const auto& change : picture.items().changes()) {
      check(change.after->task.run, "item of a recovery");
    }
  }

  std::map<RunId, std::string> told_;
};

// Which run each key stands for, by commits. A run that is forgotten leaves its key free.
class KeyBook {
 public:
  void committed(const Picture& picture, const Committed& commit) {
    for (const auto& change : picture.runs().changes()) {
      const std::string& key = key_of(*change.after);
      if (!key.empty()) run_of_.try_emplace(key, change.after->id);
    }
    for (const RunId run : commit.expired) release(picture.runs().find(run));
  }
  // Unset: no run that is kept.
  std::optional<RunId> run_of(const std::string& key) const {
    const auto found = run_of_.find(key);
    return found == run_of_.end() ? std::nullopt : std::optional(found->second);
  }
  bool was_released(const std::string& key) const { return released_.contains(key); }

 private:
  void release(const RunRow* run) {
    if (run == nullptr || run_of(key_of(*run)) != run->id) return;
    run_of_.erase(key_of(*run));
    released_.insert(key_of(*run));
  }

  std::map<std::string, RunId> run_of_;
  std::set<std::string> released_;
};

// 2: one idempotency key, one run, in the rows and in the answers; until that run is forgotten.
// From then on the key does not stand for it any more.
class OneKeyOneRun : public Checker {
 public:
  explicit OneKeyOneRun(const CheckerTools& tools) : Checker("02-one-key-one-run", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    const Accepted accepted = accepted_submit(fact);
    if (accepted.submit != nullptr && !accepted.submit->idempotency_key.empty()) {
      check_told(picture, accepted, std::get<ClientTold>(fact).asked_at);
    }
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    keys_.committed(picture, *commit);
    for (const auto& change : picture.runs().changes()) {
      if (picture.forgotten_at(change.after->id) < kNever) continue;
      check_one(key_of(*change.after), change.after->id);
    }
  }

 private:
  void check_told(const Picture& picture, const Accepted& accepted, Instant asked_at) {
    const std::string& key = accepted.submit->idempotency_key;
    const Instant forgotten = picture.forgotten_at(accepted.run);
    if (forgotten < asked_at) {
      violated("key '{}' was answered with run {}, which was forgotten before it was asked", key,
               to_text(accepted.run));
    }
    if (forgotten == kNever) check_one(key, accepted.run);
  }

  void check_one(const std::string& key, RunId run) {
    const auto known = keys_.run_of(key);
    if (key.empty() || !known || *known == run) return;
    violated("key '{}' stands for run {} and for run {}", key, to_text(*known), to_text(run));
  }

  KeyBook keys_;
};

// 34: a request that is sent again under its key is answered with its run, and never refused. Two
// are the same when they ask for the same DAG with the same params and labels.
class KeyAnswered : public Checker {
 public:
  explicit KeyAnswered(const CheckerTools& tools) : Checker("34-key-answered", tools) {}

  void fact(const Picture& picture, Instant true_time, const Fact& fact) override {
    if (const auto* commit = std::get_if<Committed>(&fact)) {
      keys_.committed(picture, *commit);
      for (const auto& change : picture.runs().changes()) {
        if (!change.before) made_.try_emplace(change.after->id, true_time);
      }
    } else if (const auto* told = std::get_if<ClientTold>(&fact)) {
      const auto* submit = std::get_if<core::SubmitRun>(&told->command);
      const auto* refusal = std::get_if<core::Refusal>(&told->answer);
      if (submit != nullptr && refusal != nullptr) {
        check(picture, *submit, *refusal, told->asked_at);
      }
    }
  }

 private:
  static bool same_request(const core::SubmitRun& submit, const RunRow& run) {
    if (!run.plan || !run.request) return false;
    if (submit.params != run.request->params || submit.labels != run.request->labels) return false;
    if (const auto* plan = std::get_if<PlanPtr>(&submit.dag)) {
      return *plan && (*plan)->digest == run.plan->digest;
    }
    const auto plan = compile(std::get<DagSpec>(submit.dag), {});
    return plan && (*plan)->digest == run.plan->digest;
  }

  void check(const Picture& picture, const core::SubmitRun& submit, const core::Refusal& refusal,
             Instant asked_at) {
    const auto known = keys_.run_of(submit.idempotency_key);
    // A key that changed hands: the refusal may be about the run that had it before.
    if (!known || keys_.was_released(submit.idempotency_key)) return;
    const RunRow* run = picture.runs().find(*known);
    if (run == nullptr || !same_request(submit, *run)) return;
    // One of several copies found no room, and its answer came after another had made the run.
    const auto made = made_.find(*known);
    const bool before = made == made_.end() || asked_at < made->second;
    if (before && refusal.kind == core::RefusalKind::kOverQuota) return;
    violated("key '{}' was sent again with the request that made run {}, and refused ({})",
             submit.idempotency_key, to_text(*known), static_cast<int>(refusal.kind));
  }

  KeyBook keys_;
  std::map<RunId, Instant> made_;
};

}  // namespace

void add_submit_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<SubmitKept>(tools));
  list.push_back(std::make_unique<OneKeyOneRun>(tools));
  list.push_back(std::make_unique<KeyAnswered>(tools));
}

}  // namespace vortex::sim
