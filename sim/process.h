#pragma once
// One operating-system process in the simulated world: it can be stopped, continued and killed.
//
// Everything that is to happen inside it goes through `mine`: while it is paused such things wait,
// and when it has died they never happen. So no callback of an earlier life reaches a later one.

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/action.h"

namespace vortex::sim {

class Process {
 public:
  bool is_alive() const { return alive_; }
  bool is_paused() const { return paused_; }
  bool runs() const { return alive_ && !paused_; }

  void begin() {
    alive_ = true;
    paused_ = false;
    ++life_;
  }
  void die() {
    alive_ = false;
    paused_ = false;
    ++life_;
    held_.clear();
  }
  void pause() { paused_ = alive_; }
  void resume() {
    if (!paused_) return;
    paused_ = false;
    const std::uint64_t life = life_;
    for (const Action& action : std::exchange(held_, {})) {
      if (life != life_) return;
      action();
    }
  }

  // The action, bound to this life of the process. Nothing happens inside a dead one.
  template <typename Callable>
  auto mine(Callable action) {
    return [this, life = life_, action = std::move(action)] { run_in(life, action); };
  }
  // The same for callbacks that bring something along: remember the life, act in it later. What is
  // brought is copied only where it has to wait.
  std::uint64_t life() const { return life_; }
  template <typename Callable, typename... Brought>
  void run_in(std::uint64_t life, const Callable& action, const Brought&... brought) {
    if (!alive_ || life != life_) return;
    if (paused_) {
      held_.push_back([action, brought...] { action(brought...); });
    } else {
      action(brought...);
    }
  }

 private:
  bool alive_ = false;
  bool paused_ = false;
  std::uint64_t life_ = 0;
  std::vector<Action> held_;
};

}  // namespace vortex::sim
