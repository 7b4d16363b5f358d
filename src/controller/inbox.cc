#include "controller/inbox.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace vortex::controller {
namespace {

constexpr std::size_t kPatience = 4;  // so many times longer for what workers say

bool keeps_workers_alive(const Asked& asked) {
  const auto* told = std::get_if<engine::Asked>(&asked);
  const auto* command = told == nullptr ? nullptr : std::get_if<core::Command>(told);
  if (command == nullptr) return false;
  return std::holds_alternative<core::Sync>(*command) ||
         std::holds_alternative<core::RegisterWorker>(*command) ||
         std::holds_alternative<core::ConnectionLost>(*command) ||
         std::holds_alternative<core::WorkerExited>(*command) ||
         std::holds_alternative<core::ProbeResult>(*command) ||
         std::holds_alternative<core::SelfCheckResult>(*command);
}

constexpr std::size_t kCommandsInPart = 1'000;
constexpr std::uint64_t kTasksInPart = 10'000;

std::uint64_t tasks_at_start(const core::Command& command) {
  const auto* run = std::get_if<core::SubmitRun>(&command);
  const auto* plan = run == nullptr ? nullptr : std::get_if<PlanPtr>(&run->dag);
  return plan != nullptr && *plan ? (*plan)->nodes.size() : 0;
}

}  // namespace

std::size_t part_end(const std::vector<core::Command>& commands, std::size_t begin) {
  const std::size_t most = std::min(commands.size(), begin + kCommandsInPart);
  std::uint64_t tasks = 0;
  std::size_t end = begin;
  while (end < most && tasks < kTasksInPart) tasks += tasks_at_start(commands[end++]);
  return end;
}

bool Inbox::ask(Asked asked) {
  {
    const std::scoped_lock lock(guard_);
    const std::size_t limit = keeps_workers_alive(asked) ? asked_max_ * kPatience : asked_max_;
    if (asked_.size() >= limit) return false;
    asked_.push_back(std::move(asked));
  }
  wake_.notify_one();
  return true;
}

void Inbox::notice(Notice notice) {
  {
    const std::scoped_lock lock(guard_);
    notices_.push_back(std::move(notice));
  }
  wake_.notify_one();
}

Inbox::Taken Inbox::take(Duration limit, bool wants_asked) {
  std::unique_lock lock(guard_);
  const auto due = [&] { return !notices_.empty() || (wants_asked && !asked_.empty()); };
  wake_.wait_for(lock, std::chrono::microseconds(std::max<std::int64_t>(limit.us, 0)), due);
  Taken taken;
  taken.notices.swap(notices_);
  if (!wants_asked) return taken;
  const std::size_t count = std::min(asked_.size(), kTakenAtOnce);
  const auto end = asked_.begin() + static_cast<std::ptrdiff_t>(count);
  taken.asked.assign(std::make_move_iterator(asked_.begin()), std::make_move_iterator(end));
  asked_.erase(asked_.begin(), end);
  return taken;
}

std::vector<Asked> Inbox::drop_asked() {
  const std::scoped_lock lock(guard_);
  std::vector<Asked> dropped(std::make_move_iterator(asked_.begin()),
                             std::make_move_iterator(asked_.end()));
  asked_.clear();
  return dropped;
}

std::size_t Inbox::size() const {
  const std::scoped_lock lock(guard_);
  return asked_.size();
}

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
