#include "tests/agent/harness.h"

#include <algorithm>

namespace vortex::agent {

AgentConfig test_config() {
  AgentConfig config;
  config.info.id = WorkerId{"w1"};
  config.info.slots = 4;
  config.incarnation = Incarnation{7};
  config.heartbeat_interval = kBeat;
  config.self_fence = kFence;
  return config;
}

Attempt attempt(std::uint32_t task, std::uint64_t epoch) {
  return {.task = {.run = RunId{1}, .index = task}, .epoch = Epoch{epoch}};
}

Assignment assignment(Attempt attempt, Duration execution_timeout) {
  Assignment assignment;
  assignment.attempt = attempt;
  assignment.execution_timeout = execution_timeout;
  return assignment;
}

void Harness::TearDown() { expect_nothing(); }

void Harness::feed(Input input) {
  for (Output& output : agent.on(std::move(input), now)) {
    if (const auto* sync = std::get_if<SendSync>(&output)) {
      EXPECT_GT(sync->request.seq, seq_sent) << "every send has a new, higher seq";
      seq_sent = sync->request.seq;
    }
    out.push_back(std::move(output));
  }
  EXPECT_GT(agent.next_wake(), now) << "the agent would spin";
}

void Harness::advance(Duration duration) {
  const Instant until = now + duration;
  while (now < until) {
    now = std::min(until, agent.next_wake());
    feed(Tick{});
  }
}

SendSync Harness::expect_sync(Channel channel) {
  SendSync sent = expect<SendSync>();
  EXPECT_EQ(sent.channel, channel);
  EXPECT_LT(sent.time_limit, kFence);
  return sent;
}

SendSync Harness::expect_release_of(Attempt attempt, Released::Cause cause) {
  SendSync sent = expect_report_of<Released>(attempt);
  if (sent.request.reports.size() == 1) {
    const auto* released = std::get_if<Released>(&sent.request.reports[0].body);
    EXPECT_TRUE(released != nullptr && released->cause == cause);
  }
  return sent;
}

void Harness::expect_kill(Attempt attempt, KillWhy why) {
  const auto killed = expect<KillProcess>();
  EXPECT_EQ(killed.attempt, attempt);
  EXPECT_EQ(killed.why, why);
}

void Harness::expect_start(Attempt attempt) {
  EXPECT_EQ(expect<StartProcess>().assignment.attempt, attempt);
}

void Harness::expect_exit(Exit::How how) {
  EXPECT_EQ(expect<Exit>().how, how);
  EXPECT_TRUE(agent.exited());
  EXPECT_EQ(agent.next_wake(), kNever);
}

SyncReply Harness::reply() {
  SyncReply reply;
  reply.mark = {.term = term, .reply = ++replies};
  reply.seq_seen = seq_sent;
  reply.lease = kLease;
  return reply;
}

void Harness::join() {
  feed(Start{});
  accept(expect<SendRegister>());
  poll = expect_poll();
}

void Harness::assign(Attempt attempt, Duration execution_timeout) {
  SyncReply given = reply();
  given.assignments.push_back(assignment(attempt, execution_timeout));
  answer(poll, given);
  expect_start(attempt);
  poll = expect_poll();
}

void Harness::run_task(Attempt attempt, Duration execution_timeout) {
  assign(attempt, execution_timeout);
  feed(ProcessStarted{attempt});
  answer(expect_report_of<Started>(attempt));
}

}  // namespace vortex::agent
