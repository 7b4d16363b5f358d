#include "controller/waiters.h"

#include <utility>

namespace vortex::controller {

RequestId Waiters::add(Give give) {
  const std::scoped_lock lock(guard_);
  const RequestId request{++last_};
  waiting_.emplace(request.value, std::move(give));
  return request;
}

void Waiters::answer(RequestId request, Answer answer) {
  Give give;
  {
    const std::scoped_lock lock(guard_);
    const auto found = waiting_.find(request.value);
    if (found == waiting_.end()) return;
    give = std::move(found->second);
    waiting_.erase(found);
  }
  give(std::move(answer));
}

void Waiters::forget(RequestId request) {
  const std::scoped_lock lock(guard_);
  waiting_.erase(request.value);
}

void Waiters::answer_all(const api::UnservedError& error) {
  std::unordered_map<std::uint64_t, Give> all;
  {
    const std::scoped_lock lock(guard_);
    all.swap(waiting_);
  }
  for (auto& [request, give] : all) give(std::unexpected(error));
}

std::size_t Waiters::size() const {
  const std::scoped_lock lock(guard_);
  return waiting_.size();
}

}  // namespace vortex::controller
