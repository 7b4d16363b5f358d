#pragma once
// What the controller's HTTP answers mean to the agent.
//
// Whatever is not a clear answer becomes a failure: the agent then asks again, because the call may
// or may not have had its effect. Pure functions.

#include <expected>
#include <string>

#include "agent/messages.h"
#include "net/client.h"

namespace vortex::worker {

using CallResult = std::expected<net::Response, net::CallError>;

struct NoAnswer {
  std::string why;  // for the log
  Duration retry_after;
};

std::expected<agent::Input, NoAnswer> read_register_answer(agent::CallId call,
                                                           const CallResult& result);
std::expected<agent::Input, NoAnswer> read_sync_answer(agent::CallId call,
                                                       const CallResult& result);

// The secret of the worker's life goes with whatever is said in it.
void add_session(net::Call& call, const std::string& session);

// Of any call: empty when it was answered 2xx, else one line about what went wrong.
std::string trouble_of(const CallResult& result);

}  // namespace vortex::worker
