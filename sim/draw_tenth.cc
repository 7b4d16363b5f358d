#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

namespace {

// Of a clock that every leader goes on with: it begins where that of the store stands.
WrittenTime draw_until(const Setup& setup, Rng& rng) {
  const Duration faults = setup.faults_end - Instant{};
  const Instant at = setup.store_clock.boot(Instant{} + share(rng, faults, 0, 1200));
  WrittenTime time;
  time.seconds = at.us / seconds(1).us;
  time.local = false;
  time.text = fmt::format("{}Z", time.seconds);
  return time;
}

WaitSpec draw_wait(const Setup& setup, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  WaitSpec wait;
  wait.kind = static_cast<WaitKind>(rng.below(4));
  const Duration length = share(rng, lease, 50, 2500);
  const WrittenTime until = draw_until(setup, rng);
  const bool limited = rng.chance(600);
  switch (wait.kind) {
    case WaitKind::kFor:
      wait.length = length;
      break;
    case WaitKind::kUntil:
      wait.until = until;
      break;
    case WaitKind::kSignal:
      wait.text = rng.chance(700) ? "go" : "stop";
      break;
    case WaitKind::kApproval:
      wait.text = "Deploy?";
      wait.by = {Role::kOperator};
      break;
  }
  if (wait.asks() && limited) wait.timeout = length * 2;
  return wait;
}

// Nothing of what it had of a command is left.
void turn_into_wait(NodeSpec& node, WaitSpec wait) {
  NodeSpec waiting;
  waiting.name = node.name;
  waiting.needs = node.needs;
  waiting.trigger = node.trigger;
  waiting.condition = node.condition;
  waiting.continue_on_error = node.continue_on_error;
  waiting.wait = std::move(wait);
  node = std::move(waiting);
}

void draw_waits(Setup& setup, RunDraft& draft, Rng& rng) {
  for (NodeSpec& node : draft.dag.nodes) {
    if (!node.map && rng.chance(250)) turn_into_wait(node, draw_wait(setup, rng));
  }
}

void draw_finally(Setup& setup, RunDraft& draft, Rng& rng) {
  const Duration lease = setup.timings.policy.worker_lease;
  const std::uint64_t count = 1 + rng.below(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    NodeSpec node;
    node.name = fmt::format("last{}", i);
    node.finally = true;
    node.command.argv = {"end"};
    NodeTraits traits;
    traits.runs_max = share(rng, lease, 5, 800);
    if (rng.chance(200) && setup.is_on(FaultKind::kTaskFailures)) traits.fail_permille = 400;
    if (i > 0 && rng.chance(500)) node.needs = {fmt::format("last{}", i - 1)};
    if (rng.chance(300)) node.trigger = TriggerRule::kAllDone;
    if (rng.chance(100)) node.continue_on_error = true;
    if (rng.chance(150)) turn_into_wait(node, draw_wait(setup, rng)), node.finally = true;
    draft.dag.nodes.push_back(std::move(node));
    draft.traits.push_back(traits);
  }
  if (rng.chance(400)) draft.dag.finally_timeout = share(rng, lease, 500, 4000);
}

Act draw_telling(const Setup& setup, Rng& rng) {
  constexpr ActKind kActs[] = {ActKind::kSignal, ActKind::kSignal, ActKind::kAnswer,
                               ActKind::kAnswer, ActKind::kCancelRun};
  Act act;
  act.at = Instant{} + share(rng, setup.faults_end - Instant{}, 50, 1000);
  act.kind = kActs[rng.below(std::size(kActs))];
  act.pick = rng.next();
  act.on = rng.chance(700);
  return act;
}

}  // namespace

// Waits, signals, approvals, and what runs last.
void draw_tenth(Setup& setup, Rng rng) {
  bool any = false;
  for (RunDraft& draft : setup.drafts) {
    Rng own = rng.fork(static_cast<std::uint64_t>(&draft - setup.drafts.data()));
    const bool waits = own.chance(400);
    const bool ends = own.chance(350);
    if (waits) draw_waits(setup, draft, own);
    if (ends) draw_finally(setup, draft, own);
    any = any || waits || ends;
  }
  Rng people = rng.fork(1000);
  const std::int64_t acts = people.between(3, 12);
  for (std::int64_t i = 0; i < acts && any && setup.is_on(FaultKind::kOperator); ++i) {
    setup.acts.push_back(draw_telling(setup, people));
  }
}

}  // namespace vortex::sim
