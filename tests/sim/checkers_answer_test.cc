// 26: answers to fence checks, uploads, journals and nonsense, against what was committed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const TaskId kTask{{1}, 0, 0};
const core::CheckpointClaim kClaim{WorkerId("w"), {1}, {kTask, {1}}};

std::set<std::string> broken_by(core::Command command, core::ReplyBody answer) {
  Story s;
  s.submit(dag({node("a")}), "k");
  s.commit();
  s.tell(ClientTold{std::move(command), std::move(answer)});
  return s.broken();
}

TEST(AnswerChecker, OkThatNoCommitBears) {
  const core::Command commands[] = {
      core::CheckAttempt{{}, {kTask, {1}}}, core::KeepCheckpoint{{}, kClaim, {5, 10}},
      core::TellLifecycle{{}, "m/w", "j", {{1, EventKind::kWorkerSpawn, WorkerId("w"), {1}, {}}}},
      core::DrainWorker{{}, WorkerId("w"), {}}, core::DeleteWorker{{}, WorkerId("w")}};
  for (const core::Command& command : commands) {
    EXPECT_THAT(broken_by(command, core::Done{}), ElementsAre("26-ok-is-durable"))
        << command.index();
    EXPECT_THAT(broken_by(command, core::Refusal{}), IsEmpty()) << command.index();
  }
}

TEST(AnswerChecker, LeaseThatNobodyWasGiven) {
  const core::CheckLease check{{}, {"orders", 1}, AgentId("a"), {1}};
  EXPECT_THAT(broken_by(check, core::LeaseGranted{{1}, {5}}),
              ElementsAre("26-nonsense-refused", "26-ok-is-durable"));
}

TEST(AnswerChecker, OkThatACommitBearsIsClean) {
  Story s;
  s.submit(dag({node("a")}), "k");
  Committed commit{{1}, s.now, {}, {}};
  commit.rows.task_data.push_back({.id = kTask, .epoch = {1}, .uploaded = CheckpointRef{5, 10}});
  commit.rows.journals.push_back({"m/w", "j", 3, {}, false});
  commit.rows.workers_gone.emplace_back("w");
  s.commit();
  s.tell(commit);
  s.tell(ClientTold{core::KeepCheckpoint{{}, kClaim, {5, 10}}, core::Done{}});
  s.tell(ClientTold{
      core::TellLifecycle{{}, "m/w", "j", {{3, EventKind::kWorkerSpawn, WorkerId("w"), {1}, {}}}},
      core::Done{}});
  s.tell(ClientTold{core::DeleteWorker{{}, WorkerId("w")}, core::Done{}});
  EXPECT_THAT(s.broken(), IsEmpty());
}

TEST(SessionChecker, WordsWithASessionThatTheWorkerNeverHad) {
  const auto broken = [](const core::Command& command, const core::ReplyBody& answer) {
    Story s;
    s.join("w1");
    s.commit();
    s.tell(ClientTold{command, answer});
    return s.broken();
  };
  SyncRequest request;
  request.worker = WorkerId("w1");
  request.incarnation = {1};
  request.seq = 1;
  const core::WorkerExited exited{{}, WorkerId("w1"), {1}, {}, {}, {}, "guess"};
  EXPECT_THAT(broken(core::Sync{{}, request, "guess"}, SyncReply{}),
              ElementsAre("49-sessions-kept"));
  EXPECT_THAT(broken(core::Sync{{}, request, "guess"}, SyncRefusal{}), IsEmpty());
  EXPECT_THAT(broken(core::Sync{{}, request}, SyncReply{}), IsEmpty()) << "its own";
  EXPECT_THAT(broken(exited, core::Done{}), ::testing::Contains("49-sessions-kept"));
  EXPECT_THAT(broken(exited, core::Refusal{}), IsEmpty());
}

TEST(AnswerChecker, NonsenseThatWasAccepted) {
  WorkerInfo odd;
  odd.id = WorkerId("w");
  odd.slots = 0;
  core::SubmitRun wrong;
  wrong.dag = dag({node("a", {"nobody"})});
  wrong.idempotency_key = "k";
  const core::Command commands[] = {core::PauseRun{{}, {99}, true}, core::PauseQueue{{}, "", true},
                                    core::Sync{{}, {}},
                                    core::CordonWorker{{}, WorkerId("w"), true}};
  EXPECT_THAT(broken_by(commands[0], core::Done{}), ElementsAre("26-nonsense-refused"));
  EXPECT_THAT(broken_by(commands[1], core::Done{}), ElementsAre("26-nonsense-refused"));
  EXPECT_THAT(broken_by(commands[2], SyncReply{}), ElementsAre("26-nonsense-refused"));
  EXPECT_THAT(broken_by(commands[2], SyncRefusal{}), IsEmpty());
  EXPECT_THAT(broken_by(commands[3], core::Done{}), IsEmpty());
  EXPECT_THAT(broken_by(wrong, core::RunAccepted{{1}, false}), ElementsAre("26-nonsense-refused"));
  EXPECT_THAT(broken_by(core::RegisterWorker{{}, odd, {1}}, core::Registered{}),
              ElementsAre("26-nonsense-refused", "26-ok-is-durable"));
  odd.slots = 1;
  const core::RegisterWorker burning{{}, odd, {std::numeric_limits<std::int64_t>::max()}};
  EXPECT_THAT(broken_by(burning, core::Registered{}),
              ElementsAre("26-nonsense-refused", "26-ok-is-durable"));
}

}  // namespace
}  // namespace vortex::sim
