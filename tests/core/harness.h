#pragma once
// A shell for the core that a test drives by hand, in virtual time.
//
// It records everything the core sends out, and everything must be accounted for by the end of the
// test: replies, events, probes, self checks, and what each worker was told. After every step the
// whole-state check must find nothing. Rows go into a mirror, from which the core can be loaded
// again at any moment; after every step such a load must know all that memory knows.

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/command.h"
#include "core/effects.h"
#include "core/state/state.h"
#include "tests/core/mirror.h"
#include "tests/model/specs.h"

namespace vortex::core {

using vortex::testing::dag;
using vortex::testing::list;
using vortex::testing::mapped;
using vortex::testing::node;
using vortex::testing::range;

// The defaults, but retries wait 2, 4, 8 s ... exactly.
Policy test_policy();
WorkerInfo worker_info(std::string name, std::uint32_t slots = 1);
RetryPolicy retries(std::uint16_t max, Duration delay = seconds(1));
NodeSpec with_retries(NodeSpec node, std::uint16_t max);

std::int64_t number(const Event& event, std::string_view key);
std::string text(const Event& event, std::string_view key);

// A worker as a test drives it. It polls by itself whenever no call of it is open.
struct Hand {
  WorkerInfo info;
  Incarnation incarnation{1};
  std::uint32_t slots = 1;
  std::uint64_t seq = 0;
  ReplyMark ack;
  Leaving leaving = Leaving::kNo;
  bool silent = false;         // says nothing more, and what is sent to it is lost
  std::vector<HeldTask> held;  // named in every poll
  RequestId poll;              // the call that is waiting; 0: none
  // What it was told and the test has not taken yet.
  std::deque<Assignment> assigned;
  std::deque<StopOrder> stops;
  std::deque<Attempt> stale;
  std::deque<SyncRefusal> refusals;
  std::optional<Duration> drain_within;

  const WorkerId& id() const { return info.id; }
  bool holds(Attempt attempt) const;
  void drop(Attempt attempt);
  void show(Attempt attempt, Progress progress);
};

class World {
 public:
  explicit World(const Policy& policy = test_policy(), std::uint64_t seed = 1);

  // One command and nothing else.
  Effects raw(const Command& command);
  // The command, then whatever a healthy shell and healthy workers do about it at once.
  void step(const Command& command);
  // Time passes with a tick at least every sweep.
  void advance(Duration duration);
  // Time passes while the controller itself is away.
  void vanish(Duration duration) { now = now + duration; }
  // The controller dies and another one takes over from the rows.
  void reload();

  Hand& join(WorkerInfo info, Incarnation incarnation = {1});
  Hand& join(const std::string& name, std::uint32_t slots = 1) {
    return join(worker_info(name, slots));
  }
  RequestId send(Hand& hand, SyncRequest request);
  SyncRequest request_of(const Hand& hand) const;
  void poll(Hand& hand);
  // A call that carries reports and is answered at once.
  void report(Hand& hand, std::vector<Report> reports);
  void start(Hand& hand, Attempt attempt) { report(hand, {{attempt, Started{}}}); }
  void end(Hand& hand, Attempt attempt, ReportBody how);
  void complete(Hand& hand, Attempt attempt, std::string outputs = {}) {
    end(hand, attempt, Completed{std::move(outputs)});
  }
  void fail(Hand& hand, Attempt attempt, std::int32_t code = 1) {
    end(hand, attempt, Failed{Failed::Cause::kExitCode, code, "boom"});
  }
  Attempt take_assignment(Hand& hand);
  Attempt take_and_start(Hand& hand);
  StopOrder take_stop(Hand& hand);
  Attempt take_stale(Hand& hand);
  SyncRefusal::Why take_refusal(Hand& hand);
  // Proof: the process is gone. The hand stays silent afterwards.
  void kill(Hand& hand);
  // It falls silent, and its open call is seen to close.
  void cut(Hand& hand);
  // It falls silent without a sign.
  void hush(Hand& hand) { hand.silent = true; }

  RunId submit(DagSpec spec);
  // Retention removed the run: its key is nowhere in the store any more.
  void forget_run(RunId run);  // as the store does, with its key and its letters
  RunId submit(std::vector<NodeSpec> nodes) { return submit(dag(std::move(nodes))); }
  template <class Wanted>
  Wanted ask(Command command);
  RefusalKind ask_in_vain(Command command) { return ask<Refusal>(std::move(command)).kind; }
  void ask_done(Command command) { ask<Done>(std::move(command)); }

  // The outbox.
  template <class Wanted>
  Wanted take_reply();
  Event take(EventKind kind);
  std::vector<Event> take_all(EventKind kind);
  std::size_t count(EventKind kind) const;
  Probe take_probe();
  // What was measured under this label so far.
  std::vector<Duration> measured(Sample::Kind kind, std::string_view label) const;
  void take_self_check();
  // From here on nobody needs to take events of these kinds.
  void ignore(std::initializer_list<EventKind> kinds) { ignored_.insert(kinds); }
  void ignore_ordinary_life();
  void ignore_comings_and_goings();  // losses, re-queues and what follows from them
  void ignore_everything_from_here() { ignore_all_ = true; }
  void expect_all_taken();

  // What the store holds.
  const TaskRow& row(TaskId task) const { return mirror.tasks.at(task); }
  const RunRow& row(RunId run) const { return mirror.runs.at(run); }
  const WorkerRow& row(const Hand& hand) const { return mirror.workers.at(hand.id()); }
  TaskState state_of(TaskId task) const { return row(task).state; }
  RunState state_of(RunId run) const { return row(run).state; }
  WorkerState state_of(const Hand& hand) const { return row(hand).state; }

  Policy policy;
  Instant now{seconds(1'000'000).us};
  std::unique_ptr<State> state;
  Mirror mirror;
  bool expect_clean = true;    // the whole-state check must find nothing
  bool expect_reload = false;  // the core may ask to be loaded again
  std::deque<Reply> replies;
  std::deque<Event> events;
  std::deque<Probe> probes;
  std::vector<Sample> samples;  // nobody has to take them
  std::uint32_t self_checks = 0;
  std::map<std::string, Hand> hands;

 private:
  void record(Effects& fx);
  void route(Reply reply);
  void absorb(Hand& hand, const SyncReply& reply);
  void check_whole_state();
  void check_reload();
  void run_shell();
  bool poll_once();
  RequestId next_request() { return {++last_request_}; }

  std::uint64_t seed_;
  std::uint64_t last_request_ = 0;
  std::map<RequestId, std::string> calls_;  // open calls of hands
  std::set<EventKind> ignored_;
  bool ignore_all_ = false;
};

template <class Wanted>
Wanted World::take_reply() {
  if (replies.empty() || !std::holds_alternative<Wanted>(replies.front().body)) {
    ADD_FAILURE() << "the next of " << replies.size() << " replies is of another kind";
    return Wanted{};
  }
  Wanted wanted = std::get<Wanted>(std::move(replies.front().body));
  replies.pop_front();
  return wanted;
}

template <class Wanted>
Wanted World::ask(Command command) {
  std::visit(
      [this](auto& c) {
        if constexpr (requires { c.request; }) c.request = next_request();
      },
      command);
  step(command);
  return take_reply<Wanted>();
}

// A test of the core: a world whose outbox must be empty at the end.
class CoreTest : public ::testing::Test, protected World {
 protected:
  explicit CoreTest(const Policy& chosen = test_policy()) : World(chosen) {}
  void TearDown() override { expect_all_taken(); }
};

// The same for tests that are not about the events of ordinary life.
class LifeTest : public CoreTest {
 protected:
  explicit LifeTest(const Policy& chosen = test_policy()) : CoreTest(chosen) {
    ignore_ordinary_life();
  }
};

}  // namespace vortex::core
