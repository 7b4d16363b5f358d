// What a reload must know: a field that is lost on either side is named. (That none is lost is
// looked at after every step of every test of this folder, see World::check_reload.)

#include "sim/durable.h"

#include <functional>

#include "tests/core/harness.h"

namespace vortex::core {
namespace {

// One of everything that is durable.
class Durable : public LifeTest {
 protected:
  Durable() {
    ignore_comings_and_goings();
    ignore_everything_from_here();
    Hand& gone = join("gone");
    kill(gone);
    Hand& w = join("w", 3);
    DagSpec first = dag({with_retries(node("a"), 0), node("b", {"a"}), with_retries(node("c"), 5),
                         node("d"), node("e", {"d"})});
    first.run_timeout = hours(1);
    SubmitRun submit{{}, first, {{"team", "x"}}, R"({"n":1})", "key"};
    run = ask<RunAccepted>(submit).run;
    fail(w, take_assignment(w));
    const Attempt c = take_and_start(w);
    report(w, {{c, Checkpoint{"half"}}});
    fail(w, c, 7);
    ask_done(PauseQueue{{}, "bulk", true});
    ask<LeaseGranted>(AcquireLease{{}, {"orders", 1}, AgentId("agent")});
    ask_done(TellLifecycle{{}, "m/s", "j1", {{3, EventKind::kWorkerSpawn, w.id(), {1}, {}}}});
    d = take_and_start(w);
    poll_with_progress(w);
    ask_done(CancelTask{{}, d.task});
    ask_done(DrainWorker{{}, w.id(), seconds(10)});
    image = mirror.image();
  }

  void poll_with_progress(Hand& w) {
    w.show(d, {40, "halfway"});
    poll(w);
  }

  std::vector<std::string> told() const { return reload_differences(*state, image); }
  TaskRow& row_of(std::uint32_t index) { return image.runs.at(0).tasks.at(index); }
  core::Run& in_memory() { return state->runs[state->runs.find(run)]; }
  Task& task(std::uint32_t index) { return state->tasks[in_memory().tasks.at(index)]; }
  Worker& worker(const char* name) { return state->workers[state->workers.find(WorkerId(name))]; }

  RunId run;
  Attempt d;
  StoreImage image;
};

bool names(const std::vector<std::string>& told, std::string_view what) {
  return std::ranges::any_of(told, [&](const auto& line) { return line.contains(what); });
}

TEST_F(Durable, AReloadOfWhatWasCommittedKnowsEverything) { EXPECT_EQ(told().size(), 0u); }

TEST_F(Durable, WhatTheRowsLoseIsNamed) {
  struct Loss {
    const char* field;
    std::function<void()> lose;
  };
  auto& i = image;
  const std::vector<Loss> losses{
      {"counters: next_run", [&] { i.counters.next_run = {1}; }},
      {"counters: next_event", [&] { i.counters.next_event = 1; }},
      {"counters: lease_floor", [&] { i.counters.lease_floor = {9}; }},
      {"key 'key': it", [&] { i.keys.clear(); }},
      {"key 'key': digest", [&] { i.keys.at(0).digest = 1; }},
      {"queue 'bulk': it", [&] { i.queues.clear(); }},
      {"journal 'm/s': last", [&] { i.journals.at(0).last = 0; }},
      {"lease 'orders/1': epoch", [&] { i.leases.at(0).epoch = {7}; }},
      {"lease 'orders/1': expires_at", [&] { i.leases.at(0).expires_at = {}; }},
      {"dead letter 'r1-L0-0': reason",
       [&] { i.dead_letters.at(0).reason = DeathReason::kCrashLimit; }},
      {"worker 'gone': it",
       [&] {
         std::erase_if(i.workers, [](const WorkerRow& row) { return row.info->id.text == "gone"; });
       }},
      {"worker 'w': cordoned", [&] { i.workers.back().cordoned = true; }},
      {"worker 'w': registered_at", [&] { i.workers.back().registered_at = {5}; }},
      {"worker 'gone': times_lost", [&] { i.workers.front().times_lost = 0; }},
      {"worker 'gone': lost_lately", [&] { i.workers.front().lost_lately.clear(); }},
      {"worker 'gone': end_told", [&] { i.workers.front().end_told = {}; }},
      {"worker 'w': drain_within", [&] { i.workers.back().drain_within.reset(); }},
      {"run r1: paused", [&] { i.runs.at(0).run.paused = true; }},
      {"run r1: timeout_at", [&] { i.runs.at(0).run.timeout_at = kNever; }},
      {"task r1-L0-2: ready_at", [&] { row_of(2).ready_at = {}; }},
      {"task r1-L0-2: last_worker", [&] { row_of(2).previous_worker = {}; }},
      {"task r1-L0-2: failures", [&] { row_of(2).counters.failures = 0; }},
      {"task r1-L0-2: exit_code", [&] { row_of(2).exit_code = 0; }},
      {"task r1-L0-2: error", [&] { row_of(2).error_message.clear(); }},
      {"task r1-L0-2: checkpoint", [&] { i.runs.at(0).data.clear(); }},
      {"task r1-L0-3: stop", [&] { row_of(3).stop = StopReason::kNone; }},
      {"task r1-L0-3: granted_at", [&] { row_of(3).granted_at = {5}; }},
      {"task r1-L0-3: started", [&] { row_of(3).started_at = {5}; }},
      {"task r1-L0-3: percent", [&] { row_of(3).percent = 0; }},
      {"task r1-L0-3: step", [&] { row_of(3).step.clear(); }},
      {"task r1-L0-3: epoch", [&] { row_of(3).epoch = {8}; }},
  };
  for (const Loss& loss : losses) {
    image = mirror.image();
    loss.lose();
    const std::string_view field = loss.field;
    const bool own = field.starts_with("counters: ");
    EXPECT_TRUE(names(told(), own ? field.substr(10) : field)) << field;
  }
}

TEST_F(Durable, WhatMemoryLosesIsNamed) {
  task(3).notes->step.clear();
  std::get<Running>(task(3).phase).grant.stop = StopReason::kNone;
  task(2).counters.attempts = 0;
  std::get<Queued>(task(2).phase).ready_at = {};
  task(2).notes->checkpoint = "other";
  task(0).notes->error.clear();
  worker("gone").times_lost = 0;
  state->keys.clear();
  state->journals.clear();
  in_memory().ending = RunEnding::kCancelled;
  const auto all = told();
  for (const char* field :
       {"task r1-L0-3: step", "task r1-L0-3: stop", "task r1-L0-2: attempts",
        "task r1-L0-2: ready_at", "task r1-L0-2: checkpoint", "task r1-L0-0: error",
        "worker 'gone': times_lost", "key 'key': it", "journal 'm/s': it", "run r1: ending"}) {
    EXPECT_TRUE(names(all, field)) << field;
  }
  expect_clean = false;  // what was broken here stays so
}

// Deadlines in memory move on with the controller's own absence; those in the rows do not.
TEST_F(Durable, ADeadlineMayBeEarlierAfterAReloadByWhatTheControllerWasAway) {
  vanish(minutes(3));
  raw(Tick{});
  image = mirror.image();
  EXPECT_EQ(told().size(), 0u);
  image.runs.at(0).run.timeout_at = image.runs.at(0).run.timeout_at - minutes(4);
  EXPECT_TRUE(names(told(), "run r1: timeout_at"));
}

}  // namespace
}  // namespace vortex::core
