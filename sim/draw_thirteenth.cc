#include "sim/draw.h"

namespace vortex::sim {

// Runs that start later, and new runs that keep results of earlier ones.
void draw_thirteenth(Setup& setup, Rng rng) {
  const Duration faults = setup.faults_end - Instant{};
  for (RunDraft& draft : setup.drafts) {
    Rng own = rng.fork(static_cast<std::uint64_t>(&draft - setup.drafts.data()));
    const Duration ahead = share(own, faults, 0, 1100);
    // By a clock that every leader goes on with: it begins where that of the store stands.
    if (own.chance(120)) draft.starts_at = setup.store_clock.boot(Instant{} + ahead);
  }
  Rng people = rng.fork(1000);
  if (!people.chance(450)) return;
  const std::int64_t acts = people.between(1, 6);
  for (std::int64_t i = 0; i < acts; ++i) {
    Act act;
    act.at = Instant{} + share(people, faults, 200, 1000);
    act.kind = ActKind::kRerun;
    act.pick = people.next();
    act.on = people.chance(600);
    setup.acts.push_back(act);
  }
}

}  // namespace vortex::sim
