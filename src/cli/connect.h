#pragma once
// The controllers that --server names and the token to show them. What is wrong with an address or
// the token file is told to the user.

#include <expected>
#include <vector>

#include "cli/context.h"
#include "net/client.h"

namespace vortex::cli {

// At least one.
std::expected<std::vector<net::ClientConfig>, ExitCode> controllers_of(const Context& context);

}  // namespace vortex::cli
