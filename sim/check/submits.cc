#include <map>
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

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    const Accepted accepted = accepted_submit(fact);
    if (accepted.submit != nullptr) {
      told_.try_emplace(accepted.run, accepted.submit->idempotency_key);
    }
    if (!std::holds_alternative<Committed>(fact)) return;
    for (const auto& change : picture.runs().changes()) {
      if (change.before) check_same_run(*change.before, *change.after);
    }
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

  std::map<RunId, std::string> told_;
};

// 2: one idempotency key, one run, in the rows and in the answers.
class OneKeyOneRun : public Checker {
 public:
  explicit OneKeyOneRun(const CheckerTools& tools) : Checker("02-one-key-one-run", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    const Accepted accepted = accepted_submit(fact);
    if (accepted.submit != nullptr) note(accepted.submit->idempotency_key, accepted.run);
    if (!std::holds_alternative<Committed>(fact)) return;
    for (const auto& change : picture.runs().changes()) {
      note(key_of(*change.after), change.after->id);
    }
  }

 private:
  void note(const std::string& key, RunId run) {
    if (key.empty()) return;
    const auto [known, is_new] = run_of_.try_emplace(key, run);
    if (is_new || known->second == run) return;
    violated("key '{}' stands for run {} and for run {}", key, to_text(known->second),
             to_text(run));
  }

  std::map<std::string, RunId> run_of_;
};

// 34: a request that is sent again under its key is answered with its run, and never refused. Two
// are the same when they ask for the same DAG with the same params and labels.
class KeyAnswered : public Checker {
 public:
  explicit KeyAnswered(const CheckerTools& tools) : Checker("34-key-answered", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (std::holds_alternative<Committed>(fact)) {
      for (const auto& change : picture.runs().changes()) {
        const std::string& key = key_of(*change.after);
        if (!key.empty()) run_of_.try_emplace(key, change.after->id);
      }
    } else if (const auto* told = std::get_if<ClientTold>(&fact)) {
      const auto* submit = std::get_if<core::SubmitRun>(&told->command);
      const auto* refusal = std::get_if<core::Refusal>(&told->answer);
      if (submit != nullptr && refusal != nullptr) check(picture, *submit, *refusal);
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

  void check(const Picture& picture, const core::SubmitRun& submit, const core::Refusal& refusal) {
    const auto known = run_of_.find(submit.idempotency_key);
    if (submit.idempotency_key.empty() || known == run_of_.end()) return;
    const RunRow* run = picture.runs().find(known->second);
    if (run == nullptr || !same_request(submit, *run)) return;
    violated("key '{}' was sent again with the request that made run {}, and refused ({})",
             submit.idempotency_key, to_text(known->second), static_cast<int>(refusal.kind));
  }

  std::map<std::string, RunId> run_of_;
};

}  // namespace

void add_submit_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<SubmitKept>(tools));
  list.push_back(std::make_unique<OneKeyOneRun>(tools));
  list.push_back(std::make_unique<KeyAnswered>(tools));
}

}  // namespace vortex::sim
