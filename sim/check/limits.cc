#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

std::int64_t offered(const Resources& total, const std::string& name) {
  for (const auto& [known, amount] : total.named) {
    if (known == name) return amount;
  }
  return 0;
}

// 25: limits are never exceeded: what a worker holds, its resources, parallel tasks of a map.
class LimitsKept : public CommitChecker {
 public:
  explicit LimitsKept(const CheckerTools& tools) : CommitChecker("25-limits-kept", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const Holder& holder : picture.holdings().touched_holders()) {
      const WorkerRow* row = picture.workers().find(holder.worker);
      if (row == nullptr || row->incarnation != holder.incarnation) continue;
      check_load(holder, *row->info, picture.holdings().load_of(holder));
    }
    for (const auto& change : picture.tasks().changes()) {
      if (is_new_grant(change)) check_parallel(picture, *change.after);
    }
  }

 private:
  void check_load(const Holder& holder, const WorkerInfo& info, const Load& load) {
    if (load.held > info.slots * (1 + kAheadPerSlotMax)) {
      violated("{} holds {} tasks for {} slots", say(holder), load.held, info.slots);
    }
    // A worker that states no amount of cpu or memory does not ration it.
    check_amount(holder, "cpu", load.cpu_milli, info.resources.cpu_milli);
    check_amount(holder, "memory", load.memory_bytes, info.resources.memory_bytes);
    for (const auto& [name, used] : load.named) {
      const std::int64_t total = offered(info.resources, name);
      if (used > total) violated("{} has {} of {} {}", say(holder), used, total, name);
    }
  }

  void check_amount(const Holder& holder, std::string_view name, std::int64_t used,
                    std::int64_t total) {
    if (total > 0 && used > total) violated("{} has {} of {} {}", say(holder), used, total, name);
  }

  void check_parallel(const Picture& picture, const TaskRow& task) {
    const NodeSpec* spec = picture.spec_of(task);
    if (spec == nullptr || !spec->map || spec->map->max_parallel == 0) return;
    const std::uint32_t held = picture.nodes(task.id.run)->node(task.node).held;
    if (held <= spec->map->max_parallel) return;
    violated("{}: {} tasks of its map are held; max_parallel is {}", say(task), held,
             spec->map->max_parallel);
  }
};

// 25 as well: what a worker holds ahead waits; never more processes at once than slots.
class SlotsKept : public Checker {
 public:
  explicit SlotsKept(const CheckerTools& tools) : Checker("25-slots-kept", tools) {}

  void fact(const Picture& picture, Instant, const Fact& fact) override {
    if (const auto* started = std::get_if<ProcessStarted>(&fact)) {
      const Holder holder{started->worker, started->incarnation};
      const WorkerRow* row = picture.workers().find(holder.worker);
      const std::uint32_t running = ++running_[holder];
      if (row == nullptr || row->incarnation != holder.incarnation) return;
      if (running > row->info->slots) {
        violated("{} runs {} tasks in {} slots", say(holder), running, row->info->slots);
      }
    } else if (const auto* ended = std::get_if<ProcessEnded>(&fact)) {
      const ProcessStarted* process = picture.process(ended->process);
      if (process != nullptr) --running_[{process->worker, process->incarnation}];
    }
  }

 private:
  std::map<Holder, std::uint32_t> running_;
};

// 48: a run is taken only while there is room for it: live runs and their tasks stay within the
// quotas, in all and for each token. What an operator brings back to life is let in beyond them.
class QuotaKept : public CommitChecker {
 public:
  explicit QuotaKept(const CheckerTools& tools) : CommitChecker("48-quota-kept", tools) {}

  void committed(const Picture& picture, const Committed&) override {
    for (const auto& change : picture.runs().changes()) {
      const RunRow& run = *change.after;
      const bool lives = run.state == RunState::kRunning;
      if (live_.contains(run.id)) count_late(run);
      const bool revived = lives && change.before && change.before->state != RunState::kRunning;
      if (revived || picture.revived_in(run.id)) extra_ = true;
      const bool lived = live_.contains(run.id);
      if (lives == lived) continue;
      count(run, lives ? 1 : -1);
      lives ? (void)live_.insert(run.id) : (void)live_.erase(run.id);
    }
    // Once something came back beyond the quota nobody can tell what there is room for.
    if (extra_) return;
    check(policy().quota, all_, "all");
    for (const auto& [token, sum] : by_token_) check(policy().quota_per_token, sum, token);
  }

 private:
  struct Sum {
    std::int64_t runs = 0;
    std::int64_t tasks = 0;
  };

  // Maps made at run time add tasks while it lives. One task that stands for a map without items
  // is made whatever the quota.
  static std::int64_t late_tasks_of(const RunRow& run) {
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < run.late.size(); i += 2) {
      if (run.late[i] != kLateFailed) sum += run.late[i];
    }
    return sum;
  }

  void count_late(const RunRow& run) {
    const std::int64_t now = late_tasks_of(run);
    const std::int64_t more = now - std::exchange(late_[run.id], now);
    const std::string token = run.request ? run.request->submitted_by : std::string();
    for (Sum* sum : {&all_, &by_token_[token]}) sum->tasks += more;
  }

  void count(const RunRow& run, std::int64_t sign) {
    late_[run.id] = late_tasks_of(run);
    const std::int64_t tasks = run.plan->base->tasks + late_[run.id];
    const std::string token = run.request ? run.request->submitted_by : std::string();
    for (Sum* sum : {&all_, &by_token_[token]}) {
      sum->runs += sign;
      sum->tasks += sign * tasks;
    }
  }

  void check(const core::Quota& quota, const Sum& sum, std::string_view who) {
    const bool runs = quota.runs > 0 && sum.runs > static_cast<std::int64_t>(quota.runs);
    const bool tasks = quota.tasks > 0 && sum.tasks > static_cast<std::int64_t>(quota.tasks);
    if (!runs && !tasks) return;
    violated("live runs of '{}': {} with {} tasks; allowed are {} with {}", who, sum.runs,
             sum.tasks, quota.runs, quota.tasks);
  }

  std::set<RunId> live_;
  std::map<RunId, std::int64_t> late_;  // tasks of maps made at run time, as they are counted
  Sum all_;
  std::map<std::string, Sum> by_token_;
  bool extra_ = false;
};

}  // namespace

void add_limit_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<LimitsKept>(tools));
  list.push_back(std::make_unique<SlotsKept>(tools));
}

void add_quota_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<QuotaKept>(tools));
}

}  // namespace vortex::sim
