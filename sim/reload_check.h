#pragma once
// Whether a leader that loads its memory again would know what it knows: looked at in drawn
// moments.
//
// The state is made anew from the committed rows and compared with the leader's memory, field by
// field (sim/durable.h), at the first instant after a drawn time at which everything stepped is
// committed. It only looks: no agenda entry, no draw of others, nothing in the history's hash.

#include <memory>
#include <vector>

#include "base/rng.h"
#include "sim/controller.h"
#include "sim/scene.h"

namespace vortex::sim {

class ReloadCheck {
 public:
  using Controllers = std::vector<std::unique_ptr<Controller>>;
  ReloadCheck(Scene& scene, const Controllers& controllers);

  // After every step of the agenda.
  void look() {
    if (scene_.agenda.now() >= due_) look_for_leader();
  }
  // The next instant that allows for it.
  void hurry() { due_ = scene_.agenda.now(); }

 private:
  void look_for_leader();

  Scene& scene_;
  const Controllers& controllers_;
  Rng rng_;
  Instant due_;
};

}  // namespace vortex::sim
