#pragma once
// A store in memory: for tests and throw-away clusters. Nothing survives the process.
//
// It answers everything exactly as the SQLite store does; one conformance suite holds for both.

#include <functional>
#include <memory>

#include "base/time.h"
#include "store/log_span.h"
#include "store/store.h"

namespace vortex::store {

struct MemoryOptions {
  // Whether others may open the same store: leadership is a lease then, judged by the wall clock.
  bool shared = false;
  LogLimits logs;
  std::function<Instant()> wall_clock;  // unset: the system's; only for where a term starts
};

std::unique_ptr<Store> open_memory(const MemoryOptions& options = {});
// The same tables once more, for another controller. Only of a store that was opened as shared.
std::unique_ptr<Store> open_again(Store& memory);

}  // namespace vortex::store
