#pragma once
// The people and programs that use the cluster: they submit, cancel, pause, drain, re-drive.
//
// A submit is repeated with the same key until somebody answers; other acts are tried a few times.
// Each unanswered try is told to the history as being in doubt. After the faults stop, an operator
// lifts what was paused or cordoned and keeps doing so.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/command.h"
#include "sim/scene.h"

namespace vortex::sim {

class Clients {
 public:
  Clients(Scene& scene, Rng rng);

  void begin();
  // Lifts every pause of runs and queues and every cordon, by what the tables say.
  void lift_everything();
  // Nobody waits for an answer that still matters.
  bool are_settled() const { return open_submits_ == 0; }

  // One command, tried until answered; `told` learns the answer, or nothing after the last try.
  using Told = std::function<void(const core::ReplyBody*)>;
  void ask(core::Command command, std::uint32_t tries, Told told);

 private:
  struct Errand {
    core::Command command;
    std::uint32_t tries = 0;  // left
    std::uint32_t controller = 0;
    Instant asked_at = {};
    Told told;
  };
  using ErrandPtr = std::shared_ptr<Errand>;

  void attempt(const ErrandPtr& errand);
  void again(const ErrandPtr& errand, const CallResult& result);
  void perform(const Act& act);
  void submit(const Act& act);
  void act_on_run(const Act& act);
  void act_on_any(const Act& act);
  void act_on_task(const Act& act);
  void act_on_worker(const Act& act);
  void check_attempt(const Act& act);
  void signal(const Act& act);
  void answer(const Act& act);
  void act_on_limit(const Act& act);
  void tell_all_that_wait();
  static std::string payload(std::uint64_t pick);
  void submit_wrong(const Act& act);
  void rerun(const Act& act);
  void act_on_schedule(const Act& act);
  void ask_nonsense(const Act& act);
  void tend(RunId run, std::uint32_t looks);
  void forge();

  Scene& scene_;
  Rng rng_;
  Rng forger_;  // what is drawn here moves no other draw
  std::uint64_t forged_ = 0;
  std::vector<RunId> runs_;  // those we were told of
  std::uint32_t open_submits_ = 0;
};

}  // namespace vortex::sim
