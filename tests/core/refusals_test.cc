// Bad input of every kind: a typed refusal, a state untouched bit for bit, no rows, no events.

#include <functional>

#include <rapidcheck/gtest.h>

#include "tests/core/digest.h"
#include "tests/core/harness.h"

namespace vortex::core {
namespace {

constexpr RequestId kRequest{1'000'000};

class Refusals : public LifeTest {
 protected:
  // A world with something of everything: a running task, a dead letter, a lease, a gone worker.
  Refusals() {
    ignore_comings_and_goings();
    ignore({EventKind::kTaskFailed, EventKind::kTaskDeadLettered, EventKind::kLeaseAcquired});
    policy.dag_limits = {.nodes_max = 5, .tasks_max = 10, .depth_max = 3, .needs_max = 6};
    state->policy.dag_limits = policy.dag_limits;
    Hand& w = join(worker_info("w"), {5});
    failed_ = submit({with_retries(node("bad"), 0)});
    fail(w, take_assignment(w));
    live_ = submit({node("a"), node("b", {"a"})});
    running_ = take_and_start(w);
    Hand& gone = join("gone");
    kill(gone);
    ask<LeaseGranted>(AcquireLease{{}, {"t", 1}, AgentId("holder")});
    SubmitRun keyed;
    keyed.dag = dag({node("later")});
    keyed.idempotency_key = "key";
    ask<RunAccepted>(keyed);
  }

  Effects refused(Command command) {
    std::visit(
        [](auto& c) {
          if constexpr (requires { c.request; }) c.request = kRequest;
        },
        command);
    const std::uint64_t before = digest(*state);
    const Effects fx = raw(command);
    EXPECT_EQ(digest(*state), before) << "the state was touched";
    EXPECT_TRUE(is_empty(fx.rows)) << "rows were written";
    EXPECT_TRUE(fx.events.empty()) << "events were written";
    return fx;
  }
  RefusalKind kind_of(Command command) {
    refused(std::move(command));
    return take_reply<Refusal>().kind;
  }
  DagError::Kind dag_fault(DagSpec spec) {
    SubmitRun command;
    command.dag = std::move(spec);
    refused(std::move(command));
    const auto refusal = take_reply<Refusal>();
    EXPECT_EQ(refusal.kind, RefusalKind::kDagInvalid);
    return refusal.dag ? refusal.dag->kind : DagError::Kind::kBadValue;
  }
  SyncRefusal::Why sync_fault(const std::function<void(SyncRequest&)>& spoil) {
    SyncRequest request = request_of(hands.at("w"));
    spoil(request);
    refused(Sync{{}, request});
    return take_reply<SyncRefusal>().why;
  }

  RunId failed_;
  RunId live_;
  Attempt running_;
};

TEST_F(Refusals, UnknownThings) {
  const WorkerId nobody("nobody");
  EXPECT_EQ(kind_of(DrainWorker{{}, nobody}), RefusalKind::kUnknownWorker);
  EXPECT_EQ(kind_of(CordonWorker{{}, nobody, true}), RefusalKind::kUnknownWorker);
  EXPECT_EQ(kind_of(ResetWorker{{}, nobody}), RefusalKind::kUnknownWorker);
  EXPECT_EQ(kind_of(WorkerExited{{}, nobody, {1}}), RefusalKind::kUnknownWorker);
  EXPECT_EQ(kind_of(CancelRun{{}, {99}}), RefusalKind::kUnknownRun);
  EXPECT_EQ(kind_of(PauseRun{{}, {99}, true}), RefusalKind::kUnknownRun);
  EXPECT_EQ(kind_of(CancelTask{{}, {{99}, 0}}), RefusalKind::kUnknownRun);
  EXPECT_EQ(kind_of(CancelTask{{}, {live_, 99}}), RefusalKind::kUnknownTask);
  EXPECT_EQ(kind_of(RetryTask{{}, {live_, 99}, nullptr}), RefusalKind::kUnknownTask);
  EXPECT_EQ(kind_of(CheckAttempt{{}, {{live_, 99}, {1}}}), RefusalKind::kUnknownTask);
  EXPECT_EQ(kind_of(RedriveDeadLetter{{}, {live_, 0}, nullptr}), RefusalKind::kNoDeadLetter);
  EXPECT_EQ(kind_of(DiscardDeadLetter{{}, {live_, 0}}), RefusalKind::kNoDeadLetter);
}

TEST_F(Refusals, ThingsInTheWrongState) {
  EXPECT_EQ(kind_of(DrainWorker{{}, WorkerId("gone")}), RefusalKind::kWrongState);
  EXPECT_EQ(kind_of(WorkerExited{{}, WorkerId("w"), {6}}), RefusalKind::kWrongState);
  EXPECT_EQ(kind_of(RetryTask{{}, {live_, 0}, nullptr}), RefusalKind::kWrongState);
  EXPECT_EQ(kind_of(RetryTask{{}, {failed_, 0}, nullptr}), RefusalKind::kRunNotLive);
  EXPECT_EQ(kind_of(RedriveDeadLetter{{}, {failed_, 0}, nullptr}), RefusalKind::kRunNotLive);
  const auto other = std::make_shared<const RunImage>(mirror.run_image(failed_));
  EXPECT_EQ(kind_of(RetryTask{{}, {{99}, 0}, other}), RefusalKind::kUnknownTask);
  EXPECT_EQ(kind_of(RetryTask{{}, {failed_, 7}, other}), RefusalKind::kUnknownTask);
}

TEST_F(Refusals, WhatIsEndingTakesNoMore) {
  ignore({EventKind::kRunCancelRequested, EventKind::kTaskCancelled});
  ask_done(CancelRun{{}, live_});
  hands.at("w").stops.clear();
  EXPECT_EQ(kind_of(PauseRun{{}, live_, true}), RefusalKind::kRunEnding);
  EXPECT_EQ(kind_of(RetryTask{{}, {live_, 0}, nullptr}), RefusalKind::kRunEnding);
  EXPECT_EQ(kind_of(CancelTask{{}, {live_, 1}}), RefusalKind::kWrongState);
}

TEST_F(Refusals, LeasesOfOthers) {
  const PartitionKey held{"t", 1};
  const PartitionKey unknown{"t", 2};
  EXPECT_EQ(kind_of(AcquireLease{{}, held, AgentId("thief")}), RefusalKind::kLeaseTaken);
  EXPECT_EQ(kind_of(AcquireLease{{}, held, AgentId("")}), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(AcquireLease{{}, {"", 1}, AgentId("x")}), RefusalKind::kMalformed);
  for (const auto& [key, agent, epoch] :
       {std::tuple{held, "thief", 1u}, std::tuple{held, "holder", 2u},
        std::tuple{unknown, "holder", 1u}, std::tuple{held, "", 1u}}) {
    const AgentId who(agent);
    EXPECT_EQ(kind_of(RenewLease{{}, key, who, {epoch}}), RefusalKind::kLeaseNotHeld);
    EXPECT_EQ(kind_of(ReleaseLease{{}, key, who, {epoch}}), RefusalKind::kLeaseNotHeld);
    EXPECT_EQ(kind_of(CheckLease{{}, key, who, {epoch}}), RefusalKind::kLeaseNotHeld);
  }
}

TEST_F(Refusals, AttemptsOfAnotherEpoch) {
  for (const std::uint64_t epoch : {0u, 2u, 99u}) {
    EXPECT_EQ(kind_of(CheckAttempt{{}, {running_.task, {epoch}}}), RefusalKind::kLeaseNotHeld);
  }
}

TEST_F(Refusals, DagsThatCanNotRun) {
  using F = DagError::Kind;
  EXPECT_EQ(dag_fault(dag({})), F::kEmpty);
  EXPECT_EQ(dag_fault(dag({node("a b")})), F::kBadName);
  EXPECT_EQ(dag_fault(dag({node("a"), node("a")})), F::kDuplicateName);
  EXPECT_EQ(dag_fault(dag({node("a", {"b"})})), F::kUnknownNeed);
  EXPECT_EQ(dag_fault(dag({node("a", {"a"})})), F::kSelfNeed);
  EXPECT_EQ(dag_fault(dag({node("a"), node("b", {"a", "a"})})), F::kDuplicateNeed);
  EXPECT_EQ(dag_fault(dag({node("a", {"b"}), node("b", {"a"})})), F::kCycle);
  EXPECT_EQ(dag_fault(dag({node("a"), node("b", {"a"}), node("c", {"b"}), node("d", {"c"})})),
            F::kTooDeep);
  EXPECT_EQ(dag_fault(dag(std::vector<NodeSpec>(6, node("a")))), F::kTooManyNodes);
  EXPECT_EQ(dag_fault(dag({mapped("m", range(1, 11))})), F::kTooManyTasks);
  EXPECT_EQ(dag_fault(dag({mapped("m", range(1, 10, 0))})), F::kBadValue);
  NodeSpec wrong = node("a");
  wrong.priority = 101;
  EXPECT_EQ(dag_fault(dag({wrong})), F::kBadValue);
  SubmitRun nothing;
  nothing.dag = PlanPtr();
  EXPECT_EQ(kind_of(nothing), RefusalKind::kDagInvalid);
}

TEST_F(Refusals, SubmitsThatContradictThemselves) {
  SubmitRun reused;
  reused.dag = dag({node("something-else")});
  reused.idempotency_key = "key";
  EXPECT_EQ(kind_of(reused), RefusalKind::kKeyReused);
  reused.idempotency_key = std::string(1'000, 'k');
  EXPECT_EQ(kind_of(reused), RefusalKind::kMalformed);
  reused.idempotency_key.clear();
  reused.params = std::string(2 << 20, 'p');
  EXPECT_EQ(kind_of(reused), RefusalKind::kMalformed);
}

TEST_F(Refusals, RegistrationsThatMakeNoSense) {
  const auto with = [](const std::function<void(WorkerInfo&)>& spoil) {
    WorkerInfo info = worker_info("fresh");
    spoil(info);
    return RegisterWorker{{}, info, {1}};
  };
  EXPECT_EQ(kind_of(with([](auto& i) { i.id = WorkerId(); })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.id = WorkerId(std::string(500, 'w')); })),
            RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.machine = MachineId(); })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.slots = 0; })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.slots = 1'000'000; })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.queues.clear(); })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.queues = {"b", "a"}; })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.runtimes = {"b", "a"}; })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.users = {"b", "a"}; })), RefusalKind::kMalformed);
  EXPECT_EQ(kind_of(with([](auto& i) { i.id = WorkerId("w"); })), RefusalKind::kStaleIncarnation);
  EXPECT_EQ(kind_of(with([](auto& i) { i.id = WorkerId("gone"); })),
            RefusalKind::kStaleIncarnation);
  EXPECT_EQ(kind_of(PauseQueue{{}, "", true}), RefusalKind::kMalformed);
}

TEST_F(Refusals, CallsThatAreMalformedOldOrOfAnotherLife) {
  using Why = SyncRefusal::Why;
  EXPECT_EQ(sync_fault([](auto& r) { r.seq = 0; }), Why::kMalformed);
  EXPECT_EQ(sync_fault([](auto& r) { r.slots = 10'000'000; }), Why::kMalformed);
  EXPECT_EQ(sync_fault([](auto& r) { r.wait = millis(-1); }), Why::kMalformed);
  EXPECT_EQ(sync_fault([&](auto& r) { r.held = {{running_, Progress{101, ""}}}; }),
            Why::kMalformed);
  EXPECT_EQ(sync_fault([](auto& r) { r.seq -= 1; }), Why::kOldMessage);
  EXPECT_EQ(sync_fault([](auto& r) { r.worker = WorkerId("nobody"); }), Why::kUnknownWorker);
  EXPECT_EQ(sync_fault([](auto& r) { r.incarnation = {4}; }), Why::kStaleIncarnation);
  EXPECT_EQ(sync_fault([](auto& r) { r.incarnation = {6}; }), Why::kUnknownWorker);
  EXPECT_EQ(sync_fault([](auto& r) {
              r.worker = WorkerId("gone");
              r.incarnation = {1};
            }),
            Why::kSessionEnded);
}

TEST_F(Refusals, HintsAboutStrangersAndFormerLivesAreIgnored) {
  const WorkerId w("w");
  for (const Command& command : std::initializer_list<Command>{
           ConnectionLost{WorkerId("nobody"), {1}, {7}}, ConnectionLost{w, {4}, {7}},
           ConnectionLost{w, {5}, {7}}, ProbeResult{WorkerId("nobody"), {1}, {}},
           ProbeResult{w, {4}, ProbeOutcome::kRefused}, ForgetRun{{77}, "nothing"},
           SelfCheckResult{true}, StoreHealth{true}, Tick{}}) {
    EXPECT_TRUE(refused(command).replies.empty());
  }
  ask_done(WorkerExited{{}, w, {4}});  // proof about an earlier life is old news
  EXPECT_EQ(state_of(hands.at("w")), WorkerState::kRunning);
}

// The last number there is would leave none for the lives to come.
TEST_F(Refusals, AnIncarnationThatWouldBurnTheName) {
  for (const std::uint64_t life :
       {std::uint64_t{1} << 62U, (std::uint64_t{1} << 63U) - 1, ~std::uint64_t{0}}) {
    EXPECT_EQ(kind_of(RegisterWorker{{}, worker_info("w"), {life}}), RefusalKind::kMalformed);
    EXPECT_EQ(kind_of(RegisterWorker{{}, worker_info("new"), {life}}), RefusalKind::kMalformed);
  }
}

class Lives : public LifeTest {
 protected:
  Lives() {
    ignore_comings_and_goings();
    ignore({EventKind::kWorkerFlapping});
  }
  Incarnation joined(std::uint64_t life) {
    return ask<Registered>(RegisterWorker{{}, worker_info("w"), {life}}).incarnation;
  }
};

TEST_F(Lives, AClockOfNanosecondsIsFineAndWhoeverComesAfterItCountsOn) {
  const auto ns = static_cast<std::uint64_t>(now.us) * 1000;
  EXPECT_EQ(joined(ns).value, ns);
  EXPECT_EQ(ask_in_vain(RegisterWorker{{}, worker_info("w"), {ns / 1000}}),
            RefusalKind::kStaleIncarnation);
  EXPECT_EQ(joined(ns + 1).value, ns + 1);
}

TEST_F(Lives, TheHighestThatIsAcceptedStillLeavesRoomForMore) {
  std::uint64_t life = static_cast<std::uint64_t>((now + hours(24 * 366)).us) * 1000;
  EXPECT_EQ(joined(life).value, life);
  EXPECT_EQ(ask_in_vain(RegisterWorker{{}, worker_info("w"), {life + 1'000'001}}),
            RefusalKind::kMalformed);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(joined(++life).value, life);
  EXPECT_EQ(joined(0).value, life + 1) << "the controller chooses one above it";
}

TEST_F(Lives, TheControllerChoosesByItsClock) {
  EXPECT_EQ(joined(0).value, static_cast<std::uint64_t>(now.us));
  EXPECT_EQ(joined(0).value, static_cast<std::uint64_t>(now.us) + 1);
}

class Quotas : public LifeTest {
 protected:
  SubmitRun from(const std::string& token, std::vector<NodeSpec> nodes) {
    SubmitRun command;
    command.dag = dag(std::move(nodes));
    command.submitted_by = token;
    return command;
  }
  RunId taken(const std::string& token, std::vector<NodeSpec> nodes) {
    return ask<RunAccepted>(from(token, std::move(nodes))).run;
  }
  std::string refused(const std::string& token, std::vector<NodeSpec> nodes) {
    const auto refusal = ask<Refusal>(from(token, std::move(nodes)));
    EXPECT_EQ(refusal.kind, RefusalKind::kOverQuota);
    return refusal.detail;
  }
};

TEST_F(Quotas, LiveRunsPerTokenAndInAll) {
  state->policy.quota.runs = policy.quota.runs = 3;
  state->policy.quota_per_token.runs = policy.quota_per_token.runs = 2;
  taken("ann", {node("a")});
  taken("ann", {node("b")});
  EXPECT_EQ(refused("ann", {node("c")}),
            "2 of 2 live runs are in use, and this run needs 1 (quota of token 'ann')");
  taken("bob", {node("a")});
  EXPECT_EQ(refused("bob", {node("b")}),
            "3 of 3 live runs are in use, and this run needs 1 (quota of the whole controller)");
  reload();
  refused("ann", {node("c")});
  Hand& w = join("w");
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  complete(w, take_assignment(w));
  EXPECT_EQ(state->taken, Taken{});
  EXPECT_TRUE(state->taken_by.empty());
  taken("ann", {node("c")});
  EXPECT_EQ(row(RunId{4}).request->submitted_by, "ann");
  complete(w, take_assignment(w));
}

TEST_F(Quotas, TasksAreCountedWithMapsExpanded) {
  state->policy.quota_per_token.tasks = policy.quota_per_token.tasks = 10;
  const RunId run = taken("ann", {mapped("m", range(1, 8))});
  refused("ann", {mapped("m", range(1, 3))});
  taken("ann", {mapped("m", range(1, 2))});
  refused("ann", {node("a")});
  ignore({EventKind::kRunCancelRequested, EventKind::kTaskCancelled});
  ask_done(CancelRun{{}, run});
  taken("ann", {mapped("m", range(1, 8))});
}

TEST_F(Quotas, BytesOfDefinitionsAndParams) {
  state->policy.quota.bytes = policy.quota.bytes = 100'000;
  SubmitRun large = from("", {node("a")});
  large.params = "{\"x\":\"" + std::string(90'000, 'x') + "\"}";
  ask<RunAccepted>(large);
  EXPECT_NE(refused("", {mapped("m", list(std::vector<std::string>(10, std::string(2'000, 'y'))))})
                .find("bytes of definitions and params"),
            std::string::npos);
  taken("", {node("b")});
}

TEST_F(Quotas, AKnownKeyIsAnsweredThoughTheQuotaIsUsedUp) {
  state->policy.quota.runs = policy.quota.runs = 1;
  SubmitRun command = from("ann", {node("a")});
  command.idempotency_key = "k";
  const RunId run = ask<RunAccepted>(command).run;
  EXPECT_EQ(ask<RunAccepted>(command).run, run);
}

}  // namespace
}  // namespace vortex::core
