#pragma once
// What a webhook is told: one event of the monitor log as a CloudEvent (1.0, structured, JSON).
//
// The id is the event's for ever: whoever is told twice can tell by it. Pure functions.

#include <optional>
#include <string>

#include "api/event_lines.h"
#include "base/time.h"
#include "model/commit.h"
#include "store/reader.h"

namespace vortex::controller {

struct WebhookMessage {
  std::string id;
  std::string body;
};

// The run that the event is of, as it is now; unset: it is of none, or the run is forgotten.
using RunNow = std::optional<store::RunView>;

WebhookMessage make_message(const std::string& webhook, const api::EventLine& event,
                            const RunNow& run);
// Says nothing but that it can be heard.
WebhookMessage make_trial(const std::string& webhook, Instant now);

// Of the event; unset: it is of no run.
std::optional<RunId> run_of(const api::EventLine& event);

}  // namespace vortex::controller
