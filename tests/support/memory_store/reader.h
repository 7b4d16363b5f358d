#pragma once
// Reads the store in memory. Any thread: every call takes the lock that commits take, shared, so it
// sees whole commits only. Nothing is copied but what is given back.

#include <memory>
#include <shared_mutex>

#include "store/log_span.h"
#include "store/reader.h"
#include "tests/support/memory_store/tables.h"

namespace vortex::store::memory {

struct Shared {
  explicit Shared(LogLimits limits) : tables(limits) {}
  mutable std::shared_mutex mutex;
  Tables tables;
};

std::unique_ptr<Reader> make_reader(const Shared& shared);

}  // namespace vortex::store::memory
