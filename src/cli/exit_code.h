#pragma once
// What the exit code of `vortex` means. Scripts rely on it: append-only.
// The same numbers are in `vortex --help` and in the docs.

namespace vortex::cli {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kAuth = 4,
  kUnreachable = 5,
  kConflict = 6,
  kInvalid = 7,  // file or configuration
  kRunFailed = 8,
  kWaitTimedOut = 9,
  kRunCancelled = 10,
  kInterrupted = 130,
};

}  // namespace vortex::cli
