#pragma once
// Partition leases for agents: absolute expiry, an epoch that only grows, no detection needed.
//
// Judged by the term clock alone. Whoever lost a lease learns LeaseNotHeld and changes nothing.

#include "core/command.h"
#include "core/context.h"

namespace vortex::core {

void on_acquire_lease(Context& cx, const AcquireLease& command);
void on_renew_lease(Context& cx, const RenewLease& command);
void on_release_lease(Context& cx, const ReleaseLease& command);
void on_check_lease(Context& cx, const CheckLease& command);
void on_lease_timer(Context& cx, LeaseIx ix);

// A graceful stop: others need not wait for the expiry.
void release_leases_of(Context& cx, const AgentId& agent);

// Puts a lease from the store into the tables.
// Forgets leases that nobody has held for long, a bounded number at a time. The floor of epochs
// keeps what was known of them: a later holder still gets a higher epoch.
void forget_old_leases(Context& cx);
void restore_lease(State& state, const PartitionLeaseRow& row);

}  // namespace vortex::core
