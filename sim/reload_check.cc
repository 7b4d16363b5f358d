#include "sim/reload_check.h"

#include "base/reached.h"
#include "sim/draw.h"
#include "sim/durable.h"

namespace vortex::sim {

namespace {

// Everything the state says is committed, and nobody else has committed since.
bool can_be_compared(const Controller& controller, const SimStore& store) {
  if (!controller.is_alive() || !controller.leads() || !controller.is_idle()) return false;
  return controller.state() != nullptr && controller.state()->term == store.leader().term;
}

}  // namespace

// Its own stream: what is drawn here moves nothing in the history.
ReloadCheck::ReloadCheck(Scene& scene, const Controllers& controllers)
    : scene_(scene), controllers_(controllers), rng_(scene.setup.seed ^ 0x5EED'0F0F'10AD) {
  due_ = Instant{} + share(rng_, scene.setup.timings.policy.worker_lease, 0, 1500);
}

void ReloadCheck::look_for_leader() {
  for (const auto& controller : controllers_) {
    if (!can_be_compared(*controller, scene_.store)) continue;
    const StoreImage image = scene_.store.tables().image();
    for (const std::string& told : core::reload_differences(*controller->state(), image)) {
      scene_.recorder.violation("reload-knows-all", told);
    }
    REACHED("sim: memory compared with a reload");
    due_ = scene_.agenda.now() + share(rng_, scene_.setup.timings.policy.worker_lease, 100,
                                       rng_.chance(300) ? 300 : 3000);
    return;
  }
}

}  // namespace vortex::sim
