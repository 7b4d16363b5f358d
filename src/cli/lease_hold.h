#pragma once
// vortex leases hold: a distributed lock with a fence, for any script.
//
// Acquires a partition lease, runs a command while it is held, renews it by itself, and releases it
// at the end. The command's whole process group is gone before the lease can end: times are counted
// from when the last acknowledged request was sent, by this machine's clock alone.

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/context.h"

namespace vortex::cli {

struct HoldOptions {
  std::string topic;
  std::uint32_t partition = 0;
  std::string agent;  // empty: made from the host name
  Duration wait{};    // for the lease to become free; 0: not at all
  Duration grace{};   // between TERM and KILL; 0: a tenth of the lease
  std::vector<std::string> command;
};

// The command's own exit code; 127 when there is no such command; 5 or 6 when the lease could not
// be had or kept; 9 when it did not become free in time.
ExitCode hold_lease(const Context& context, const HoldOptions& options);

}  // namespace vortex::cli
