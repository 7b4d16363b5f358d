// What is written can be read, and means the same.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "codec/dag_json.h"
#include "codec/json_writer.h"
#include "codec/sync_json.h"
#include "model/dag.h"
#include "model/plan.h"
#include "tests/codec/drawn.h"

namespace vortex::codec {
namespace {

using testing::drawn_dag;
using testing::drawn_register;
using testing::drawn_reply;
using testing::drawn_request;
using testing::same;

std::string words_of(const Problems& problems) {
  std::string words;
  for (const Problem& p : problems) words += fmt::format("{}: {}\n", p.pointer, p.message);
  return words;
}

RC_GTEST_PROP(RoundTrip, ADagIsReadAsItWasWritten, (std::uint64_t seed)) {
  Rng rng(seed);
  const DagSpec spec = drawn_dag(rng);
  const auto plan = compile(spec, {});
  if (!plan) RC_FAIL(plan.error().node + ": " + plan.error().detail);
  const std::string written = write_dag(spec);
  const auto read = read_dag(written);
  if (!read) RC_FAIL(words_of(read.error()) + written);
  RC_ASSERT(digest_of(*read) == digest_of(spec));
  RC_ASSERT(write_dag(*read) == written);
}

RC_GTEST_PROP(RoundTrip, ARequestIsReadAsItWasWritten, (std::uint64_t seed)) {
  Rng rng(seed);
  const SyncRequest request = drawn_request(rng);
  const std::string written = write_sync(request);
  const auto read = read_sync(written, request.worker);
  if (!read) RC_FAIL(words_of(read.error()) + written);
  if (!same(*read, request)) RC_FAIL(written);
  RC_ASSERT(write_sync(*read) == written);
}

RC_GTEST_PROP(RoundTrip, AReplyIsReadAsItWasWritten, (std::uint64_t seed)) {
  Rng rng(seed);
  const SyncReply reply = drawn_reply(rng);
  const std::string written = write_sync_reply(reply);
  const auto read = read_sync_reply(written);
  if (!read) RC_FAIL(words_of(read.error()) + written);
  if (!same(*read, reply)) RC_FAIL(written);
  RC_ASSERT(write_sync_reply(*read) == written);
}

RC_GTEST_PROP(RoundTrip, ARegistrationIsReadAsItWasWritten, (std::uint64_t seed)) {
  Rng rng(seed);
  const RegisterBody body = drawn_register(rng);
  const std::string written = write_register(body);
  const auto read = read_register(written);
  if (!read) RC_FAIL(words_of(read.error()) + written);
  if (!same(*read, body)) RC_FAIL(written);
}

RC_GTEST_PROP(RoundTrip, ARegisterReplyIsReadAsItWasWritten,
              (std::uint64_t term, std::uint64_t incarnation, std::uint16_t ms)) {
  const RegisterReply reply{.term = {term},
                            .incarnation = {incarnation},
                            .lease = millis(ms),
                            .heartbeat_interval = millis(ms / 3),
                            .self_fence = millis(ms / 2)};
  const auto read = read_register_reply(write_register_reply(reply));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->term == reply.term && read->incarnation == reply.incarnation);
  RC_ASSERT(read->self_fence == reply.self_fence);
  RC_ASSERT(read->lease == reply.lease && read->heartbeat_interval == reply.heartbeat_interval);
}

// What the controller writes from its plan is what order_from says, for every task of every node.
RC_GTEST_PROP(RoundTrip, PlannedWorkArrivesAsItsOrder, (std::uint64_t seed)) {
  Rng rng(seed);
  const auto plan = compile(drawn_dag(rng), {});
  RC_ASSERT(plan.has_value());
  SyncReply reply;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto task = static_cast<std::uint32_t>(rng.below((*plan)->tasks));
    const std::uint32_t node = (*plan)->node_of_task(task);
    Assignment assignment;
    assignment.attempt = {.task = {.run = {i}, .index = task, .level = (*plan)->nodes[node].level},
                          .epoch = {i}};
    assignment.work = PlannedWork{.plan = *plan, .node = node};
    reply.assignments.push_back(assignment);
  }
  const auto read = read_sync_reply(write_sync_reply(reply));
  if (!read) RC_FAIL(words_of(read.error()));
  for (std::size_t i = 0; i < reply.assignments.size(); ++i) {
    const Assignment& sent = reply.assignments[i];
    const WorkOrder order = order_from(std::get<PlannedWork>(sent.work), sent.attempt);
    RC_ASSERT(same(*std::get<OrderPtr>(read->assignments[i].work), order));
  }
}

RC_GTEST_PROP(RoundTrip, NoBytesAreEverTooMuchForTheReaders, (const std::string& bytes)) {
  for (const std::string& text : {bytes, "{" + bytes + "}", "[\"" + bytes + "\"]"}) {
    RC_ASSERT(!read_dag(text).has_value());
    RC_ASSERT(!read_sync(text, WorkerId("w")).has_value());
    RC_ASSERT(!read_register(text).has_value());
    RC_ASSERT(!read_sync_reply(text).has_value());
  }
}

TEST(RoundTrip, EveryReasonOfARefusalHasAWordOfItsOwn) {
  using enum SyncRefusal::Why;
  for (const auto why :
       {kUnknownWorker, kStaleIncarnation, kSessionEnded, kOldMessage, kMalformed}) {
    EXPECT_EQ(from_text<SyncRefusal::Why>(to_text(why)), why);
  }
  EXPECT_EQ(from_text<SyncRefusal::Why>("nonsense"), std::nullopt);
}

TEST(RoundTrip, PassedObjectsAreKeptInCompactForm) {
  EXPECT_EQ(compact_object(" {\"b\" : [ 1.50 , -0, true ],\n\"a\":{ } } "),
            R"({"b":[1.50,-0,true],"a":{}})");
  EXPECT_EQ(compact_object(R"({"a":"\u00e9\n\/"})"), "{\"a\":\"é\\n/\"}");
  EXPECT_FALSE(compact_object("[1]").has_value());
  EXPECT_FALSE(compact_object(R"({"a":{"x":1,"x":2}})").has_value());
  const std::string deep =
      "{\"a\":" + std::string(kPassedDepthMax, '[') + std::string(kPassedDepthMax, ']') + "}";
  EXPECT_FALSE(compact_object(deep).has_value());
}

}  // namespace
}  // namespace vortex::codec
