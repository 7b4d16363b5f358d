#include "controller/committer.h"

#include <utility>

namespace vortex::controller {

Committer::Committer(store::Writer& writer) : writer_(writer), thread_([this] { run(); }) {}

Committer::~Committer() { stop(); }

void Committer::post(Job job) {
  {
    const std::scoped_lock lock(guard_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void Committer::stop() {
  {
    const std::scoped_lock lock(guard_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Committer::is_idle() const {
  const std::scoped_lock lock(guard_);
  return jobs_.empty() && !busy_;
}

void Committer::run() {
  std::unique_lock lock(guard_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    job(writer_);
    lock.lock();
    busy_ = false;
  }
}

}  // namespace vortex::controller
