#include "bench/core/fleet.h"

#include <utility>
#include <variant>

namespace vortex::bench {

namespace {

constexpr Incarnation kLife{1};
constexpr Duration kPoll = seconds(10);
constexpr std::uint64_t kCallsPerTick = 64;
// A request id tells whose call it answers: the worker in the low half, its seq above.
constexpr std::uint64_t kWorkerBits = 32;

RequestId request_of(std::uint32_t worker, std::uint64_t seq) {
  return {(seq << kWorkerBits) | worker};
}

}  // namespace

Fleet::Fleet(MeasuredCore& core, FleetSize size, std::string name)
    : core_(core), size_(size), members_(size.workers) {
  for (std::uint32_t i = 0; i < size.workers; ++i) {
    core::RegisterWorker command;
    command.info.id = WorkerId(name + "-" + std::to_string(i));
    command.info.machine = MachineId("machine-" + std::to_string(i / 10));
    command.info.slots = size.slots;
    command.info.labels = size.labels;
    command.incarnation = kLife;
    members_[i].id = command.info.id;
    core_.apply(command);
  }
  rest();
}

core::Sync Fleet::make_call(std::uint32_t worker, std::uint32_t slots) {
  Member& member = members_[worker];
  core::Sync call;
  call.request = request_of(worker, ++member.seq);
  call.body.worker = member.id;
  call.body.incarnation = kLife;
  call.body.seq = member.seq;
  call.body.ack = member.ack;
  call.body.slots = slots;
  call.body.wait = kPoll;
  auto& held = call.body.held.emplace();
  held.reserve(member.active.size() + member.fresh.size());
  for (const Attempt& attempt : member.active) held.push_back({attempt, std::nullopt});
  for (const Attempt& attempt : member.fresh) held.push_back({attempt, std::nullopt});
  ++calls_;
  return call;
}

void Fleet::turn(std::uint32_t worker, Ends ends) {
  Member& member = members_[worker];
  std::vector<Report> reports;
  if (ends == Ends::kComplete) {
    for (std::uint32_t n = 0; n < size_.reports_per_call && !member.active.empty(); ++n) {
      reports.push_back({member.active.front(), Completed{}});
      member.active.pop_front();
      ++completed_;
    }
  }
  for (std::uint32_t n = 0; n < size_.reports_per_call && !member.fresh.empty(); ++n) {
    reports.push_back({member.fresh.front(), Started{}});
    member.active.push_back(member.fresh.front());
    member.fresh.pop_front();
    ++started_;
  }
  core::Sync call = make_call(worker, size_.slots);
  call.body.reports = std::move(reports);
  member.waiting = true;
  send(call);
}

void Fleet::send(const core::Command& command) {
  for (const core::Reply& reply : core_.apply(command)) read(reply);
}

void Fleet::read(const core::Reply& reply) {
  const auto worker = static_cast<std::uint32_t>(reply.request.value);
  const std::uint64_t seq = reply.request.value >> kWorkerBits;
  Member& member = members_[worker];
  if (seq == member.seq) member.waiting = false;
  const auto* answer = std::get_if<SyncReply>(&reply.body);
  if (answer == nullptr) {
    // An earlier poll that was let go for a newer one is no news; anything else is a mistake.
    if (seq == member.seq) give_up("the core refused a call");
    return;
  }
  if (!answer->stale.empty() || !answer->stops.empty()) give_up("the core took a task away");
  member.ack = answer->mark;
  for (const Assignment& assignment : answer->assignments) {
    member.fresh.push_back(assignment.attempt);
  }
}

bool Fleet::round(Ends ends) {
  bool called = false;
  for (std::uint32_t i = 0; i < workers(); ++i) {
    if (members_[i].waiting) continue;
    called = true;
    turn(i, ends);
    if (calls_ % kCallsPerTick == 0) send(core::Tick{});
  }
  return called;
}

std::uint32_t Fleet::work_off(std::uint32_t tasks) {
  const std::uint64_t before = completed_;
  while (completed_ < before + tasks) {
    if (!round(Ends::kComplete)) give_up("tasks are left and no worker is given any");
  }
  return static_cast<std::uint32_t>(completed_ - before);
}

void Fleet::start_tasks(std::uint32_t tasks) {
  const std::uint64_t target = started_ + tasks;
  while (started_ < target) {
    if (!round(Ends::kKeep)) give_up("tasks are left and no worker is given any");
  }
}

void Fleet::rest() {
  for (std::uint32_t i = 0; i < workers(); ++i) {
    send(make_call(i, 0));
    members_[i].waiting = false;
  }
}

void Fleet::heartbeat(std::uint32_t worker, Duration wait) {
  core::Sync call = make_call(worker, size_.slots);
  call.body.wait = wait;
  send(call);
}

}  // namespace vortex::bench
