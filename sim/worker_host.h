#pragma once
// One worker: its supervisor, the worker process with the real agent in it, and its tasks.
//
// The supervisor restarts a dead worker process with a higher incarnation, and once the tasks of
// the dead one are gone it proves the death to a controller, again and again until it is heard.
// When supervisor and worker die together nobody proves anything.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "core/command.h"
#include "sim/executor.h"
#include "sim/process.h"
#include "sim/scene.h"

namespace vortex::sim {

// What the agent can use of an answer; everything else is a failed call.
agent::Input sync_result(agent::CallId call, const CallResult& result);

class WorkerHost {
 public:
  WorkerHost(Scene& scene, std::uint32_t index, Rng rng);

  const WorkerId& id() const { return setup_.info.id; }
  HostId host() const { return host_; }
  std::uint32_t machine() const { return setup_.machine; }
  Incarnation incarnation() const { return last_incarnation_; }
  bool runs() const { return process_.runs(); }
  // A controller has accepted this life.
  bool is_registered() const;
  bool is_alive() const { return process_.is_alive(); }
  std::size_t tasks_running() const { return executor_.running(); }

  void boot();  // the supervisor starts, and with it the worker process

  // Faults. What is not there any more cannot be hurt again.
  void crash();       // the worker process alone
  void crash_both();  // and its supervisor; the host stays up
  void host_down();   // and the host
  void host_up();
  void pause();
  void resume();
  void drain(Duration limit);  // asked to leave; what still runs at the limit is released
  void forge_hint(bool on);    // closed and refused, though it lives
  void stay_down() { may_respawn_ = false; }
  void come_back();  // whatever happened to it before

  // Stands still without a supervisor, its tasks are ended, another life takes its place.
  void leave_to_twin();
  void take_over(WorkerHost& earlier);

  core::ProbeOutcome probe() const;

 private:
  void start_process();
  void end_earlier();
  void feed(agent::Input input);
  void perform(agent::SendRegister& send);
  void perform(agent::SendSync& send);
  void perform(agent::HangUp& hang_up);
  void perform(agent::StartProcess& start);
  void perform(agent::KillProcess& kill);
  void perform(agent::Exit& exit);
  struct CallPlace {
    agent::ControllerIx controller;
    agent::Channel channel{};
    agent::CallId call;
  };
  struct OpenCall {
    CallPlace place;
    LinePtr line;
  };
  struct Outgoing {
    core::Command command;
    Duration time_limit;
  };
  using CallDone = std::function<void(const CallResult&)>;
  void call(const CallPlace& place, Outgoing what, const CallDone& done);
  void drop_words(SyncRequest& request) const;
  void tell_results(const SyncRequest& request) const;
  struct Exchange {
    agent::CallId call;
    Incarnation as;  // the life that asked
    std::uint32_t controller = 0;
  };
  void take_answer(const Exchange& exchange, const CallResult& result);
  std::string session_of(Incarnation life) const;
  void arm_wake();
  void process_gone();
  void respawn_after(Duration delay);
  void prove_exit(const core::WorkerExited& proof, std::uint32_t controller);
  // worker_words.cc: what is said beside the agent's calls.
  void write_journal(EventKind kind, Incarnation incarnation);
  void tell_journal(std::uint32_t controller);
  void answered(const Exchange& exchange, const CallResult& result);
  bool is_unresolved(const Attempt& attempt) const;
  void say_unsent(const Exchange& exchange, std::pair<core::Unsent, SyncReply> words);
  void upload(Attempt attempt, bool too_large);
  bool is_other_life() const { return setup_.other && starts_ % 2 == 0; }
  void hang_up_all();
  void note(std::string what);

  Scene& scene_;
  const WorkerSetup& setup_;
  const HostClock& clock_;
  HostId host_;
  Rng rng_;
  Process supervisor_;
  Process process_;
  Executor executor_;
  std::optional<agent::Agent> agent_;
  Incarnation last_incarnation_;
  std::set<Attempt> idle_;                       // slack: taken and not started
  std::set<Attempt> dropped_;                    // slack: forgotten without a word
  std::vector<Incarnation> lives_;               // of the process that runs
  std::map<Incarnation, std::string> sessions_;  // on record, with their secrets
  std::map<agent::CallId, OpenCall> lines_;      // open calls of the worker process
  Instant wake_at_ = kNever;
  bool host_up_ = true;
  bool may_respawn_ = true;
  std::uint32_t starts_ = 0;  // of the worker process
  // The supervisor's journal: what no controller has taken yet.
  std::uint32_t journals_ = 0;
  std::vector<core::LifecycleEntry> journal_;
  std::uint64_t written_ = 0;
  bool telling_ = false;
  std::uint64_t uploads_ = 0;
  Rng words_rng_;  // what is drawn here moves no other draw
  std::uint32_t forged_ = 0;
  WorkerHost* earlier_ = nullptr;  // a life on the same host whose place this one took
  bool has_twin_ = false;          // another life took the place of this one
};

}  // namespace vortex::sim
