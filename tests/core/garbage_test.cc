// Random commands with ids that may or may not exist: nothing asserts, the whole state stays sound,
// and whatever is refused has changed nothing.

#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "tests/core/digest.h"
#include "tests/core/driver.h"

namespace vortex::core {
namespace {

// Draws from what the store holds or from small ranges, so that hits and misses are both common.
class Garbage {
 public:
  Garbage(std::uint64_t seed, const Mirror& mirror) : rng_(seed), mirror_(mirror) {}

  // Each has a request of its own: a parked call may be answered by a later command.
  RequestId last_request() const { return request_; }

  Command command() {
    request_ = request_.next();
    const WorkerId who = worker();
    switch (rng_.below(60)) {
      case 0:
      case 22:
      case 23:
      case 24:
        return register_worker();
      case 1:
        return ConnectionLost{who, incarnation_of(who), {request_.value - rng_.below(9)}};
      case 2:
        return ProbeResult{who, incarnation_of(who), static_cast<ProbeOutcome>(rng_.below(3))};
      case 3:
        return WorkerExited{request_, who, incarnation_of(who)};
      case 4:
        return DrainWorker{request_, worker()};
      case 5:
        return CordonWorker{request_, worker(), rng_.chance(500)};
      case 6:
        return ResetWorker{request_, worker()};
      case 7:
      case 8:
        return submit();
      case 9:
        return CancelRun{request_, run()};
      case 10:
        return PauseRun{request_, run(), rng_.chance(500)};
      case 11:
        return CancelTask{request_, task()};
      case 12:
      case 25:
        return revive<RetryTask>();
      case 13:
      case 26:
        return revive<RedriveDeadLetter>();
      case 14:
        return DiscardDeadLetter{request_, task()};
      case 15:
        return PauseQueue{request_, rng_.chance(800) ? "default" : "", rng_.chance(300)};
      case 16:
        return AcquireLease{request_, partition(), agent()};
      case 17:
        return RenewLease{request_, partition(), agent(), {rng_.below(3)}};
      case 18:
        return ReleaseLease{request_, partition(), agent(), {rng_.below(3)}};
      case 19:
        return CheckAttempt{request_, attempt()};
      case 27:
        return Unsent{request_,
                      worker(),
                      {{rng_.below(3)}, rng_.below(9)},
                      {{attempt(), "no value"}},
                      {attempt()}};
      case 20:
        return StoreHealth{rng_.chance(800)};
      case 21:
        return SelfCheckResult{rng_.chance(500)};
      default:
        return Sync{request_, sync()};
    }
  }
  Duration pause() { return micros(rng_.between(0, seconds(rng_.chance(50) ? 100 : 1).us)); }

 private:
  WorkerId worker() { return WorkerId("w" + std::to_string(rng_.below(4))); }
  Incarnation incarnation() { return {rng_.below(4)}; }
  Incarnation incarnation_of(const WorkerId& id) {
    const auto known = mirror_.workers.find(id);
    if (known == mirror_.workers.end() || rng_.chance(200)) return incarnation();
    return rng_.chance(800) ? known->second.incarnation : known->second.incarnation.next();
  }
  RunId run() {
    const std::uint64_t newest = mirror_.counters.next_run.value;
    return {newest - std::min(newest, rng_.below(8))};
  }
  TaskId task() { return {run(), static_cast<std::uint32_t>(rng_.below(6))}; }
  Attempt attempt() { return {task(), {rng_.below(4)}}; }
  // An attempt that this worker holds, most of the time.
  Attempt attempt_of(const WorkerId& id) {
    std::vector<Attempt> held;
    for (const auto& [task, row] : mirror_.tasks) {
      if (is_held(row.state) && row.worker == id) held.push_back({task, row.epoch});
    }
    if (held.empty() || rng_.chance(200)) return attempt();
    return held[rng_.below(held.size())];
  }
  AgentId agent() { return AgentId(rng_.chance(100) ? "" : "w" + std::to_string(rng_.below(2))); }
  PartitionKey partition() { return {"t", static_cast<std::uint32_t>(rng_.below(2))}; }

  RegisterWorker register_worker() {
    WorkerInfo info = worker_info(worker().text, static_cast<std::uint32_t>(rng_.below(5)));
    info.machine = MachineId("m" + std::to_string(rng_.below(2)));
    if (rng_.chance(300)) info.address = "there";
    const Incarnation incarnation = incarnation_of(info.id);
    return {request_, std::move(info), incarnation};
  }

  // A task that failed, most of the time, with the image of its run if that has left memory.
  template <class Act>
  Act revive() {
    std::vector<TaskId> failed;
    for (const auto& [id, row] : mirror_.tasks) {
      if (row.state == TaskState::kFailed) failed.push_back(id);
    }
    if (failed.empty() || rng_.chance(200)) return {request_, task(), nullptr};
    const TaskId id = failed[rng_.below(failed.size())];
    if (mirror_.runs.at(id.run).state == RunState::kRunning) return {request_, id, nullptr};
    return {request_, id, std::make_shared<const RunImage>(mirror_.run_image(id.run))};
  }

  SubmitRun submit() {
    SubmitRun out;
    out.request = request_;
    DagSpec spec = random_dag(rng_, {});
    if (rng_.chance(200)) spec.nodes[0].needs = {"n1"};
    if (rng_.chance(200)) spec.nodes[0].requirements.worker = worker();
    if (rng_.chance(200)) spec.run_timeout = seconds(rng_.between(1, 60));
    out.dag = std::move(spec);
    if (rng_.chance(200)) out.idempotency_key = "k" + std::to_string(rng_.below(2));
    return out;
  }

  ReportBody report() {
    switch (rng_.below(6)) {
      case 0:
        return Checkpoint{"c"};
      case 1:
        return Completed{"o"};
      case 2:
        return Failed{static_cast<Failed::Cause>(rng_.below(4)), 1, "f"};
      case 3:
        return Released{static_cast<Released::Cause>(rng_.below(3))};
      case 4:
        return TimedOut{};
      default:
        return Started{};
    }
  }

  SyncRequest sync() {
    SyncRequest out;
    out.worker = worker();
    out.incarnation = incarnation_of(out.worker);
    out.seq = rng_.chance(100) ? 0 : ++seq_;
    out.ack = {Term{1}, rng_.below(40)};
    out.slots = static_cast<std::uint32_t>(1 + rng_.below(4));
    out.wait = millis(rng_.chance(500) ? rng_.between(-100, 20'000) : 0);
    if (rng_.chance(100)) out.held.emplace();
    for (std::uint64_t i = rng_.below(4); i > 0; --i) {
      if (!out.held) out.held.emplace();
      const auto percent = static_cast<std::uint8_t>(rng_.below(102));
      out.held->push_back({attempt_of(out.worker), Progress{percent, "s"}});
    }
    for (std::uint64_t i = rng_.below(4); i > 0; --i) {
      out.reports.push_back({attempt_of(out.worker), report()});
    }
    if (rng_.chance(30)) out.leaving = static_cast<Leaving>(rng_.below(3));
    return out;
  }

  Rng rng_;
  const Mirror& mirror_;
  RequestId request_{1'000};
  std::uint64_t seq_ = 0;
};

bool is_refused(const Effects& fx, RequestId request) {
  for (const Reply& reply : fx.replies) {
    if (reply.request != request) continue;
    return std::holds_alternative<Refusal>(reply.body) ||
           std::holds_alternative<SyncRefusal>(reply.body);
  }
  return false;
}

// A goodbye with work still assigned ends its own session: accepted, though it reads as a refusal.
bool is_goodbye(const Command& command) {
  const auto* sync = std::get_if<Sync>(&command);
  return sync != nullptr && sync->body.leaving == Leaving::kGone;
}

// The first thing that is wrong with how the command was taken, in words.
std::string try_command(World& world, const Command& command, RequestId request) {
  State& state = *world.state;
  for (int i = 0; i < 1'000 && state.next_wake() <= world.now; ++i) world.raw(Tick{});
  const std::uint64_t before = digest(state);
  const Effects fx = world.raw(command);
  if (::testing::Test::HasFailure()) return "the whole state is no longer sound";
  if (!is_refused(fx, request) || is_goodbye(command)) return {};
  const std::string which = "refused command of kind " + std::to_string(command.index());
  if (digest(state) != before) return which + " changed the state";
  if (!is_empty(fx.rows) || !fx.events.empty()) return which + " had effects";
  return {};
}

RC_GTEST_PROP(GarbageTest, NothingAssertsAndWhatIsRefusedChangesNothing, (std::uint64_t seed)) {
  World world(test_policy(), seed);
  Garbage garbage(seed, world.mirror);
  for (int i = 0; i < 150; ++i) {
    const Command command = garbage.command();
    RC_ASSERT(try_command(world, command, garbage.last_request()) == "");
    // A quiet tick first: the next command then meets a clock that has not moved.
    world.now = world.now + garbage.pause();
    world.raw(Tick{});
  }
}

// The same through a shell that restarts now and then, with every step a slice.
void walk_with_restarts(std::uint64_t seed) {
  const ::testing::ScopedTrace trace(__FILE__, __LINE__, "seed " + std::to_string(seed));
  Policy policy = test_policy();
  policy.bulk_tasks_per_step = 3;
  World world(policy, seed);
  Garbage garbage(seed, world.mirror);
  Rng rng(seed);
  for (int i = 0; i < 150; ++i) {
    world.raw(garbage.command());
    if (rng.chance(200)) world.raw(Tick{});
    if (rng.chance(50)) world.reload();
    if (rng.chance(500)) world.now = world.now + garbage.pause();
    ASSERT_EQ(world.count(EventKind::kStateReconcileFix), 0U);
  }
}

RC_GTEST_PROP(GarbageTest, ARestartAtAnyMomentHasNothingToRepair, (std::uint64_t seed)) {
  walk_with_restarts(seed);
  RC_ASSERT(!::testing::Test::HasFailure());
}

// A worker with room for more than one slice was forgotten when the slice was used up.
TEST(GarbageTest, AWorkerWhoseTurnWasCutShortGoesOnInTheNextStep) {
  walk_with_restarts(780325463816);
}

TEST(GarbageTest, HitsAndMissesAreBothCommon) {
  World world(test_policy(), 1);
  Garbage garbage(1, world.mirror);
  int refused = 0;
  for (int i = 0; i < 3'000; ++i) {
    const Command command = garbage.command();
    refused += is_refused(world.raw(command), garbage.last_request()) ? 1 : 0;
    world.now = world.now + garbage.pause();
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 2'500);
  EXPECT_GT(world.count(EventKind::kTaskStarted), 10u);
  EXPECT_GT(world.count(EventKind::kWorkerOffline), 10u);
  EXPECT_GT(world.count(EventKind::kTaskRequeued), 10u);
}

}  // namespace
}  // namespace vortex::core
