#include "controller/documents.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "controller/reads.h"

namespace vortex::controller {

namespace asio = boost::asio;

namespace {

constexpr int kNice = 10;

// On Linux a priority belongs to a thread. Best effort: without it, documents are read all the
// same.
void lower_priority() {
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice));
}

}  // namespace

Documents::Documents(std::uint32_t threads, std::uint32_t waiting_max) : waiting_max_(waiting_max) {
  threads_.emplace_back([this] { work_on(Whose::kWorkersOnly); });
  for (std::uint32_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work_on(Whose::kAll); });
  }
}

Documents::~Documents() { stop(); }

void Documents::stop() {
  {
    const std::scoped_lock lock(guard_);
    stopped_ = true;
  }
  bell_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

asio::awaitable<bool> Documents::run(api::Backend::Turn turn, std::function<void()> work) {
  auto handoff = std::make_shared<Handoff<bool>>(co_await asio::this_coro::executor);
  Job job = [handoff, work = std::move(work)] {
    bool done = false;
    try {
      work();
      done = true;
    } catch (...) {  // out of memory: the caller finds nothing done
      done = false;
    }
    handoff->give(done);
  };
  const bool taken = add(std::move(turn), std::move(job));
  if (!taken) co_return false;
  co_await take_surely(handoff);
  co_return true;
}

bool Documents::add(api::Backend::Turn turn, Job job) {
  {
    const std::scoped_lock lock(guard_);
    if (turn.of_worker) {
      if (of_workers_.size() >= waiting_max_) return false;
      of_workers_.push_back(std::move(job));
    } else {
      if (waiting_ >= waiting_max_) return false;
      const auto mine = of_clients_.find(turn.client);
      const std::size_t share = std::max<std::size_t>(waiting_max_ / 2, 1);
      if (mine != of_clients_.end() && mine->second.size() >= share) return false;
      if (mine == of_clients_.end()) turns_.push_back(turn.client);
      of_clients_[std::move(turn.client)].push_back(std::move(job));
      ++waiting_;
    }
  }
  bell_.notify_all();  // the first to wake might be one that is not for it
  return true;
}

bool Documents::has_work(Whose whose) const {
  return !of_workers_.empty() || (whose == Whose::kAll && waiting_ > 0);
}

Documents::Job Documents::next() {
  if (!of_workers_.empty()) {
    Job job = std::move(of_workers_.front());
    of_workers_.pop_front();
    return job;
  }
  std::string client = std::move(turns_.front());
  turns_.pop_front();
  const auto mine = of_clients_.find(client);
  Job job = std::move(mine->second.front());
  mine->second.pop_front();
  if (mine->second.empty()) {
    of_clients_.erase(mine);
  } else {
    turns_.push_back(std::move(client));
  }
  --waiting_;
  return job;
}

void Documents::work_on(Whose whose) {
  lower_priority();
  std::unique_lock lock(guard_);
  while (true) {
    bell_.wait(lock, [&] { return stopped_ || has_work(whose); });
    if (!has_work(whose)) return;
    const Job job = next();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace vortex::controller
