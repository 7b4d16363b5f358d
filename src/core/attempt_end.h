#pragma once
// The end of an attempt: verdict, blame, and what follows (done, another try, or the dead letters).
//
// Four counters, never mixed: failures use retries, crashes have their own limit, stalls theirs,
// releases blame nobody. A release that the worker owes an explanation for (it goes on working) has
// a generous limit, so that no worker can send a task round for ever (docs/adr/013). Cancel beats
// all of them: what its run no longer wants is not queued again.

#include <cstdint>
#include <optional>
#include <string>

#include "core/context.h"
#include "model/states.h"

namespace vortex::core {

enum class Blame : std::uint8_t {
  kNone,
  kFailure,
  kCrash,
  kStall,
  kRelease,       // the worker left, or we took it back: no limit
  kReturned,      // handed back or dropped by a worker that goes on working
  kNeverStarted,  // not started within scheduled_timeout
};

struct AttemptEnd {
  Verdict verdict = Verdict::kCompleted;
  Blame blame = Blame::kNone;
  std::int32_t code = 0;
  std::string message;
  std::optional<Evidence> evidence;  // its worker is lost: what says so
  RecoveryId recovery;               // the ledger entry this belongs to; 0: none
  bool worker_took_part = true;      // false: the worker was never sent it and is not judged by it
  Duration spread;  // ready again somewhere within this, when many come back at once
};

// The task is held; ends its attempt, frees the worker's slot and decides what follows.
void end_attempt(Context& cx, TaskIx ix, const AttemptEnd& end);

// Its run or an operator no longer wants the attempt: whatever it brings is not kept.
bool is_unwanted(Context& cx, const Task& task);

// A Queued task that cannot be waited for any longer.
void die_in_queue(Context& cx, TaskIx ix, DeathReason reason, std::string message);

// How long after its n-th failure a task waits: fixed, linear or exponential, capped, with jitter.
Duration backoff_delay(const Backoff& backoff, std::uint32_t failures, Rng& rng);

const RetryPolicy& retry_policy(const Policy& policy, const NodeSpec& spec);

}  // namespace vortex::core
