#pragma once
// Reads the store in memory. Any thread: every call takes the lock that commits take, shared, so it
// sees whole commits only. Nothing is copied but what is given back.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "store/log_span.h"
#include "store/reader.h"
#include "tests/support/memory_store/tables.h"

namespace vortex::store::memory {

struct Shared {
  Shared(const LogLimits& limits, bool several, std::function<Instant()> clock)
      : is_for_several(several), wall_clock(std::move(clock)), tables(limits) {}
  const bool is_for_several;
  const std::function<Instant()> wall_clock;
  mutable std::shared_mutex mutex;
  Tables tables;
  // Those who want to know that the leader has left, by who they are.
  std::mutex watchers_guard;
  std::map<const void*, std::function<void()>> watchers;
};

std::unique_ptr<Reader> make_reader(const Shared& shared);

}  // namespace vortex::store::memory
