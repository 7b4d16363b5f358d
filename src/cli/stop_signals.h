#pragma once
// SIGTERM and SIGINT as things to be waited for, for commands that run until they are told to stop.
// To be called before any thread is started: threads inherit what is blocked.

#include <csignal>

namespace vortex::cli {

// The set that was blocked, for sigwait and sigtimedwait.
sigset_t block_stop_signals();

}  // namespace vortex::cli
