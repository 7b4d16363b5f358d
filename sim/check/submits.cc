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

}  // namespace

void add_submit_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<SubmitKept>(tools));
  list.push_back(std::make_unique<OneKeyOneRun>(tools));
}

}  // namespace vortex::sim
