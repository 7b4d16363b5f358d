#include "base/settings_timing.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/settings_value.h"

namespace vortex {
namespace {

constexpr std::string_view kLease = "controller.heartbeat_timeout_secs";
constexpr std::string_view kHealthCheck = "controller.health_check_interval_secs";
constexpr std::string_view kScheduled = "controller.scheduled_timeout_secs";
constexpr std::string_view kGrace = "controller.reconnect_grace_secs";
constexpr std::string_view kSweep = "controller.sweep_interval_ms";
constexpr std::string_view kPartitionLease = "controller.partition_lease_secs";
constexpr std::string_view kPartitionRenew = "controller.partition_renew_secs";
constexpr std::string_view kLeaderLease = "controller.leader_lease_secs";
constexpr std::string_view kHeartbeat = "worker.heartbeat_interval_secs";
constexpr std::string_view kFence = "worker.self_fence_secs";
constexpr std::string_view kKill = "worker.kill_grace_secs";
constexpr std::string_view kTcp = "worker.tcp_user_timeout_secs";
constexpr std::string_view kBackoffBase = "worker.spawn_backoff_base_seconds";
constexpr std::string_view kBackoffMax = "worker.spawn_backoff_max_seconds";
constexpr std::string_view kDatabase = "database.io_timeout_secs";

constexpr RuleTerm kFenceSweepKill[] = {{kFence}, {kSweep}, {kKill}};
// One heartbeat since the last one that was answered, and one to find the next leader.
constexpr RuleTerm kLeaderLeaseTerm[] = {{kLeaderLease}, {kHeartbeat, 2, 1}};
constexpr RuleTerm kHeartbeatTerm[] = {{kHeartbeat}};
constexpr RuleTerm kLeaseTerm[] = {{kLease}};
constexpr RuleTerm kTcpTerm[] = {{kTcp}};
constexpr RuleTerm kDatabaseTerm[] = {{kDatabase}};
constexpr RuleTerm kSweepTerm[] = {{kSweep}};
constexpr RuleTerm kHealthCheckTerm[] = {{kHealthCheck}};
constexpr RuleTerm kGraceTerm[] = {{kGrace}};
constexpr RuleTerm kPartitionRenewTerm[] = {{kPartitionRenew}};
constexpr RuleTerm kBackoffBaseTerm[] = {{kBackoffBase}};

constexpr TimingRule kRules[] = {
    {kFenceSweepKill,
     RuleRelation::kAtMost,
     {kLease, 95, 100},
     "a worker that is cut off may still be running a task that was assigned to another"},
    {kHeartbeatTerm,
     RuleRelation::kAtMost,
     {kFence, 1, 3},
     "one or two lost heartbeats make a healthy worker kill its tasks"},
    {kLeaseTerm,
     RuleRelation::kAtMost,
     {kScheduled},
     "a task is assigned to a second worker while the first may still start it"},
    {kTcpTerm,
     RuleRelation::kBelow,
     {kFence},
     "a worker kills its tasks before it has tried to reconnect"},
    {kDatabaseTerm,
     RuleRelation::kBelow,
     {kFence, 1, 2},
     "one slow database operation makes healthy workers kill their tasks"},
    {kLeaderLeaseTerm,
     RuleRelation::kAtMost,
     {kFence},
     "workers kill their tasks before another controller has replaced a frozen leader"},
    {kSweepTerm, RuleRelation::kAtMost, {kLease, 1, 5}, "deadlines are noticed far too late"},
    {kHealthCheckTerm, RuleRelation::kAtMost, {kLease}, "dead workers are reported far too late"},
    {kGraceTerm,
     RuleRelation::kAtMost,
     {kLease},
     "the controller waits longer for a worker known to be gone than for a silent one"},
    {kPartitionRenewTerm,
     RuleRelation::kAtMost,
     {kPartitionLease, 4, 5},
     "one slow renewal loses the partition"},
    {kBackoffBaseTerm, RuleRelation::kAtMost, {kBackoffMax}, "the first delay exceeds the maximum"},
};

constexpr Duration kSweepLeast = millis(10);  // below this there is no room worth making

Duration part(Duration whole, std::int64_t num, std::int64_t den) { return whole * num / den; }

// What the tuning says for `key`, stretched as the lease is stretched against the tuning's lease.
Duration scaled(const SettingsDraft& draft, std::string_view key) {
  return part(draft.tuned(key), draft.duration(kLease).us / 1'000, draft.tuned(kLease).us / 1'000);
}

std::string number_text(const RuleTerm& term, std::string_view name) {
  if (term.num == term.den) return std::string(name);
  if (term.num == 1) return fmt::format("1/{} of {}", term.den, name);
  return fmt::format("{} x {}", static_cast<double>(term.num) / static_cast<double>(term.den),
                     name);
}

Duration value_of(const RuleTerm& term, const SettingsDraft& draft) {
  return part(draft.duration(term.key), term.num, term.den);
}

SettingsError rule_error(const TimingRule& rule, const SettingsDraft& draft, Duration left,
                         Duration right) {
  std::vector<std::string> terms;
  std::vector<std::string> places;
  for (const RuleTerm& term : rule.left) {
    terms.push_back(number_text(term, seconds_text(draft.duration(term.key))));
    places.push_back(draft.described(term.key));
  }
  places.push_back(draft.described(rule.right.key));
  std::string sum = fmt::format("{}", fmt::join(terms, " + "));
  if (terms.size() > 1) sum += " = " + seconds_text(left);
  std::string bound = number_text(rule.right, seconds_text(draft.duration(rule.right.key)));
  if (rule.right.num != rule.right.den) bound += " = " + seconds_text(right);
  return {.fault = SettingsFault::kRuleBroken,
          .key = std::string(rule.left.front().key),
          .message = fmt::format("timing rule violated: {}, but {} is {} {}", rule_text(rule), sum,
                                 rule.relation == RuleRelation::kAtMost ? "more than" : "not below",
                                 bound),
          .places = std::move(places),
          .help = fmt::format("change one of these; otherwise {}", rule.why)};
}

void derive_sweep(SettingsDraft& draft) {
  Duration sweep = std::min(draft.tuned(kSweep), scaled(draft, kSweep));
  if (draft.given(kFence) && draft.given(kKill)) {
    const Duration used = draft.duration(kFence) + draft.duration(kKill);
    const Duration left = part(draft.duration(kLease), 95, 100) - used;
    if (left >= kSweepLeast) sweep = std::min(sweep, left);
  }
  draft.derive(kSweep, sweep, kLease);
}

// Whether heartbeats are as far apart as they were told to be, or follow from the lease.
enum class Beats : std::uint8_t { kAsTold, kShortened };

// Fence, kill time and heartbeat share the lease; what is not given makes room for what is.
void derive_fence(SettingsDraft& draft, Beats beats) {
  const Duration room = part(draft.duration(kLease), 95, 100) - draft.duration(kSweep);
  Duration fence = scaled(draft, kFence);
  if (draft.given(kHeartbeat) && beats == Beats::kAsTold) {
    fence = std::max(fence, draft.duration(kHeartbeat) * 3);
  }
  if (draft.given(kTcp)) fence = std::max(fence, draft.duration(kTcp) + millis(1));
  if (draft.given(kDatabase)) fence = std::max(fence, draft.duration(kDatabase) * 2 + millis(2));
  if (draft.given(kKill)) fence = std::min(fence, room - draft.duration(kKill));
  draft.derive(kFence, fence, kLease);

  fence = draft.duration(kFence);
  draft.derive(kKill, std::min(scaled(draft, kKill), room - fence), kFence);
  draft.derive(kHeartbeat, std::min(scaled(draft, kHeartbeat), fence / 3), kFence);
  draft.derive(kTcp, std::min(scaled(draft, kTcp), fence / 2), kFence);
  draft.derive(kDatabase, std::min(scaled(draft, kDatabase), fence / 4), kFence);
}

// A frozen leader is replaced before workers give up on it.
void derive_leader_lease(SettingsDraft& draft) {
  const Duration room = draft.duration(kFence) - draft.duration(kHeartbeat) * 2;
  draft.derive(kLeaderLease, std::min(draft.tuned(kLeaderLease), room), kFence);
}

void derive_around_lease(SettingsDraft& draft) {
  const Duration lease = draft.duration(kLease);
  draft.derive(kScheduled, std::max(draft.tuned(kScheduled), lease), kLease);
  draft.derive(kHealthCheck, std::min(draft.tuned(kHealthCheck), lease / 2), kLease);
  draft.derive(kGrace, std::min(draft.tuned(kGrace), lease / 2), kLease);
}

// Pairs where one value bounds the other: the one not given follows.
void derive_pairs(SettingsDraft& draft) {
  if (!draft.given(kPartitionLease) && draft.given(kPartitionRenew)) {
    const Duration lease = part(draft.duration(kPartitionRenew), 3, 2);
    draft.derive(kPartitionLease, std::max(draft.tuned(kPartitionLease), lease), kPartitionRenew);
  }
  const Duration renew = part(draft.duration(kPartitionLease), 2, 3);
  draft.derive(kPartitionRenew, std::min(draft.tuned(kPartitionRenew), renew), kPartitionLease);
  const Duration base = draft.duration(kBackoffBase);
  draft.derive(kBackoffMax, std::max(draft.tuned(kBackoffMax), base), kBackoffBase);
  const Duration max = draft.duration(kBackoffMax);
  draft.derive(kBackoffBase, std::min(draft.tuned(kBackoffBase), max), kBackoffMax);
}

// Both are given, three intervals are no more than the timeout, and yet they do not fit into it
// with the time that a kill takes.
bool is_three_intervals(const SettingsDraft& draft) {
  if (!draft.given(kHeartbeat) || !draft.given(kLease) || draft.given(kFence)) return false;
  const Duration three = draft.duration(kHeartbeat) * 3;
  const Duration lease = draft.duration(kLease);
  return three <= lease && three > part(lease, 90, 100) - draft.duration(kSweep);
}

// A timeout of three intervals leaves no room for three heartbeats within the fence, which has to
// be shorter than the timeout. The timeout is the promise; so the worker beats sooner than it was
// told.
std::vector<std::string> shorten_heartbeat(SettingsDraft& draft, std::string_view why) {
  const Duration wanted = draft.duration(kHeartbeat);
  const Duration most = draft.duration(kFence) / 3;
  if (wanted <= most) return {};
  draft.overrule(kHeartbeat, most, kFence);
  return {fmt::format(
      "{} = {}: workers send a heartbeat every {}, so that three heartbeats fit into {} = {}, "
      "which is derived from {} = {}{}",
      kHeartbeat, seconds_text(wanted), seconds_text(draft.duration(kHeartbeat)), kFence,
      seconds_text(draft.duration(kFence)), kLease, seconds_text(draft.duration(kLease)), why)};
}

}  // namespace

std::span<const TimingRule> timing_rules() { return kRules; }

std::string rule_text(const TimingRule& rule) {
  std::vector<std::string> terms;
  for (const RuleTerm& term : rule.left) terms.push_back(number_text(term, term.key));
  return fmt::format("{} {} {}", fmt::join(terms, " + "),
                     rule.relation == RuleRelation::kAtMost ? "<=" : "<",
                     number_text(rule.right, rule.right.key));
}

std::vector<std::string> derive_timing(SettingsDraft& draft) {
  const bool from_heartbeat = draft.given(kHeartbeat) && !draft.given(kLease) &&
                              !draft.refused(kLease) && !draft.tuning_given();
  if (from_heartbeat) draft.derive(kLease, draft.duration(kHeartbeat) * 3, kHeartbeat);
  derive_sweep(draft);
  const bool shortens = from_heartbeat || is_three_intervals(draft);
  derive_fence(draft, shortens ? Beats::kShortened : Beats::kAsTold);
  derive_around_lease(draft);
  derive_pairs(draft);
  std::vector<std::string> notices;
  if (shortens) {
    notices =
        shorten_heartbeat(draft, from_heartbeat ? " (three intervals, as no timeout is set)" : "");
  }
  derive_leader_lease(draft);
  return notices;
}

std::vector<SettingsError> broken_rules(const SettingsDraft& draft) {
  std::vector<SettingsError> errors;
  if (draft.tuning_refused()) return errors;
  for (const TimingRule& rule : timing_rules()) {
    bool judged = !draft.refused(rule.right.key);
    Duration left{};
    for (const RuleTerm& term : rule.left) {
      judged = judged && !draft.refused(term.key);
      left += value_of(term, draft);
    }
    const Duration right = value_of(rule.right, draft);
    const bool holds = rule.relation == RuleRelation::kAtMost ? left <= right : left < right;
    if (judged && !holds) errors.push_back(rule_error(rule, draft, left, right));
  }
  return errors;
}

}  // namespace vortex
