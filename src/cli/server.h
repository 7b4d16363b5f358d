#pragma once
// One call to the controller that --server names, for commands that do nothing else meanwhile.
//
// An address that is none, a token file that can not be read and a server that does not answer are
// told to the user here and come back as the exit code. Answers of any status come back as they
// are.

#include <expected>
#include <string>

#include "cli/context.h"
#include "net/client.h"

namespace vortex::cli {

std::expected<net::Response, ExitCode> call_server(const Context& context, net::Method method,
                                                   std::string target, std::string body = {});

}  // namespace vortex::cli
