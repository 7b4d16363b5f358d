#pragma once
// The task processes of one worker process: started, watched and killed as a real executor does.
//
// The processes live on while the worker process is paused, and so do the runners, which end them:
// a kill once ordered goes its way, and the fence is theirs to keep. What the worker process itself
// has to do (reading progress, telling the agent) waits for it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/messages.h"
#include "base/rng.h"
#include "sim/fate.h"
#include "sim/process.h"
#include "sim/scene.h"

namespace vortex::sim {

class Executor {
 public:
  struct Callbacks {
    std::function<void(agent::Input)> tell;  // to the agent; called inside the worker process
    std::function<void()> poisoned;          // the task killed the worker process
    std::function<void(Attempt, bool too_large)> upload = {};  // a checkpoint, in pieces
  };
  Executor(Scene& scene, Process& process, const HostClock& clock, Callbacks callbacks, Rng rng)
      : scene_(scene),
        process_(process),
        clock_(clock),
        callbacks_(std::move(callbacks)),
        rng_(rng) {}

  // Which life of which worker the processes belong to from now on.
  void serve(WorkerId worker, Incarnation incarnation);
  void start(const Assignment& assignment);
  void kill(Attempt attempt);
  // The fence of the runners, by the clock of the host: behind it they end what they run.
  void renew(Instant until) { until_ = until; }
  // Somebody else kills everything; the executor sees it as soon as it runs.
  void lose_all();
  // Everything ends now, and nobody is told.
  void kill_all();

  std::size_t running() const { return running_.size(); }
  std::vector<Attempt> attempts() const;

 private:
  struct Running {
    Attempt attempt;
    Fate fate;
    std::optional<agent::Killed::By> killed = {};  // TERM was sent
  };

  void spawned(std::uint64_t id, const Assignment& assignment);
  void say_progress(std::uint64_t id, std::uint32_t said);
  void save_checkpoint(const Running& running, std::uint32_t said);
  void write_output(std::uint64_t id, std::uint64_t bytes);
  std::string outputs_of(const Running& running) const;
  void end_by_itself(std::uint64_t id);
  void end_by_signal(std::uint64_t id);
  void watch_fence(std::uint64_t id);
  void terminate(std::uint64_t id, agent::Killed::By by);
  void ended(std::uint64_t id, const agent::ProcessExited& exited);
  Duration own_time(Duration d) const { return clock_.true_span(d); }

  Scene& scene_;
  Process& process_;
  const HostClock& clock_;
  Callbacks callbacks_;
  Rng rng_;
  WorkerId worker_;
  Incarnation incarnation_;
  Instant until_;
  std::map<std::uint64_t, Running> running_;  // by process
};

}  // namespace vortex::sim
