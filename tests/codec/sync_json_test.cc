#include "codec/sync_json.h"

#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "model/plan.h"
#include "model/rows.h"
#include "tests/codec/bad_documents.h"

namespace vortex::codec {
namespace {

using testing::BadDocument;
using testing::expect_refused;

Decoded<SyncRequest> read_call(std::string_view json) { return read_sync(json, WorkerId("w1")); }

TEST(SyncJson, TheLeastThatIsACall) {
  const auto call = read_call(R"({"incarnation":1,"seq":7,"slots":4})");
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->worker, WorkerId("w1"));
  EXPECT_EQ(call->incarnation, Incarnation{1});
  EXPECT_EQ(call->seq, 7U);
  EXPECT_EQ(call->slots, 4U);
  EXPECT_FALSE(call->held.has_value()) << "it says nothing about what is held";
  EXPECT_EQ(call->leaving, Leaving::kNo);
  EXPECT_EQ(call->wait, Duration{});
}

TEST(SyncJson, HoldingNothingIsNotSayingNothing) {
  const auto call = read_call(R"({"incarnation":1,"seq":7,"slots":4,"held":[]})");
  ASSERT_TRUE(call.has_value());
  ASSERT_TRUE(call->held.has_value());
  EXPECT_TRUE(call->held->empty());
}

TEST(SyncJson, EveryReportIsRead) {
  const auto call = read_call(R"({"seq":7,"incarnation":1,"slots":4,
    "ack":{"term":1,"reply":3},"leaving":"draining","wait_ms":5000,"worker_clock_us":-5,
    "held":[{"task":"r1-L2-3","epoch":2,"progress":{"percent":65,"step":"running_tests"}},
            {"task":"r1-L2-4","epoch":1}],
    "reports":[
      {"task":"r1-L0-0","epoch":2,"kind":"started"},
      {"kind":"checkpoint","task":"r1-L0-0","epoch":2,"data":"half"},
      {"kind":"checkpoint","task":"r1-L0-0","epoch":2,"data_base64":"/w=="},
      {"outputs":{ "files" : ["a"] },"task":"r1-L0-0","epoch":2,"kind":"completed"},
      {"task":"r1-L0-1","epoch":2,"kind":"failed","cause":"signal","code":9,"message":"killed"},
      {"task":"r1-L0-2","epoch":2,"kind":"failed"},
      {"task":"r1-L0-3","epoch":2,"kind":"released","cause":"self_fenced"},
      {"task":"r1-L0-4","epoch":2,"kind":"timed_out"}]})");
  ASSERT_TRUE(call.has_value()) << call.error().front().message;
  EXPECT_EQ(call->ack, (ReplyMark{.term = {1}, .reply = 3}));
  EXPECT_EQ(call->leaving, Leaving::kDraining);
  EXPECT_EQ(call->wait, seconds(5));
  EXPECT_EQ(call->worker_clock, Instant{-5});
  ASSERT_EQ(call->held->size(), 2U);
  EXPECT_EQ((*call->held)[0].attempt.task.level, 2U);
  EXPECT_EQ((*call->held)[0].progress, (Progress{65, "running_tests"}));
  EXPECT_FALSE((*call->held)[1].progress.has_value());
  ASSERT_EQ(call->reports.size(), 8U);
  EXPECT_EQ(call->reports[0].attempt,
            (Attempt{.task = {.run = {1}, .index = 0, .level = 0}, .epoch = {2}}));
  EXPECT_EQ(std::get<Checkpoint>(call->reports[1].body).data, "half");
  EXPECT_EQ(std::get<Checkpoint>(call->reports[2].body).data, "\xFF");
  EXPECT_EQ(std::get<Completed>(call->reports[3].body).outputs, R"({"files":["a"]})");
  EXPECT_EQ(std::get<Failed>(call->reports[4].body).cause, Failed::Cause::kSignal);
  EXPECT_EQ(std::get<Failed>(call->reports[4].body).code, 9);
  EXPECT_EQ(std::get<Failed>(call->reports[5].body).code, 1);
  EXPECT_EQ(std::get<Released>(call->reports[6].body).cause, Released::Cause::kSelfFenced);
  EXPECT_TRUE(std::holds_alternative<TimedOut>(call->reports[7].body));
}

TEST(SyncJson, WhatIsUnknownIsIgnoredAndNullIsNotGiven) {
  const auto call = read_call(R"({"incarnation":1,"seq":7,"slots":4,"held":null,"ack":null,
    "new":{"x":[1,2,{"x":1,"x":2}]},
    "reports":[{"task":"r1-L0-0","epoch":2,"kind":"started","new":1,"new":2,"outputs":null}]})");
  ASSERT_TRUE(call.has_value()) << call.error().front().message;
  EXPECT_FALSE(call->held.has_value());
  EXPECT_EQ(call->reports.size(), 1U);
  EXPECT_TRUE(read_register(R"({"id":"w1","colour":"red"})").has_value());
  EXPECT_TRUE(read_sync_reply(R"({"mark":{"x":1},"seq_seen":0,"lease_ms":1,"y":[]})").has_value());
}

// The start of a call; what follows begins in column 37.
std::string call_with(std::string_view members) {
  return R"({"incarnation":1,"seq":7,"slots":4, )" + std::string(members) + "}";
}

TEST(SyncJson, BadCallsAreRefusedAtTheirPlace) {
  const BadDocument kBad[] = {
      {"{}", "", 1, 1, "the document has no 'incarnation'"},
      {"{}", "", 1, 1, "the document has no 'seq'"},
      {R"({"incarnation":1,"seq":null,"slots":4})", "", 1, 1, "the document has no 'seq'"},
      {R"({"incarnation":1,"seq":7.0,"slots":4})", "/seq", 1, 24,
       "'seq' is 7.0; it must be a whole"},
      {R"({"incarnation":1,"seq":-7,"slots":4})", "/seq", 1, 24,
       "'seq' is -7; the allowed range is 0 to"},
      {R"({"incarnation":1,"seq":7,"slots":4294967296})", "/slots", 1, 34, "0 to 4294967295"},
      {call_with(R"("seq":8)"), "/seq", 1, 37, "key 'seq' is given twice"},
      {call_with(R"("leaving":"nope")"), "/leaving", 1, 47, "one of no, draining, gone"},
      {call_with(R"("held":{})"), "/held", 1, 44, "'held' is an object; it must be a list"},
      {call_with(R"("held":[{"task":"r1-L0","epoch":1}])"), "/held/0/task", 1, 53,
       "'task' is 'r1-L0'; it must be the id of a task"},
      {call_with(R"("held":[{"task":"r1-L0-0"}])"), "/held/0", 1, 45,
       "item 1 of 'held' has no 'epoch'"},
      {call_with(R"("held":[{"task":"r1-L0-0","epoch":1,"progress":{"percent":101}}])"),
       "/held/0/progress/percent", 1, 95, "0 to 100"},
      {call_with(R"("reports":[{"task":"r1-L0-0","epoch":1,"kind":"finished"}])"),
       "/reports/0/kind", 1, 83, "'kind' is 'finished'; it must be one of started"},
      {call_with(R"("reports":[{"task":"r1-L0-0","epoch":1,"kind":"complete"}])"),
       "/reports/0/kind", 1, 83, "", "did you mean 'completed'?"},
      {call_with(R"("reports":[{"task":"r1-L0-0","epoch":1,"kind":"completed","outputs":[]}])"),
       "/reports/0/outputs", 1, 105, "it must be an object"},
      {call_with(R"("reports":[{"task":"r1-L0-0","epoch":1,"kind":"failed","code":9999999999}])"),
       "/reports/0/code", 1, 99, "the allowed range is"},
      {call_with(
           R"("reports":[{"task":"r1-L0-0","epoch":1,"kind":"checkpoint","data_base64":"?"}])"),
       "/reports/0/data_base64", 1, 110, "base64"},
      {call_with(R"("wait_ms":-1)"), "/wait_ms", 1, 47, "the allowed range is 0 to"},
  };
  for (const BadDocument& bad : kBad) expect_refused(bad, read_call);
}

TEST(RegisterJson, OnlyTheIdIsRequired) {
  const auto body = read_register(R"({"id":"w1"})");
  ASSERT_TRUE(body.has_value());
  WorkerInfo expected;
  expected.id = WorkerId("w1");
  expected.machine = MachineId("w1");
  expected.queues = {"default"};
  expected.slots = 1;
  EXPECT_EQ(body->info, expected);
  EXPECT_EQ(body->incarnation, Incarnation{});
}

TEST(RegisterJson, EveryFieldFindsItsPlace) {
  const auto body =
      read_register(R"({"id":"w1","machine":"m1","name":"n","address":"h:1","zone":"z",
    "group":"g","version":"1.0","metadata":{ "rack": 7 },"queues":["b","a"],
    "labels":{"y":"2","x":"1"},"runtimes":["python","node"],"users":["deploy","build"],"slots":4,
    "resources":{"cpu":8,"memory":"16GiB","named":{"gpu":2}},"incarnation":123})");
  ASSERT_TRUE(body.has_value()) << body.error().front().message;
  EXPECT_EQ(body->info.machine, MachineId("m1"));
  EXPECT_EQ(body->info.name + body->info.address + body->info.zone, "nh:1z");
  EXPECT_EQ(body->info.group + body->info.version, "g1.0");
  EXPECT_EQ(body->info.metadata, R"({"rack":7})");
  EXPECT_EQ(body->info.queues, (std::vector<std::string>{"a", "b"})) << "sorted";
  EXPECT_EQ(body->info.labels, (Labels{{"x", "1"}, {"y", "2"}}));
  EXPECT_EQ(body->info.runtimes, (std::vector<std::string>{"node", "python"}));
  EXPECT_EQ(body->info.users, (std::vector<std::string>{"build", "deploy"}));
  EXPECT_EQ(body->info.slots, 4U);
  EXPECT_EQ(body->info.resources,
            (Resources{.cpu_milli = 8'000, .memory_bytes = 16LL << 30, .named = {{"gpu", 2}}}));
  EXPECT_EQ(body->incarnation, Incarnation{123});
}

TEST(RegisterJson, BadRegistrationsAreRefusedAtTheirPlace) {
  const BadDocument kBad[] = {
      {"{}", "", 1, 1, "the document has no 'id'"},
      {R"({"id":""})", "/id", 1, 7, "'id' is empty"},
      {R"({"id":7})", "/id", 1, 7, "'id' is 7; it must be a string"},
      {R"({"id":"a\nb"})", "/id", 1, 7, "'id' 'a\\x0ab' contains a control character"},
      {R"({"id":"w","queues":[]})", "/queues", 1, 20, "'queues' is empty"},
      {R"({"id":"w","queues":["a","a"]})", "/queues", 1, 20, "'a' is given twice"},
      {R"({"id":"w","queues":["a b"]})", "/queues", 1, 20, "queue 'a b' may contain only"},
      {R"({"id":"w","runtimes":[""]})", "/runtimes", 1, 22, "runtime is empty"},
      {R"({"id":"w","users":["a b"]})", "/users", 1, 19, "user 'a b' may contain only"},
      {R"({"id":"w","labels":{"a":"1","a":"2"}})", "/labels/a", 1, 29, "given twice"},
      {R"({"id":"w","labels":{"a":"\u202eb"}})", "/labels/a", 1, 25,
       "changes the direction of text"},
      {R"({"id":"w","labels":{"a\u009b":"b"}})", "/labels/a\xc2\x9b", 1, 31,
       "contains a control character"},
      {R"({"id":"w\u202e"})", "/id", 1, 7, "changes the direction of text (<U+202E>)"},
      {R"({"id":"w","zone":"\u009b2J"})", "/zone", 1, 18, "contains a control character"},
      {R"({"id":"w","metadata":7})", "/metadata", 1, 22, "a string or an object"},
      {R"({"id":"w","slots":"4"})", "/slots", 1, 19, "whole number"},
  };
  for (const BadDocument& bad : kBad) expect_refused(bad, read_register);
  const std::string large = R"({"id":"w","metadata":")" + std::string(70'000, 'x') + "\"}";
  expect_refused({large, "/metadata", 1, 22, "at most 65536"}, read_register);
}

SyncReply reply_for_map() {
  DagSpec spec;
  spec.name = "thumbs";
  spec.nodes.resize(2);
  spec.nodes[0].name = "list";
  spec.nodes[1].name = "resize";
  spec.nodes[1].map = MapSpec{
      .over = std::vector<std::string>{"a.jpg", "b.jpg"}, .max_parallel = 0, .max_failures = {}};
  spec.nodes[1].command.argv = {"convert"};
  const PlanPtr plan = *compile(spec, {});
  SyncReply reply;
  reply.mark = {.term = {1}, .reply = 3};
  reply.seq_seen = 7;
  reply.lease = micros(59'999'001);
  for (std::uint32_t i = 1; i < 3; ++i) {
    reply.assignments.push_back({.attempt = {{.run = {1}, .index = i, .level = 0}, {i}},
                                 .number = 1,
                                 .work = PlannedWork{plan, 1},
                                 .execution_timeout = seconds(5),
                                 .checkpoint = i == 2 ? "\xFF" : "",
                                 .kill_grace = {}});
  }
  return reply;
}

TEST(SyncReplyJson, IsWrittenWithoutEmptyMembers) {
  SyncReply reply = reply_for_map();
  EXPECT_EQ(write_sync_reply(reply),
            R"({"mark":{"term":1,"reply":3},"seq_seen":7,"lease_ms":60000,"assignments":[)"
            R"({"task":"r1-L0-1","epoch":1,"attempt":1,"name":"resize","dag":"thumbs",)"
            R"("run":["convert"],"map":{"index":0,"item":"a.jpg"},"timeout_ms":5000},)"
            R"({"task":"r1-L0-2","epoch":2,"attempt":1,"name":"resize","dag":"thumbs",)"
            R"("run":["convert"],"map":{"index":1,"item":"b.jpg"},"timeout_ms":5000,)"
            R"("checkpoint_base64":"/w=="}]})");
  reply.assignments.clear();
  reply.stops.push_back(
      {.attempt = {{.run = {1}, .index = 2, .level = 0}, {5}}, .why = StopOrder::Why::kStale});
  reply.stale.push_back({{.run = {1}, .index = 3, .level = 1}, {6}});
  EXPECT_EQ(write_sync_reply(reply),
            R"({"mark":{"term":1,"reply":3},"seq_seen":7,"lease_ms":60000,)"
            R"("stops":[{"task":"r1-L0-2","epoch":5,"why":"stale"}],)"
            R"("stale":[{"task":"r1-L1-3","epoch":6}]})");
}

TEST(SyncReplyJson, AResolvedCommandIsItsOwnAndAShellStandsInFrontOfItsScript) {
  SyncReply reply = reply_for_map();
  auto command = std::make_shared<CommandLine>();
  command->shell = {"bash", "-euc"};
  command->argv = {"echo \"$1\"", "a b"};
  command->env = {{"N", "1"}};
  command->workdir = "/srv";
  std::get<PlannedWork>(reply.assignments[0].work).command = command;
  reply.assignments[0].kill_grace = seconds(3);
  const std::string written = write_sync_reply(reply);
  EXPECT_NE(written.find(R"("run":["bash","-euc","echo \"$1\"","a b"],"env":{"N":"1"},)"
                         R"("workdir":"/srv","map":{"index":0,"item":"a.jpg"},"timeout_ms":5000,)"
                         R"("kill_grace_ms":3000)"),
            written.npos)
      << written;
  EXPECT_NE(written.find(R"("run":["convert"],"map":{"index":1,"item":"b.jpg"})"), written.npos)
      << "the other task of the node has the command of the plan: " << written;
  const auto read = read_sync_reply(written);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<OrderPtr>(read->assignments[0].work)->command.argv,
            (std::vector<std::string>{"bash", "-euc", "echo \"$1\"", "a b"}));
}

TEST(SyncReplyJson, AFullAnswerTellsHowManyAssignmentsItCarries) {
  SyncReply reply = reply_for_map();
  EXPECT_EQ(write_bounded_reply(reply).assignments, 2U);
  const WrittenReply full = write_bounded_reply(reply, 10);
  EXPECT_EQ(full.assignments, 1U) << "one always goes";
  const auto read = read_sync_reply(full.json);
  ASSERT_TRUE(read) << full.json;
  EXPECT_EQ(read->assignments.size(), 1U);
}

TEST(SyncReplyJson, BadRepliesAreRefusedAtTheirPlace) {
  const BadDocument kBad[] = {
      {"{}", "", 1, 1, "the document has no 'mark'"},
      {R"({"mark":{},"seq_seen":0,"lease_ms":99999999999999999})", "/lease_ms", 1, 36,
       "the allowed range is"},
      {R"({"mark":{},"seq_seen":0,"lease_ms":1,"assignments":[{"task":"r1-L0-0","epoch":1,"run":"x"}]})",
       "/assignments/0/run", 1, 87, "must be a list"},
      {R"({"mark":{},"seq_seen":0,"lease_ms":1,"stops":[{"task":"r1-L0-0","epoch":1,"why":"x"}]})",
       "/stops/0/why", 1, 81, "one of cancelled"},
      {R"({"mark":{},"seq_seen":0,"lease_ms":1,"stale":["r1-L0-0"]})", "/stale/0", 1, 47,
       "item 1 of 'stale' is 'r1-L0-0'; it must be an object"},
  };
  for (const BadDocument& bad : kBad) expect_refused(bad, read_sync_reply);
}

}  // namespace
}  // namespace vortex::codec
