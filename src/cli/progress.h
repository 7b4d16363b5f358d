#pragma once
// Watching a run until it ends: bars on a terminal, lines elsewhere, nothing with -q.
//
// Everything is said on stderr. Survives restarts of controllers; Ctrl-C leaves the run going and
// says how to come back. Runs the loop of the ApiClient until it is over, on the caller's thread.

#include <cstdint>
#include <string>

#include "base/time.h"
#include "cli/api_client.h"

namespace vortex::cli {

enum class WatchView : std::uint8_t { kShown, kSilent };

struct WatchOptions {
  WatchView view = WatchView::kShown;
  Duration limit;  // zero: as long as it takes; else kWaitTimedOut after it
};

// kOk, kRunFailed, kRunCancelled, kWaitTimedOut, kInterrupted, or what went wrong.
ExitCode watch_run(const Context& context, ApiClient& api, const std::string& run,
                   const WatchOptions& options);

}  // namespace vortex::cli
