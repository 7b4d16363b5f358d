#pragma once
// The thread that alone writes to the store: it does jobs one after another, in order.
//
// Whatever touches the writer is a job: commits, the lease to lead, loading, retention. A job says
// how it went by calling back; callbacks run on this thread and must only hand over.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "store/store.h"

namespace vortex::controller {

class Committer {
 public:
  explicit Committer(store::Writer& writer);
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  using Job = std::function<void(store::Writer&)>;
  void post(Job job);
  // Does what is already there, then ends. Nothing may be posted afterwards.
  void stop();
  bool is_idle() const;

 private:
  void run();

  store::Writer& writer_;
  mutable std::mutex guard_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace vortex::controller
