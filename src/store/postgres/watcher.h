#pragma once
// Watches whether the session of the leader still holds its lock, on a connection and a thread of
// its own, and tells when leadership may be free. Only a hint: the row of the leader decides.

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "store/postgres/connection.h"

namespace vortex::store::postgres {

class Watcher {
 public:
  Watcher(ConnectionSetup setup, std::function<void()> may_be_free);
  ~Watcher();  // waits for its thread
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  Watcher(Watcher&&) = delete;
  Watcher& operator=(Watcher&&) = delete;

 private:
  void run();
  // One wait for the lock. Unset: the connection failed, or it is time to stop.
  std::optional<bool> wait_for_lock(Connection& db) const;
  // False: it is time to stop.
  bool pause(Duration how_long) const;

  ConnectionSetup setup_;
  std::function<void()> may_be_free_;
  int stop_ = -1;  // readable when it is time to stop
  std::thread thread_;
};

}  // namespace vortex::store::postgres
