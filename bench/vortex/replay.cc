#include "bench/vortex/replay.h"

#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/settings.h"
#include "codec/event_json.h"
#include "core/load.h"
#include "core/step.h"
#include "engine/batch.h"
#include "model/plan.h"
#include "store/open.h"

namespace vortex::cli::bench {
namespace {

struct Hand {
  WorkerId id;
  std::uint64_t seq = 0;
  ReplyMark ack;
  std::vector<Attempt> given;
};

DagSpec noop_map(std::uint64_t tasks) {
  DagSpec spec;
  spec.name = "replay";
  NodeSpec node;
  node.name = "noop";
  node.command.argv = {"true"};
  node.map = MapSpec{MapRange{1, static_cast<std::int64_t>(tasks), 1}, 0, std::nullopt};
  spec.nodes.push_back(std::move(node));
  return spec;
}

class Replay {
 public:
  Replay(const ReplayConfig& config, store::Writer& writer, core::State state, Term term)
      : config_(config), writer_(writer), state_(std::move(state)), term_(term) {}

  std::expected<ReplayResult, std::string> run() {
    enroll();
    const auto plan = compile(noop_map(config_.tasks), state_.policy.dag_limits);
    if (!plan) return std::unexpected(plan.error().detail);
    for (std::uint32_t run = 0; run < config_.runs; ++run) {
      step(core::SubmitRun{RequestId{1}, *plan, {}, {}, {}});
      if (auto done = commit(); !done) return std::unexpected(done.error());
      if (auto done = work_off(); !done) return std::unexpected(done.error());
    }
    return result_;
  }

 private:
  std::expected<void, std::string> work_off() {
    while (state_.runs.size() > 0) {
      for (Hand& hand : hands_) sync(hand);
      step(core::Tick{});
      if (auto done = commit(); !done) return done;
    }
    return {};
  }

  void enroll() {
    for (std::uint32_t i = 0; i < config_.agents; ++i) {
      core::RegisterWorker command{RequestId{1}, {}, Incarnation{1}};
      command.info.id = WorkerId(fmt::format("replay-{}", i));
      command.info.machine = MachineId("replay");
      command.info.slots = config_.slots;
      hands_.push_back({command.info.id, 0, {}, {}});
      step(command);
    }
  }

  void sync(Hand& hand) {
    core::Sync command;
    command.request = RequestId{2 + static_cast<std::uint64_t>(&hand - hands_.data())};
    command.body.worker = hand.id;
    command.body.incarnation = Incarnation{1};
    command.body.seq = ++hand.seq;
    command.body.ack = hand.ack;
    command.body.slots = config_.slots;
    command.body.held.emplace();
    for (const Attempt& attempt : std::exchange(hand.given, {})) {
      command.body.reports.push_back({attempt, Started{}});
      command.body.reports.push_back({attempt, Completed{}});
    }
    step(command);
  }

  void step(const core::Command& command) {
    const Instant begin = boot_clock_now();
    now_ = now_ + micros(1);
    core::Effects effects = core::step(state_, command, now_);
    for (const core::Reply& reply : effects.replies) {
      const auto* answer = std::get_if<SyncReply>(&reply.body);
      if (answer == nullptr) continue;
      Hand& hand = hands_[reply.request.value - 2];
      hand.ack = answer->mark;
      for (const Assignment& assignment : answer->assignments) {
        hand.given.push_back(assignment.attempt);
      }
    }
    batch_.add(std::move(effects), now_);
    result_.core += boot_clock_now() - begin;
  }

  std::expected<void, std::string> commit() {
    const Instant begin = boot_clock_now();
    const auto done = writer_.commit(batch_.seal(term_, now_));
    result_.writing += boot_clock_now() - begin;
    ++result_.commits;
    result_.rows += batch_.rows();
    batch_ = engine::Batch(codec::write_event);
    if (!done) return std::unexpected(done.error().detail);
    return {};
  }

  const ReplayConfig& config_;
  store::Writer& writer_;
  core::State state_;
  Term term_;
  Instant now_ = wall_clock_now() + hours(1);  // after everything the store has seen
  engine::Batch batch_{codec::write_event};
  std::vector<Hand> hands_;
  ReplayResult result_{};
};

}  // namespace

std::expected<ReplayResult, std::string> replay(const ReplayConfig& config) {
  DatabaseSettings settings = default_settings().database;
  settings.path = config.path;
  settings.url = config.url;
  auto store = store::open_store(settings);
  if (!store) return std::unexpected(store.error().detail);
  store::Writer& writer = (*store)->writer();
  const auto won = writer.acquire({ControllerId("replay"), {}}, hours(1));
  const auto* lead = won ? std::get_if<store::Won>(&*won) : nullptr;
  if (lead == nullptr) return std::unexpected(std::string("the replay could not write"));
  core::Effects repairs;
  core::State state = core::load({}, lead->term, lead->database_now, 1, {}, repairs);
  return Replay(config, writer, std::move(state), lead->term).run();
}

}  // namespace vortex::cli::bench
