#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "model/plan.h"
#include "sim/check/say.h"
#include "sim/check/subjects.h"
#include "sim/model/leader_time.h"

namespace vortex::sim {

namespace {

// A member of an object as it is written; enough for the params that are drawn. Empty: none.
std::string_view member_text(std::string_view json, std::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":";
  const std::size_t at = json.find(key);
  if (at == std::string_view::npos) return {};
  std::size_t end = at + key.size();
  int depth = 0;
  for (; end < json.size(); ++end) {
    if (json[end] == '[' || json[end] == '{') ++depth;
    if (json[end] == ']' || (json[end] == '}' && depth > 0)) --depth;
    if (depth == 0 && (json[end] == ',' || json[end] == '}')) break;
  }
  return json.substr(at, end - at);
}

// Params that a text names.
std::set<std::string> params_in(std::string_view text) {
  constexpr std::string_view kMark = "params.";
  std::set<std::string> names;
  for (std::size_t at = text.find(kMark); at != std::string_view::npos;
       at = text.find(kMark, at + 1)) {
    std::string name;
    for (std::size_t i = at + kMark.size(); i < text.size(); ++i) {
      const char c = text[i];
      const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      if (!word) break;
      name += c;
    }
    names.insert(name);
  }
  return names;
}

// 76: a result that was taken over is that of a task that completed, of the same definition and the
// same params, whose needs were taken over as well; its outputs are the same; it never ran.
class KeptAsItWas : public Checker {
 public:
  explicit KeptAsItWas(const CheckerTools& tools) : Checker("76-kept-as-it-was", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    for (const TaskDataRow& row : commit->rows.task_data) {
      if (row.outputs) outputs_[row.id] = *row.outputs;
    }
    for (const auto& change : picture.tasks().changes()) {
      if (!change.after->reused_from.empty()) check(picture, change);
      const bool lost =
          change.before && !change.before->reused_from.empty() && change.after->reused_from.empty();
      if (lost) violated("{} forgot whose result it has", say(*change.after));
    }
    for (const auto& change : picture.attempts().changes()) {
      const TaskRow* task = picture.tasks().find(change.after->attempt.task);
      if (task == nullptr || task->reused_from.empty()) continue;
      violated("{} ran, and has the result of {}", say(*task), task->reused_from);
    }
  }

 private:
  void check(const Picture& picture, const RowChange<TaskRow>& change) {
    const TaskRow& task = *change.after;
    if (change.before && change.before->reused_from.empty() &&
        change.before->state != TaskState::kWaiting) {
      violated("{} was {} before it took over a result", say(task), say(*change.before));
    }
    const auto id = parse_task_id(task.reused_from);
    const TaskRow* from = id ? picture.tasks().find(*id) : nullptr;
    if (from == nullptr || from->state != TaskState::kCompleted ||
        task.state != TaskState::kCompleted || task.counters.attempts > 0) {
      return violated("{} has taken over the result of {}, which is {}", say(task),
                      task.reused_from, from != nullptr ? say(*from) : "not there");
    }
    if (outputs_of(task.id) != outputs_of(from->id)) {
      violated("{} has outputs '{}', those of {} are '{}'", say(task), outputs_of(task.id),
               say(*from), outputs_of(from->id));
    }
    const NodeSpec* spec = picture.spec_of(task);
    const NodeSpec* before = picture.spec_of(*from);
    if (spec == nullptr || before == nullptr || digest_of(*spec) != digest_of(*before)) {
      return violated("{} and {} have not the same definition", say(task), say(*from));
    }
    check_params(picture, task, *from, *spec);
    check_needs(picture, task);
  }

  std::string outputs_of(TaskId task) const {
    const auto found = outputs_.find(task);
    return found == outputs_.end() ? std::string() : found->second;
  }

  void check_params(const Picture& picture, const TaskRow& task, const TaskRow& from,
                    const NodeSpec& spec) {
    const RunRow* now = picture.runs().find(task.id.run);
    const RunRow* then = picture.runs().find(from.id.run);
    if (now == nullptr || then == nullptr || !now->request || !then->request) return;
    std::string text = spec.condition;
    const auto* over = spec.map ? std::get_if<MapOver>(&spec.map->over) : nullptr;
    if (over != nullptr) text += " " + over->text;
    for (const std::string& name : params_in(text)) {
      const std::string_view is = member_text(now->request->params, name);
      const std::string_view was = member_text(then->request->params, name);
      if (is == was) continue;
      violated("{} keeps a result, though {} was {}", say(task), is, was);
    }
  }

  void check_needs(const Picture& picture, const TaskRow& task) {
    const RunRow* run = picture.runs().find(task.id.run);
    if (run == nullptr || !run->plan) return;
    const DagPlan& plan = *run->plan;
    for (const std::uint32_t need : plan.nodes[task.node].needs) {
      const std::uint32_t first = plan.first_task(need);
      for (std::uint32_t i = 0; i < plan.tasks_of(need); ++i) {
        const TaskRow* row = picture.tasks().find({.run = task.id.run, .index = first + i});
        const bool skipped = row != nullptr && row->state == TaskState::kSkipped;
        if (row != nullptr && (skipped || !row->reused_from.empty())) continue;
        return violated("{} keeps a result behind '{}', which does not", say(task),
                        plan.node_spec(need).name);
      }
    }
  }

  std::map<TaskId, std::string> outputs_;
};

// 77: what a client was allowed to keep is kept: every task of it, from the first commit on.
class KeepsWhatItMay : public Checker {
 public:
  explicit KeepsWhatItMay(const CheckerTools& tools) : Checker("77-keeps-what-it-may", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    const auto* told = std::get_if<ClientTold>(&fact);
    if (told == nullptr) return;
    const auto* submit = std::get_if<core::SubmitRun>(&told->command);
    const auto* accepted = std::get_if<core::RunAccepted>(&told->answer);
    if (submit == nullptr || accepted == nullptr || !submit->kept) return;
    const RunRow* run = picture.runs().find(accepted->run);
    if (run == nullptr || !run->plan || picture.any_forgotten()) return;
    if (run->request && run->request->rerun_of != submit->kept->run) {
      violated("run {} does not know that it is a rerun of {}", to_text(accepted->run),
               to_text(submit->kept->run));
    }
    for (const KeptNode& kept : submit->kept->nodes) {
      const std::uint32_t first = run->plan->first_task(kept.node);
      for (std::uint32_t i = 0; i < kept.tasks.size(); ++i) {
        const TaskRow* row = picture.tasks().find({.run = accepted->run, .index = first + i});
        if (row != nullptr && row->reused_from == kept.tasks[i].from) continue;
        return violated("task {} of run {} was to keep the result of {}", first + i,
                        to_text(accepted->run), kept.tasks[i].from);
      }
    }
  }
};

// 78: a run that was submitted ahead of its time starts then: nothing of it before, and all soon
// after.
class StartsInTime : public Checker {
 public:
  explicit StartsInTime(const CheckerTools& tools)
      : Checker("78-starts-in-time", tools), time_(policy().sweep) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    time_.fact(fact);
    if (const auto* outage = std::get_if<OutageEnded>(&fact)) outage_ = outage->term_now;
    if (latest_.begins(fact)) outage_ = {};
    if (const auto* told = std::get_if<ClientTold>(&fact)) check_told(*told);
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    for (const auto& change : picture.runs().changes()) check_run(*commit, change);
    for (const auto& change : picture.tasks().changes()) check_task(picture, *change.after);
    if (commit->term == time_.term()) check_late(picture, *commit);
  }

 private:
  void check_told(const ClientTold& told) {
    const auto* submit = std::get_if<core::SubmitRun>(&told.command);
    const auto* accepted = std::get_if<core::RunAccepted>(&told.answer);
    if (submit == nullptr || accepted == nullptr || accepted->existed) return;
    const auto row = made_.find(accepted->run);
    if (row == made_.end() || submit->starts_at == kNever) return;
    // A commit gathers many steps: its time may have come within the one that made the run.
    const bool ahead =
        submit->starts_at > row->second.committed_at ||
        (submit->starts_at > row->second.created_at && row->second.starts_at != kNever);
    const Instant wanted = ahead ? submit->starts_at : kNever;
    if (row->second.starts_at == wanted) return;
    violated("run {} was to start at {}, not at {}", to_text(accepted->run), say(wanted),
             say(row->second.starts_at));
  }

  void check_run(const Committed& commit, const RowChange<RunRow>& change) {
    const RunRow& run = *change.after;
    if (!change.before) made_[run.id] = {run.created_at, run.starts_at, commit.term_now};
    const bool goes_on = run.state == RunState::kRunning && run.ending == RunEnding::kNone;
    const bool waits = run.starts_at != kNever && goes_on;
    waits ? void(ahead_.insert(run.id)) : void(ahead_.erase(run.id));
    if (!change.before || change.before->starts_at == run.starts_at) return;
    if (run.starts_at != kNever) {
      violated("the start of run {} was moved to {}", to_text(run.id), say(run.starts_at));
    } else if (commit.term_now < change.before->starts_at) {
      violated("run {} started at {}, before its time at {}", to_text(run.id), say(commit.term_now),
               say(change.before->starts_at));
    }
  }

  void check_task(const Picture& picture, const TaskRow& task) {
    const RunRow* run = picture.runs().find(task.id.run);
    const NodeSpec* spec = picture.spec_of(task);
    if (run == nullptr || spec == nullptr || run->starts_at == kNever || spec->finally) return;
    if (task.state == TaskState::kWaiting || task.state == TaskState::kCancelled) return;
    if (run->ending != RunEnding::kNone) return;
    violated("{}, and its run starts at {}", say(task), say(run->starts_at));
  }

  // Half a lease for whatever else the leader has to do, as for everything that is due.
  void check_late(const Picture& picture, const Committed& commit) {
    const Duration grace = policy().worker_lease / 2;
    for (const RunId id : ahead_) {
      const RunRow& run = *picture.runs().find(id);
      const Instant since = std::max({run.starts_at, made_[id].created_at, time_.began()});
      if (commit.term_now <= since || time_.between(since, commit.term_now) <= grace) continue;
      const Instant from = std::max(time_.began(), outage_);
      if (time_.between(from, commit.term_now) <= grace) continue;
      violated("run {} still waits, its time was at {}", to_text(id), say(run.starts_at));
    }
  }

  struct Made {
    Instant created_at;
    Instant starts_at;
    Instant committed_at;
  };
  LeaderTime time_;
  LatestTerm latest_;
  Instant outage_;
  std::map<RunId, Made> made_;
  std::set<RunId> ahead_;
};

}  // namespace

void add_reuse_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<KeptAsItWas>(tools));
  list.push_back(std::make_unique<KeepsWhatItMay>(tools));
  list.push_back(std::make_unique<StartsInTime>(tools));
}

}  // namespace vortex::sim
