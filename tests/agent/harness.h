#pragma once
// A shell for the agent that a test drives by hand: it records every output, and every output must
// be accounted for by the end of the test.

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "agent/agent.h"

namespace vortex::agent {

constexpr Duration kBeat = seconds(10);   // H of the tests
constexpr Duration kFence = seconds(40);  // F of the tests
constexpr Duration kLease = seconds(60);  // L of the tests

AgentConfig test_config();
Attempt attempt(std::uint32_t task, std::uint64_t epoch = 1);
Assignment assignment(Attempt attempt, Duration execution_timeout = Duration{});

class Harness : public testing::Test {
 protected:
  Harness() : Harness(test_config()) {}
  explicit Harness(AgentConfig config) : agent(std::move(config)) {}
  void TearDown() override;

  void feed(Input input);
  // Time passes as for a healthy shell: the agent is woken when it wants to be.
  void advance(Duration duration);
  // Time passes without the agent: it was not given the processor.
  void vanish(Duration duration) { now = now + duration; }

  template <class Wanted>
  Wanted expect() {
    if (out.empty() || !std::holds_alternative<Wanted>(out.front())) {
      ADD_FAILURE() << "the next of " << out.size() << " outputs is of another kind";
      return Wanted{};
    }
    Wanted wanted = std::get<Wanted>(std::move(out.front()));
    out.pop_front();
    return wanted;
  }
  SendSync expect_sync(Channel channel);
  SendSync expect_poll() { return expect_sync(Channel::kPoll); }
  SendSync expect_report() { return expect_sync(Channel::kReport); }
  // Of a call that it gave up together with its session.
  void expect_hang_up(const SendSync& call) {
    const auto hang_up = expect<HangUp>();
    EXPECT_EQ(hang_up.call, call.call);
    EXPECT_EQ(hang_up.channel, call.channel);
    EXPECT_EQ(hang_up.controller, call.controller);
  }
  // A report call that carries exactly one report, of this kind and about this attempt.
  template <class Body>
  SendSync expect_report_of(Attempt attempt) {
    SendSync sent = expect_report();
    EXPECT_EQ(sent.request.reports.size(), 1u);
    if (sent.request.reports.size() == 1) {
      EXPECT_EQ(sent.request.reports[0].attempt, attempt);
      EXPECT_TRUE(std::holds_alternative<Body>(sent.request.reports[0].body));
    }
    return sent;
  }
  SendSync expect_release_of(Attempt attempt, Released::Cause cause);
  void expect_kill(Attempt attempt, KillWhy why);
  void expect_start(Attempt attempt);
  void expect_exit(Exit::How how);
  void expect_nothing() { EXPECT_TRUE(out.empty()) << out.size() << " outputs are left"; }

  // A reply with the next mark; everything sent so far is seen.
  SyncReply reply();
  void answer(const SendSync& call, SyncReply reply) {
    feed(SyncAnswer{call.call, std::move(reply)});
  }
  void answer(const SendSync& call) { answer(call, reply()); }
  void refuse(const SendSync& call, SyncRefusal::Why why) {
    feed(SyncAnswer{call.call, SyncRefusal{why, {}}});
  }
  void fail(const SendSync& call) { feed(CallFailed{call.call, {}, {}}); }

  void accept(const SendRegister& call) {
    feed(RegisterAnswer{call.call, RegisterAccepted{term, kLease}});
  }
  // Registered, with the first poll parked.
  void join();
  // An attempt is handed out with the parked poll and started; its Started report is acknowledged.
  void run_task(Attempt attempt, Duration execution_timeout = Duration{});
  void assign(Attempt attempt, Duration execution_timeout = Duration{});

  Agent agent;
  Instant now{seconds(1000).us};
  std::deque<Output> out;
  SendSync poll;  // the one parked by join, run_task and assign
  Term term{1};
  std::uint64_t replies = 0;
  std::uint64_t seq_sent = 0;
};

}  // namespace vortex::agent
