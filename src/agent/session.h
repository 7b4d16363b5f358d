#pragma once
// Where the worker stands with the controllers, as a sum type, and the calls in flight.
//
//   Idle -> Registering -> Serving -> Exited          left on purpose
//               ^             |
//               |             v
//               +--------- Ending -> Exited           a newer life took over
//
// Ending: the session is over, every process is being killed and nothing is said about them.

#include <cstdint>
#include <optional>
#include <variant>

#include "agent/contact.h"
#include "agent/messages.h"
#include "base/time.h"
#include "model/sync.h"

namespace vortex::agent {

struct Call {
  CallId id;
  Callee to;
  Instant sent;
  Channel channel = Channel::kPoll;
  Leaving leaving = Leaving::kNo;  // what it said
};

struct Idle {};

struct Registering {
  std::optional<Call> call;
};

struct Serving {
  std::optional<Call> poll;
  std::optional<Call> report;
  ReplyMark ack;
  Instant alive_at;        // when the newest call that got a good answer was sent
  Duration lease_granted;  // with the registration, and what the controller told then
  Duration fence_told;
  Duration beat;                // H, or less when the controller's is
  Duration fence_after;         // F, or less when the granted lease asks for it
  bool heard = false;           // this session has had a good answer
  bool fenced = false;          // F has passed since alive_at
  Leaving told = Leaving::kNo;  // what the controller is known to know
  Instant poll_not_before;
  std::uint32_t idle_polls = 0;         // in a row: answered before their time and without news
  std::optional<Instant> reported_at;   // when the last report call was sent
  std::optional<Instant> listed_at;     // when `held` was last sent, unless that call failed
  std::optional<Instant> unsure_since;  // end of a gap: nothing starts before a later call succeeds

  Instant fence_at() const { return alive_at + fence_after; }
};

struct Ending {
  bool superseded = false;
};

struct Exited {};

using Session = std::variant<Idle, Registering, Serving, Ending, Exited>;

}  // namespace vortex::agent
