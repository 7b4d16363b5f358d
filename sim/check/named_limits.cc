#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// What is known of the limits, commit by commit: as they were before it, and as it left them.
class LimitChecker : public CommitChecker {
 public:
  using CommitChecker::CommitChecker;

  void committed(const Picture& picture, const Committed& commit) final {
    changed_.clear();
    before_ = limits_;
    for (const LimitRow& row : commit.rows.limits) take(row);
    for (const auto& change : picture.tasks().changes()) see(picture, change);
    judge(picture, commit);
  }

 protected:
  virtual void see(const Picture& picture, const RowChange<TaskRow>& change) = 0;
  virtual void judge(const Picture& picture, const Committed& commit) = 0;

  const LimitRow* before(const std::string& name) const { return find(before_, name); }
  const LimitRow* now(const std::string& name) const { return find(limits_, name); }
  // Set or deleted in this commit, as far as rows tell: a grant may have come before or after.
  const std::set<std::string>& changed() const { return changed_; }
  const std::map<std::string, LimitRow>& limits() const { return limits_; }

 private:
  static const LimitRow* find(const std::map<std::string, LimitRow>& in, const std::string& name) {
    const auto found = in.find(name);
    return found == in.end() ? nullptr : &found->second;
  }

  void take(const LimitRow& row) {
    const LimitRow* known = now(row.name);
    const bool same = known != nullptr && !row.removed && known->slots == row.slots &&
                      known->rate == row.rate && known->window == row.window &&
                      known->set_at == row.set_at;
    if (!same) changed_.insert(row.name);
    row.removed ? void(limits_.erase(row.name)) : void(limits_[row.name] = row);
  }

  std::map<std::string, LimitRow> limits_;
  std::map<std::string, LimitRow> before_;
  std::set<std::string> changed_;
};

// 64: no more tasks are on workers that name a limit than it has slots, and none is given to a
// worker while nobody has set the limit.
class NamedLimitKept : public LimitChecker {
 public:
  explicit NamedLimitKept(const CheckerTools& tools) : LimitChecker("64-named-limit-kept", tools) {}

 private:
  void see(const Picture& picture, const RowChange<TaskRow>& change) override {
    const TaskRow& task = *change.after;
    const NodeSpec* spec = picture.spec_of(task);
    if (spec == nullptr) return;
    for (const std::string& limit : spec->limits) {
      std::set<TaskId>& held = held_[limit];
      is_held(task.state) ? (void)held.insert(task.id) : (void)held.erase(task.id);
      if (is_new_grant(change)) granted_[limit] = task.id;
    }
  }

  void judge(const Picture&, const Committed&) override {
    for (const auto& [name, task] : std::exchange(granted_, {})) {
      const LimitRow* old = before(name);
      const LimitRow* is = now(name);
      if (old == nullptr && is == nullptr) {
        violated("{} was granted, but limit '{}' does not exist", say(task), name);
        continue;
      }
      if (changed().contains(name)) continue;  // it may have been larger in between
      std::uint32_t slots = 0;
      for (const LimitRow* row : {old, is}) {
        if (row != nullptr) slots = std::max(slots, row->slots == 0 ? kNoLimit : row->slots);
      }
      if (held_[name].size() <= slots) continue;
      violated("{} tasks hold limit '{}' with {} slots; the last is {}", held_[name].size(), name,
               slots, say(task));
    }
  }

  static constexpr std::uint32_t kNoLimit = 0xFFFF'FFFF;
  std::map<std::string, std::set<TaskId>> held_;
  std::map<std::string, TaskId> granted_;  // the last of this commit
};

// 65: never more grants in any window of the length of a rate than it says, whoever leads.
class RateKept : public LimitChecker {
 public:
  explicit RateKept(const CheckerTools& tools) : LimitChecker("65-rate-kept", tools) {}

 private:
  void see(const Picture& picture, const RowChange<TaskRow>& change) override {
    const TaskRow& task = *change.after;
    if (is_held(task.state)) note(picture, task, {task.id, task.epoch}, task.granted_at);
  }

  void note(const Picture& picture, const TaskRow& task, const Attempt& attempt, Instant at) {
    const NodeSpec* spec = picture.spec_of(task);
    if (spec == nullptr || at == kNever) return;
    for (const std::string& limit : spec->limits) {
      if (seen_[limit].insert(attempt).second) fresh_[limit].push_back(at);
    }
  }

  void judge(const Picture& picture, const Committed& commit) override {
    for (const AttemptRow& row : commit.rows.attempts) {
      const TaskRow* task = picture.tasks().find(row.attempt.task);
      if (task != nullptr) note(picture, *task, row.attempt, row.granted_at);
    }
    auto fresh = std::exchange(fresh_, {});
    // What was granted before somebody changed or deleted it need not count any more.
    for (const std::string& name : changed()) grants_.erase(name), fresh.erase(name);
    for (auto& [name, times] : fresh) {
      std::multiset<Instant>& all = grants_[name];
      all.insert(times.begin(), times.end());
      const LimitRow* rate = now(name);
      if (rate == nullptr || rate->rate == 0 || !rate->window) continue;
      for (const Instant at : times) {
        check(name, *rate, at);
      }
    }
  }

  // The window that ends with this grant.
  void check(const std::string& name, const LimitRow& rate, Instant at) {
    const std::multiset<Instant>& all = grants_[name];
    const auto first = all.upper_bound(at - *rate.window);
    const auto last = all.upper_bound(at);
    const auto count = std::distance(first, last);
    if (count <= static_cast<std::ptrdiff_t>(rate.rate)) return;
    violated("limit '{}': {} grants in the window that ends at {}; {} are allowed", name, count,
             say(at), rate.rate);
  }

  std::map<std::string, std::set<Attempt>> seen_;
  std::map<std::string, std::vector<Instant>> fresh_;
  std::map<std::string, std::multiset<Instant>> grants_;
};

}  // namespace

void add_named_limit_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<NamedLimitKept>(tools));
  list.push_back(std::make_unique<RateKept>(tools));
}

}  // namespace vortex::sim
