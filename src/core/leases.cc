#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "base/reached.h"
#include "core/machine.h"

namespace vortex::core {

namespace {

using Entry = std::pair<LeaseIx, PartitionLease>;

constexpr std::uint32_t kForgetAtOnce = 200;

Entry& entry_for(State& state, const PartitionKey& key) {
  const auto [found, added] = state.leases.try_emplace(key);
  if (!added) return found->second;
  // Its epoch may not fall below that of a lease on the same partition that was forgotten.
  found->second.second.epoch = state.counters.lease_floor;
  if (state.free_partitions.empty()) {
    found->second.first = LeaseIx{static_cast<std::uint32_t>(state.partitions.size())};
    state.partitions.push_back(key);
  } else {
    found->second.first = state.free_partitions.back();
    state.free_partitions.pop_back();
    state.partitions[found->second.first.value] = key;
  }
  return found->second;
}

void write(Context& cx, const PartitionKey& key, const Entry& entry) {
  const PartitionLease& lease = entry.second;
  cx.fx.rows.leases.push_back({key, lease.holder, lease.epoch, lease.expires_at});
  const Judged at = lease.holder.empty() ? kJudgedNever : cx.state.clock.judged(lease.expires_at);
  cx.state.timers.set({TimerKind::kLease, entry.first.value}, at);
}

void tell(Context& cx, EventKind kind, const PartitionKey& key, const PartitionLease& lease,
          Severity severity = Severity::kInfo) {
  cx.event(kind, {},
           {{"topic", key.topic},
            {"partition", std::int64_t{key.partition}},
            {"agent", lease.holder.text},
            {"epoch", static_cast<std::int64_t>(lease.epoch.value)}},
           severity);
}

// The live lease if this agent holds it with this epoch, else null.
Entry* held_by(Context& cx, const PartitionKey& key, const AgentId& agent, Epoch epoch) {
  const auto found = cx.state.leases.find(key);
  if (found == cx.state.leases.end()) return nullptr;
  const PartitionLease& lease = found->second.second;
  const bool right_epoch = lease.epoch == epoch;
  if (lease.holder != agent || agent.empty() || !right_epoch) return nullptr;
  return lease.expires_at > cx.now ? &found->second : nullptr;
}

void let_go(Context& cx, const PartitionKey& key, Entry& entry, EventKind why) {
  tell(cx, why, key, entry.second,
       why == EventKind::kLeaseExpired ? Severity::kWarning : Severity::kInfo);
  entry.second.holder = AgentId();
  entry.second.expires_at = cx.now;
  write(cx, key, entry);
}

}  // namespace

void on_acquire_lease(Context& cx, const AcquireLease& command) {
  if (command.agent.empty() || command.partition.topic.empty()) {
    return cx.refuse(command.request, RefusalKind::kMalformed, "agent and topic must not be empty");
  }
  const auto known = cx.state.leases.find(command.partition);
  if (known != cx.state.leases.end()) {
    const PartitionLease& lease = known->second.second;
    const bool live = !lease.holder.empty() && lease.expires_at > cx.now;
    if (live && lease.holder != command.agent) {
      return cx.refuse(command.request, RefusalKind::kLeaseTaken,
                       "held by '" + lease.holder.text + "'");
    }
  }
  // The holder itself may ask again, after a lost answer: it gets a new epoch, the old one is void.
  Entry& entry = entry_for(cx.state, command.partition);
  // Its time was up before the timer came to say so.
  const bool over = !entry.second.holder.empty() && entry.second.expires_at <= cx.now;
  if (over) tell(cx, EventKind::kLeaseExpired, command.partition, entry.second, Severity::kWarning);
  entry.second.holder = command.agent;
  entry.second.epoch = entry.second.epoch.next();
  entry.second.expires_at = cx.now + cx.state.policy.partition_lease;
  write(cx, command.partition, entry);
  tell(cx, EventKind::kLeaseAcquired, command.partition, entry.second);
  cx.reply(command.request, LeaseGranted{entry.second.epoch, entry.second.expires_at});
}

void on_renew_lease(Context& cx, const RenewLease& command) {
  Entry* entry = held_by(cx, command.partition, command.agent, command.epoch);
  if (entry == nullptr && planted(PlantedBug::kLeaseRenewedWithoutEpoch)) {
    const auto found = cx.state.leases.find(command.partition);
    if (found != cx.state.leases.end())
      entry = &found->second, entry->second.holder = command.agent;
  }
  if (entry == nullptr) {
    REACHED("core: lease renewal refused to a former holder");
    return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  }
  entry->second.expires_at = cx.now + cx.state.policy.partition_lease;
  write(cx, command.partition, *entry);
  cx.reply(command.request, LeaseGranted{entry->second.epoch, entry->second.expires_at});
}

void on_release_lease(Context& cx, const ReleaseLease& command) {
  Entry* entry = held_by(cx, command.partition, command.agent, command.epoch);
  if (entry == nullptr) return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  let_go(cx, command.partition, *entry, EventKind::kLeaseReleased);
  cx.reply(command.request, Done{});
}

void on_check_lease(Context& cx, const CheckLease& command) {
  const Entry* entry = held_by(cx, command.partition, command.agent, command.epoch);
  if (entry == nullptr) return cx.refuse(command.request, RefusalKind::kLeaseNotHeld);
  cx.reply(command.request, LeaseGranted{entry->second.epoch, entry->second.expires_at});
}

void on_lease_timer(Context& cx, LeaseIx ix) {
  const PartitionKey& key = cx.state.partitions[ix.value];
  Entry& entry = cx.state.leases.at(key);
  if (entry.second.holder.empty()) return;
  // Timers run in judged time, which stands still while we are away; expiry does not.
  if (entry.second.expires_at > cx.now) return write(cx, key, entry);
  let_go(cx, key, entry, EventKind::kLeaseExpired);
}

void release_leases_of(Context& cx, const AgentId& agent) {
  for (auto& [key, entry] : cx.state.leases) {
    if (entry.second.holder == agent) let_go(cx, key, entry, EventKind::kLeaseReleased);
  }
}

void forget_old_leases(Context& cx) {
  const Duration keep = cx.state.policy.retain_leases;
  if (keep <= Duration{}) return;
  State& state = cx.state;
  std::uint32_t forgotten = 0;
  for (auto at = state.leases.begin(); at != state.leases.end() && forgotten < kForgetAtOnce;) {
    const PartitionLease& lease = at->second.second;
    const bool free = lease.holder.empty() && cx.now - lease.expires_at >= keep;
    if (!free) {
      ++at;
      continue;
    }
    state.counters.lease_floor = std::max(state.counters.lease_floor, lease.epoch);
    cx.touch_counters();
    tell(cx, EventKind::kLeaseForgotten, at->first, lease);
    state.timers.clear({TimerKind::kLease, at->second.first.value});
    state.free_partitions.push_back(at->second.first);
    cx.fx.rows.leases_gone.push_back(at->first);
    at = state.leases.erase(at);
    ++forgotten;
  }
}

void restore_lease(State& state, const PartitionLeaseRow& row) {
  Entry& entry = entry_for(state, row.partition);
  entry.second = {row.holder, row.epoch, row.expires_at};
  if (!row.holder.empty()) {
    state.timers.set({TimerKind::kLease, entry.first.value}, state.clock.judged(row.expires_at));
  }
}

}  // namespace vortex::core
