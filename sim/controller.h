#pragma once
// One controller: the real engine (engine/engine.h) inside a simulated process.
//
// Calls wait in the inbox; now and then the engine is told a few of them and has its turn, as its
// thread would do. Its orders go to the simulated store, to those who wait and to workers that are
// probed. It may die between any two orders.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/command.h"
#include "core/effects.h"
#include "core/reconcile.h"
#include "engine/engine.h"
#include "sim/process.h"
#include "sim/scene.h"

namespace vortex::sim {

// Where a worker's health endpoint is and what it would say, for probes.
struct ProbeTarget {
  HostId host;
  std::function<core::ProbeOutcome()> answer;
};
using FindProbeTarget = std::function<std::optional<ProbeTarget>(const WorkerId&)>;

class Controller : public Callee {
 public:
  Controller(Scene& scene, std::uint32_t index, FindProbeTarget find_target, Rng rng);

  void boot();
  void crash(std::string_view why);
  // As SIGTERM asks for: commits what was stepped, gives the lead back, ends. Started again later.
  void stop(Duration down);
  void pause();
  void resume();
  void hint_free();  // the row of the lease may be free
  bool is_alive() const { return process_.is_alive(); }
  bool is_paused() const { return process_.is_paused(); }
  bool leads() const { return engine_ && engine_->serves(); }
  HostId host() const { return host_; }
  // The whole-state check at the end of a run; says what it finds.
  void check_thoroughly();
  // Nothing is under way: the committed rows are all there is.
  bool is_idle() const { return inbox_.empty() && (!engine_ || engine_->is_quiet()); }
  const core::State* state() const { return engine_ ? std::as_const(*engine_).state() : nullptr; }

  bool listens() const override { return process_.is_alive(); }
  void receive(const LinePtr& line, const core::Command& command) override;
  void line_closed(const LinePtr& line) override;

 private:
  struct Waiter {
    LinePtr line;
    // A parked sync: whose. Its line closing is a hint.
    std::optional<std::pair<WorkerId, Incarnation>> worker;
  };

  // controller.cc: calls in, and the engine's turns.
  engine::EngineConfig engine_config();
  void take(const LinePtr& line, const core::Command& command);
  void pass_on(const LinePtr& line, const core::Command& command);
  void close_line(const LinePtr& line);
  void enqueue(core::Command command);
  void take_turn_soon();
  void take_turn();
  void tell(engine::Input input);
  void feed(engine::Input input);
  bool carry_out(engine::Orders orders);
  void arm_wake();
  Duration turn_takes_least();
  void end_process();
  void note_step(const core::Command& command, const core::Effects& effects);
  void check_now_and_then();
  void report_findings(core::Depth depth);

  // controller_orders.cc: one for each order.
  void perform(const core::lead::TryAcquire& order);
  void perform(const core::lead::Renew& order);
  void perform(const core::lead::Release& order);
  void perform(const engine::WriteBatch& order);
  void perform(const engine::MakeSpace& order);
  void perform(const engine::ReleaseBatch& order);
  void perform(const engine::LoadImage& order);
  void perform(const engine::ReadRun& order);
  void perform(const engine::FindExpirable& order);
  void perform(const engine::TakeSlice& order);
  void perform(const engine::CheckEnded& order);
  void perform(const engine::Refuse& order);
  void perform(const engine::RefuseAll& order);
  void perform(const engine::Loaded& order);
  void perform(const engine::LoadFailed& order);
  void perform(const engine::Serves& order);
  void perform(const engine::SteppedDown& order);
  void perform(const engine::Doubts& order);
  void perform(const engine::FoundFenced& order);
  void perform(const engine::FoundBroken& order);
  void perform(const engine::StoreStalls& order);
  void reply(const core::Reply& reply);
  void start_probe(const core::Probe& probe);
  void start_self_check();
  bool crashes_here(const char* where);
  // A callback for the store: told to the engine if this life of the process is still there.
  template <class Make>
  auto telling(Make make) {
    return [this, make, life = process_.life()](auto answer) {
      process_.run_in(life, [this, make](const auto& told) { tell(make(told)); }, answer);
    };
  }

  Instant boot_now() const { return clock_.boot(scene_.agenda.now()); }
  void note(std::string what);

  Scene& scene_;
  std::uint32_t index_;
  HostId host_;
  const HostClock& clock_;
  FindProbeTarget find_target_;
  Rng rng_;
  Process process_;
  std::string name_;
  bool passes_on_ = false;  // a standby that forwards calls, instead of naming the leader

  std::optional<engine::Engine> engine_;
  Term term_;  // the newest that was won
  std::optional<std::uint32_t> known_leader_;
  std::deque<core::Command> inbox_;
  std::map<RequestId, Waiter> waiters_;
  std::map<std::uint64_t, LinePtr> passed_on_;  // by the caller's line: ours to the leader
  std::uint64_t next_request_ = 1;
  bool turn_due_ = false;
  Duration down_;  // after it was stopped
  Instant wake_at_ = kNever;
  std::uint32_t unchecked_ = 0;
};

}  // namespace vortex::sim
