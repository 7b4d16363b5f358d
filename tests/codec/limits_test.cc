// Input that is large or deep on purpose is refused or read, in bounded time and memory.
#include <string>

#include <gtest/gtest.h>

#include "base/text.h"
#include "codec/dag_json.h"
#include "codec/document.h"
#include "codec/sync_json.h"

namespace vortex::codec {
namespace {

constexpr std::size_t kTenMegabytes = 10 * 1024 * 1024;

TEST(Limits, DepthIsBounded) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string bomb;
    while (bomb.size() < kTenMegabytes) bomb += open;
    const auto dag = read_dag(bomb);
    ASSERT_FALSE(dag.has_value());
    EXPECT_NE(dag.error().front().message.find("too deep"), std::string::npos);
    EXPECT_EQ(dag.error().front().line, 1U);
  }
  const std::size_t most = Document::kDepthMax;
  Document just_fits;
  EXPECT_FALSE(just_fits.parse(std::string(most, '[') + std::string(most, ']')).has_value());
  Document one_more;
  EXPECT_TRUE(one_more.parse(std::string(most + 1, '[') + std::string(most + 1, ']')).has_value());
}

TEST(Limits, AVeryLongTextIsQuotedInPart) {
  const std::string text(kTenMegabytes, 'x');
  const auto dag = read_dag(R"({"name":"x","tasks":{"a":{"trigger_rule":")" + text + "\"}}}");
  ASSERT_FALSE(dag.has_value());
  EXPECT_LT(dag.error().front().message.size(), 400U);
  const auto unknown = read_dag("{\"" + text + "\":1}");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_LT(unknown.error().back().message.size(), 400U);
}

TEST(Limits, AVeryLongTextWithEscapesIsRead) {
  std::string text;
  while (text.size() < kTenMegabytes) text += "\\u00e9\\n\\\"xyz";
  Document document;
  ASSERT_FALSE(document.parse("\"" + text + "\"").has_value());
  EXPECT_TRUE(document.text(0).starts_with("é\n\"xyzé"));
}

TEST(Limits, TextsThatBeginWithAnEscapeAreTheirOwn) {
  Document document;
  ASSERT_FALSE(document.parse(R"({"\n1":"\t2","\u0061":"\\3","":"\""})").has_value());
  EXPECT_EQ(document.text(1), "\n1");
  EXPECT_EQ(document.text(2), "\t2");
  EXPECT_EQ(document.text(3), "a");
  EXPECT_EQ(document.text(4), "\\3");
  EXPECT_EQ(document.text(5), "");
  EXPECT_EQ(document.text(6), "\"");
}

TEST(Limits, HugeNumbersAreProblems) {
  const std::string digits(kTenMegabytes, '9');
  for (const std::string& number : {digits, "-" + digits, "0." + digits, digits + "e5"}) {
    const auto call =
        read_sync(R"({"incarnation":1,"slots":1,"seq":)" + number + "}", WorkerId("w"));
    ASSERT_FALSE(call.has_value());
    EXPECT_LT(call.error().front().message.size(), 400U);
  }
  for (const char* number : {"1e400", "1e2147483647", "-1e-2147483648", "1e99999999999999999999"}) {
    EXPECT_FALSE(
        read_sync(R"({"incarnation":1,"slots":1,"seq":)" + std::string(number) + "}", WorkerId("w"))
            .has_value());
  }
}

TEST(Limits, ManyProblemsCostNoMoreThanAFew) {
  std::string env = R"({"name":"x","tasks":{"a":{"env":{)";
  for (int i = 0; i < 300'000; ++i) env += "\"k" + std::to_string(i) + "\":1,";
  env.back() = '}';
  const auto dag = read_dag(env + "}}}");
  ASSERT_FALSE(dag.has_value());
  EXPECT_EQ(dag.error().size(), kProblemsMax);
}

TEST(Limits, ManyValuesAreBounded) {
  std::string many = "[";
  many.reserve(2 * Document::kNodesMax + 4);
  for (std::size_t i = 0; i < Document::kNodesMax; ++i) many += "1,";
  many.back() = ']';
  Document document;
  const auto problem = document.parse(many);
  ASSERT_TRUE(problem.has_value());
  EXPECT_NE(problem->message.find("more than 8000000 values"), std::string::npos);
}

TEST(Limits, ALargeDagIsReadInOrder) {
  std::string large = R"({"name":"x","tasks":{"n0":{})";
  constexpr int kTasks = 50'000;
  for (int i = 1; i < kTasks; ++i) {
    large += ",\"n" + std::to_string(i) + "\":{\"needs\":[\"n" + std::to_string(i - 1) + "\"]}";
  }
  const auto dag = read_dag(large + "}}");
  ASSERT_TRUE(dag.has_value());
  ASSERT_EQ(dag->nodes.size(), static_cast<std::size_t>(kTasks));
  EXPECT_EQ(dag->nodes.back().name, "n49999");
}

// What is told of an end goes into rows, events and the log of everybody.
TEST(Limits, TextsOfReportsAreCutAndSayByHowMuch) {
  std::string text;
  while (text.size() < kTenMegabytes) text += "\xC3\xA9";  // two bytes, cut in no middle
  const std::string call =
      R"({"incarnation":1,"seq":7,"slots":4,"held":[{"task":"r1-L0-0","epoch":1,
    "progress":{"step":")" +
      text + R"("}}],"reports":[
    {"task":"r1-L0-0","epoch":1,"kind":"failed","message":")" +
      text + R"("},
    {"task":"r1-L0-1","epoch":1,"kind":"released","message":")" +
      text + R"("},
    {"task":"r1-L0-2","epoch":1,"kind":"failed","message":")" +
      std::string(kMessageBytesMax, 'm') + R"("}]})";
  const auto read = read_sync(call, WorkerId("w"));
  ASSERT_TRUE(read.has_value());
  const std::string end = " [cut: 10485760 bytes in all]";
  const auto expect_cut = [&](const std::string& told, std::size_t bytes_max) {
    EXPECT_LE(told.size(), bytes_max);
    EXPECT_GE(told.size(), bytes_max - 1);
    EXPECT_TRUE(told.ends_with(end)) << told.substr(told.size() - 40);
    EXPECT_TRUE(is_utf8(told));
  };
  expect_cut(read->held->front().progress->step, kStepBytesMax);
  expect_cut(std::get<Failed>(read->reports[0].body).message, kMessageBytesMax);
  expect_cut(std::get<Released>(read->reports[1].body).message, kMessageBytesMax);
  EXPECT_EQ(std::get<Failed>(read->reports[2].body).message.size(), kMessageBytesMax) << "it fits";
}

TEST(Limits, ListsOfWorkersAreBounded) {
  const auto many = [](std::size_t count, const auto& make) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + make(std::to_string(i));
    return out;
  };
  const auto text = [](const std::string& n) { return "\"n" + n + "\""; };
  const auto pair = [](const std::string& n) { return "\"n" + n + "\":\"v\""; };
  const auto amount = [](const std::string& n) { return "\"n" + n + "\":1"; };
  const auto held = [](const std::string& n) {
    return R"({"task":"r1-L0-)" + n + R"(","epoch":1})";
  };
  const auto refused = [](const std::string& member) {
    const auto read = read_register(R"({"id":"w",)" + member + "}");
    return !read.has_value() && read.error().front().message.find("at most") != std::string::npos;
  };
  EXPECT_TRUE(refused(R"("queues":[)" + many(1001, text) + "]"));
  EXPECT_TRUE(refused(R"("runtimes":[)" + many(1001, text) + "]"));
  EXPECT_TRUE(refused(R"("labels":{)" + many(65, pair) + "}"));
  EXPECT_TRUE(refused(R"("resources":{"named":{)" + many(65, amount) + "}}"));
  EXPECT_FALSE(refused(R"("labels":{)" + many(64, pair) + "}"));
  EXPECT_FALSE(read_register(R"({"id":"w","labels":{"a":")" + std::string(300, 'x') + "\"}}"));
  const std::string too_many = many(500'001, held);
  EXPECT_FALSE(
      read_sync(R"({"incarnation":1,"seq":7,"slots":4,"held":[)" + too_many + "]}", WorkerId("w")));
}

}  // namespace
}  // namespace vortex::codec
