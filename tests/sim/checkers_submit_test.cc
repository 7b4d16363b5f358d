// 1, 2, 26: what a client was told, against what was committed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/checkers_story.h"

namespace vortex::sim {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

core::SubmitRun submit_with(const std::string& key) {
  core::SubmitRun submit;
  submit.dag = dag({node("a")});
  submit.idempotency_key = key;
  return submit;
}

TEST(SubmitChecker, AcknowledgedRunThatIsNotThere) {
  Story s;
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{{7}, false}});
  EXPECT_THAT(s.broken(), ElementsAre("01-submit-kept", "26-ok-is-durable"));
}

TEST(SubmitChecker, RunWrittenOverByAnother) {
  Story s;
  const RunId run = s.submit(dag({node("a")}), "k");
  s.commit();
  s.run(run).created_at = s.now;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("01-submit-kept"));
}

TEST(SubmitChecker, AnswerTooEarlyIsFoundThoughTheCommitFollows) {
  Story s;
  const RunId run = s.submit(dag({node("a")}), "k");
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{run, false}});
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("26-ok-is-durable"));
}

TEST(KeyChecker, TwoRunsForOneKey) {
  Story s;
  s.submit(dag({node("a")}), "k");
  s.submit(dag({node("a")}), "k");
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("02-one-key-one-run"));
}

TEST(KeyChecker, TwoAnswersForOneKey) {
  Story s;
  const RunId run = s.submit(dag({node("a")}), "k");
  const RunId other = s.submit(dag({node("a")}), "other");
  s.commit();
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{run, false}});
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{other, true}});
  EXPECT_THAT(s.broken(), Contains("02-one-key-one-run"));
}

TEST(KeyChecker, SameAnswerTwiceIsClean) {
  Story s;
  const RunId run = s.submit(dag({node("a")}), "k");
  s.submit(dag({node("a")}));
  s.submit(dag({node("a")}));
  s.commit();
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{run, false}});
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{run, true}});
  EXPECT_EQ(s.report(), "");
}

// A run with this key that completed and was forgotten.
RunId forgotten_run(Story& s, const std::string& key) {
  const RunId run = s.submit(dag({node("a")}), key);
  s.queue({run, 0});
  s.commit();
  s.grant({run, 0}, s.join("w1"));
  s.commit();
  s.start({run, 0});
  s.commit();
  s.complete({run, 0});
  s.end_run(run, RunState::kCompleted);
  s.commit();
  s.pass(seconds(1));
  s.forget(run);
  s.commit();
  return run;
}

TEST(KeyChecker, KeyOfAForgottenRunIsFree) {
  Story s;
  const RunId run = forgotten_run(s, "k");
  // Asked while it was there, and told late.
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{run, true}, s.now - seconds(1)});
  const RunId second = s.submit(dag({node("a")}), "k");
  s.commit();
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{second, false}, s.now});
  EXPECT_EQ(s.report(), "");
}

TEST(KeyChecker, KeyThatIsNeverReleased) {
  Story s;
  const RunId run = forgotten_run(s, "k");
  s.pass(seconds(1));
  s.tell(ClientTold{submit_with("k"), core::RunAccepted{run, true}, s.now});
  EXPECT_THAT(s.broken(), ElementsAre("02-one-key-one-run"));
}

TEST(KeyChecker, KeyReleasedWhileItsRunIsKept) {
  Story s;
  forgotten_run(s, "k");
  s.submit(dag({node("a")}), "k");
  s.submit(dag({node("a")}), "k");
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("02-one-key-one-run"));
}

TEST(SubmitChecker, RunForgottenWhileItRuns) {
  Story s;
  const RunId run = s.submit(dag({node("a")}), "k");
  s.commit();
  s.forget(run);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("01-submit-kept"));
}

TEST(SubmitChecker, RowsOfARunThatWasForgotten) {
  Story s;
  const RunId run = forgotten_run(s, "k");
  s.pass(seconds(1));
  s.task({run, 0}).percent = 100;
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("01-submit-kept"));
}

TEST(AnswerChecker, CommandAboutARunThatWasForgotten) {
  Story s;
  core::PauseRun pause;
  pause.run = forgotten_run(s, "k");
  s.pass(seconds(1));
  s.tell(ClientTold{pause, core::Done{}, s.now});
  EXPECT_THAT(s.broken(), ElementsAre("26-nonsense-refused"));
}

TEST(AnswerChecker, RefusedSubmitThatHadAnEffect) {
  Story s;
  s.submit(dag({node("a")}), "k");
  s.commit();
  s.tell(ClientTold{submit_with("k"), core::Refusal{}});
  EXPECT_THAT(s.broken(), ElementsAre("26-ok-is-durable", "34-key-answered"));
}

TEST(AnswerChecker, RefusalBesideDoubtIsClean) {
  Story s;
  s.submit(dag({node("a")}), "k");
  s.commit();
  core::SubmitRun other = submit_with("k");
  other.labels = {{"team", "blue"}};
  s.tell(ClientInDoubt{other});
  s.tell(ClientTold{other, core::Refusal{}});
  EXPECT_EQ(s.report(), "");
}

TEST(AnswerChecker, CancelThatWasNotCommitted) {
  Story s;
  core::CancelRun cancel;
  cancel.run = s.submit(dag({node("a")}));
  s.commit();
  s.tell(ClientTold{cancel, core::Refusal{}});
  EXPECT_THAT(s.broken(), IsEmpty());
  Story t;
  cancel.run = t.submit(dag({node("a")}));
  t.commit();
  t.tell(ClientTold{cancel, core::Done{}});
  EXPECT_THAT(t.broken(), Contains("26-ok-is-durable"));
}

TEST(AnswerChecker, ActsOnTasksThatWereNotCommitted) {
  Story s;
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.commit();
  core::CancelTask cancel;
  cancel.task = id;
  s.tell(ClientTold{cancel, core::Done{}});
  core::RetryTask retry;
  retry.task = id;
  s.tell(ClientTold{retry, core::Done{}});
  core::DiscardDeadLetter discard;
  discard.task = id;
  s.tell(ClientTold{discard, core::Done{}});
  EXPECT_THAT(s.broken(), Contains("26-ok-is-durable"));
  const std::string report = s.report();
  EXPECT_EQ(std::count(report.begin(), report.end(), '\n'), 4);  // 30 speaks of the cancel too
}

TEST(AnswerChecker, WorkerThatWasNotRegistered) {
  Story s;
  core::RegisterWorker command;
  command.info.id = WorkerId("w1");
  command.incarnation = {1};
  s.tell(ClientTold{command, core::Registered{}});
  EXPECT_THAT(s.broken(), ElementsAre("26-ok-is-durable"));
}

TEST(AnswerChecker, ProcessOfAGrantThatWasNotCommitted) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.commit();
  s.grant(id, w);
  s.start_process(id);
  s.commit();
  EXPECT_THAT(s.broken(), ElementsAre("26-ok-is-durable"));
}

TEST(AnswerChecker, AssignmentOfAGrantThatWasNotCommitted) {
  Story s;
  const WorkerId w = s.join("w1");
  const TaskId id{s.submit(dag({node("a")})), 0};
  s.commit();
  core::Sync sync;
  sync.body.seq = 1;
  sync.body.worker = w;
  sync.body.incarnation = {1};
  SyncReply reply;
  reply.assignments.emplace_back().attempt = {id, {1}};
  s.tell(ClientTold{sync, reply});
  EXPECT_THAT(s.broken(), ElementsAre("26-ok-is-durable"));
}

}  // namespace
}  // namespace vortex::sim
