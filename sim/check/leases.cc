#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "sim/check/say.h"
#include "sim/check/subjects.h"

namespace vortex::sim {

namespace {

// 23: leases of one partition never overlap in committed time, and only the holder of the current
// epoch renews.
class LeasesApart : public Checker {
 public:
  explicit LeasesApart(const CheckerTools& tools) : Checker("23-leases-apart", tools) {}

  void fact(const Picture&, Instant, const Fact& fact) override {
    if (const auto* commit = std::get_if<Committed>(&fact)) {
      for (const PartitionLeaseRow& row : commit->rows.leases) take(*commit, row);
    } else if (const auto* told = std::get_if<ClientTold>(&fact)) {
      check_answer(*told);
    }
  }

 private:
  struct Tenure {
    AgentId holder;
    Instant until;
  };
  using TenureKey = std::pair<PartitionKey, Epoch>;

  // Rows in the order of the commit: a release and the next grant may share it.
  void take(const Committed& commit, const PartitionLeaseRow& row) {
    const auto [known, is_new] = current_.try_emplace(row.partition, row);
    if (!is_new) {
      check_step(commit, known->second, row);
      known->second = row;
    }
    if (row.holder.empty()) return;
    Tenure& tenure = tenures_[{row.partition, row.epoch}];
    if (tenure.holder.empty()) tenure.holder = row.holder;
    tenure.until = std::max(tenure.until, row.expires_at);
  }

  void check_step(const Committed& commit, const PartitionLeaseRow& before,
                  const PartitionLeaseRow& after) {
    if (after.holder.empty()) return;
    if (after.epoch == before.epoch) {
      if (after.holder == before.holder) return;
      return violated("epoch {} of partition {} passed from '{}' to '{}'", after.epoch.value,
                      say(after.partition), before.holder.text, after.holder.text);
    }
    const bool other = !before.holder.empty() && before.holder != after.holder;
    const Instant from = after.expires_at - policy().partition_lease;
    if (!other || from >= before.expires_at || released_in(commit)) return;
    violated("partition {}: '{}' holds epoch {} from {}, but '{}' had epoch {} until {}",
             say(after.partition), after.holder.text, after.epoch.value, say(from),
             before.holder.text, before.epoch.value, say(before.expires_at));
  }

  // When rows of one key were merged, the release itself shows only as an event.
  static bool released_in(const Committed& commit) {
    return std::any_of(commit.events.begin(), commit.events.end(),
                       [](const Event& event) { return event.kind == EventKind::kLeaseReleased; });
  }

  void check_answer(const ClientTold& told) {
    const auto* granted = std::get_if<core::LeaseGranted>(&told.answer);
    if (granted == nullptr) return;
    if (const auto* acquire = std::get_if<core::AcquireLease>(&told.command)) {
      check_tenure({acquire->partition, granted->epoch}, acquire->agent, *granted);
    } else if (const auto* renew = std::get_if<core::RenewLease>(&told.command)) {
      if (renew->epoch != granted->epoch) {
        violated("'{}' renewed partition {} with epoch {} and was told epoch {}", renew->agent.text,
                 say(renew->partition), renew->epoch.value, granted->epoch.value);
      }
      check_tenure({renew->partition, granted->epoch}, renew->agent, *granted);
    }
  }

  void check_tenure(const TenureKey& key, const AgentId& agent, const core::LeaseGranted& granted) {
    const auto found = tenures_.find(key);
    const bool held = found != tenures_.end() && found->second.holder == agent;
    if (held && granted.expires_at <= found->second.until) return;
    violated("'{}' was told that it holds partition {} in epoch {} until {}; committed: {}",
             agent.text, say(key.first), key.second.value, say(granted.expires_at),
             found == tenures_.end() ? "nothing"
                                     : fmt::format("'{}' until {}", found->second.holder.text,
                                                   say(found->second.until)));
  }

  std::map<PartitionKey, PartitionLeaseRow> current_;
  std::map<TenureKey, Tenure> tenures_;
};

// 42: a lease that is over is never renewed: whoever was late by a moment asks for a new one, under
// a new epoch. And a renewal lasts as long as the policy says, not longer.
class RenewedInTime : public Checker {
 public:
  explicit RenewedInTime(const CheckerTools& tools) : Checker("42-renewed-in-time", tools) {}

  void fact(const Picture&, Instant, const Fact& fact) override {
    const auto* commit = std::get_if<Committed>(&fact);
    if (commit == nullptr) return;
    for (const PartitionLeaseRow& row : commit->rows.leases) take(*commit, row);
  }

 private:
  void take(const Committed& commit, const PartitionLeaseRow& row) {
    PartitionLeaseRow& known = current_[row.partition];
    const PartitionLeaseRow before = std::exchange(known, row);
    if (row.holder.empty()) return;
    const Instant from = row.expires_at - policy().partition_lease;
    if (from > commit.term_now) {
      violated("partition {}: '{}' holds it until {}, longer than a lease from {}",
               say(row.partition), row.holder.text, say(row.expires_at), say(commit.term_now));
    }
    const bool renewed = before.holder == row.holder && before.epoch == row.epoch;
    if (!renewed || row.expires_at == before.expires_at || from < before.expires_at) return;
    violated("partition {}: '{}' renewed epoch {} at {}, but it had ended at {}",
             say(row.partition), row.holder.text, row.epoch.value, say(from),
             say(before.expires_at));
  }

  std::map<PartitionKey, PartitionLeaseRow> current_;
};

}  // namespace

void add_lease_checkers(CheckerList& list, const CheckerTools& tools) {
  list.push_back(std::make_unique<LeasesApart>(tools));
  list.push_back(std::make_unique<RenewedInTime>(tools));
}

}  // namespace vortex::sim
