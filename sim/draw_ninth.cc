#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "sim/draw.h"

namespace vortex::sim {

namespace {

constexpr std::int64_t kSlotsMin = 5;
constexpr std::int64_t kSlotsMax = 14;

NodeTraits draw_traits(const Setup& setup, Duration every, Rng& rng) {
  NodeTraits traits;
  // Shorter than the interval, or several of them long: then the rule for overlaps is asked.
  traits.runs_min = share(rng, every, 10, 600);
  traits.runs_max = traits.runs_min + share(rng, every, 100, 1500);
  if (setup.is_on(FaultKind::kTaskFailures) && rng.chance(500)) traits.fail_permille = 300;
  return traits;
}

WrittenTime written(Instant at) {
  WrittenTime time;
  time.seconds = at.us / 1'000'000;
  time.local = false;
  return time;
}

ScheduleSpec draw_schedule(const Setup& setup, Rng& rng) {
  ScheduleSpec spec;
  const std::int64_t faults =
      std::max<std::int64_t>((setup.faults_end - Instant{}).us / 1'000'000, 1);
  spec.every = seconds(std::max<std::int64_t>(faults / rng.between(kSlotsMin, kSlotsMax), 1));
  spec.overlap = static_cast<Overlap>(rng.below(5));
  if (rng.chance(400)) {
    spec.catchup.window = spec.every * rng.between(1, 8);
    spec.catchup.limit = static_cast<std::uint32_t>(rng.between(1, 4));
  }
  if (rng.chance(300)) spec.jitter = share(rng, spec.every, 10, 990);
  // By the clock of the store, whose time the leaders go by.
  const Instant end = setup.store_clock.wall(setup.faults_end);
  spec.until = written(end);
  if (rng.chance(300)) {
    spec.from = written(
        setup.store_clock.wall(Instant{} + share(rng, setup.faults_end - Instant{}, 0, 400)));
  }
  spec.pause_on_failure = rng.chance(300);
  return spec;
}

void add_acts(Setup& setup, std::uint32_t draft, Rng& rng) {
  const Duration whole = setup.faults_end - Instant{};
  const auto add = [&](ActKind kind, std::int64_t first, std::int64_t last) {
    Act act;
    act.at = Instant{} + share(rng, whole, first, last);
    act.kind = kind;
    act.draft = draft;
    act.pick = rng.next();
    act.on = rng.chance(600);
    setup.acts.push_back(act);
  };
  add(ActKind::kApplyDag, 0, 200);
  if (rng.chance(300)) add(ActKind::kApplyDag, 200, 900);
  if (rng.chance(250)) add(ActKind::kChangeDag, 200, 900);
  if (rng.chance(150)) add(ActKind::kDeleteDag, 400, 900);
  for (int i = 0; i < 3; ++i) {
    if (rng.chance(300)) add(ActKind::kPauseSchedule, 100, 1000);
    if (rng.chance(300)) add(ActKind::kTriggerSchedule, 100, 1000);
  }
}

}  // namespace

// Small DAGs beside the others that are stored with a schedule, and what people do about them.
void draw_ninth(Setup& setup, Rng rng) {
  if (!rng.chance(500)) return;
  const std::int64_t dags = rng.between(1, 2);
  for (std::int64_t i = 0; i < dags; ++i) {
    const auto number = static_cast<std::uint32_t>(setup.drafts.size());
    Rng own = rng.fork(static_cast<std::uint64_t>(i));
    RunDraft draft;
    draft.dag.name = fmt::format("s{}", number);
    draft.key = fmt::format("key-{}", number);
    draft.dag.schedule = draw_schedule(setup, own);
    draft.runs = static_cast<std::uint32_t>(kSlotsMax) * 2;
    const std::int64_t nodes = own.between(1, 2);
    for (std::int64_t n = 0; n < nodes; ++n) {
      NodeSpec& node = draft.dag.nodes.emplace_back();
      node.name = fmt::format("n{}", n);
      node.retry.emplace().max_retries = 0;
      if (n > 0) node.needs = {"n0"};
      draft.traits.push_back(draw_traits(setup, draft.dag.schedule->every, own));
    }
    setup.drafts.push_back(std::move(draft));
    add_acts(setup, number, own);
  }
}

}  // namespace vortex::sim
