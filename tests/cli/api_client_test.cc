// How calls are repeated, and what failures become (CONTRACT S05).

#include <gtest/gtest.h>

#include "base/clock.h"
#include "cli/screen/json_view.h"
#include "tests/cli/fake_controller.h"

namespace vortex::cli::test {
namespace {

ApiRequest post() { return {net::Method::kPost, "/api/x", "{}", {}, {}}; }

ApiRequest post_with_key() {
  ApiRequest request = post();
  request.headers.emplace_back("Idempotency-Key", "k");
  return request;
}

TEST(ApiClient, AnswersComeBackParsed) {
  FakeController there([](const net::Request&, std::size_t) {
    return json_response(200, R"({"id":"r1","tasks":3})");
  });
  ApiClient api(quick({there.endpoint()}));
  const auto answer = api.get("/api/runs/r1");
  ASSERT_TRUE(answer);
  EXPECT_EQ(text_at(answer->object(), "id"), "r1");
  EXPECT_EQ(number_at(answer->object(), "tasks"), 3);
}

TEST(ApiClient, S05_GoesToAnotherControllerAtOnceWhenOneIsGone) {
  FakeController there([](const net::Request&, std::size_t) { return json_response(200, "{}"); });
  ApiConfig config = quick({nobody(), there.endpoint()});
  config.first_wait = seconds(60);  // would be noticed
  ApiClient api(config);
  const Instant begin = boot_clock_now();
  EXPECT_TRUE(api.call(post()));  // nothing was sent to the first: safe for any request
  EXPECT_LT(boot_clock_now() - begin, seconds(5));
  EXPECT_TRUE(api.get("/api/again"));  // and it stays with the one that answers
  EXPECT_EQ(there.asked().size(), 2U);
}

TEST(ApiClient, S05_GivesUpAfterThreeRetries) {
  FakeController there(
      [](const net::Request&, std::size_t) { return problem(503, "VX-STORE-001"); });
  ApiClient api(quick({there.endpoint()}));
  const auto answer = api.get("/api/runs");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().exit, ExitCode::kUnreachable);
  EXPECT_EQ(answer.error().code, "VX-STORE-001");
  EXPECT_EQ(there.asked().size(), 4U);
}

TEST(ApiClient, ComesBackAfterBeingBusy) {
  FakeController there([](const net::Request&, std::size_t nth) {
    return nth < 2 ? problem(503, "VX-CTL-002", {{"Retry-After", "3600"}})
                   : json_response(201, "{}");
  });
  ApiClient api(quick({there.endpoint()}));
  // Nothing happened, the code says: also a plain POST may be repeated. Retry-After is bounded.
  EXPECT_TRUE(api.call(post()));
  EXPECT_EQ(there.asked().size(), 3U);
}

TEST(ApiClient, WhatMayHaveHappenedIsNotRepeatedWithoutAKey) {
  const auto unknown = [](const net::Request&, std::size_t nth) {
    return nth == 0 ? problem(503, "VX-STORE-003") : json_response(200, "{}");
  };
  FakeController first(unknown);
  ApiClient plain(quick({first.endpoint()}));
  EXPECT_FALSE(plain.call(post()));
  EXPECT_EQ(first.asked().size(), 1U);
  FakeController second(unknown);
  ApiClient keyed(quick({second.endpoint()}));
  EXPECT_TRUE(keyed.call(post_with_key()));
  EXPECT_EQ(second.asked().size(), 2U);
}

TEST(ApiClient, SlowServersAreLeftInTime) {
  FakeController slow([](const net::Request&, std::size_t) { return json_response(0, ""); });
  FakeController quick_one(
      [](const net::Request&, std::size_t) { return json_response(200, "{}"); });
  ApiConfig config = quick({slow.endpoint(), quick_one.endpoint()});
  config.limit = seconds(3);
  ApiClient api(config);
  EXPECT_TRUE(api.get("/api/runs"));

  ApiConfig alone = quick({slow.endpoint()});
  alone.limit = millis(300);
  ApiClient stuck(alone);
  const Instant begin = boot_clock_now();
  const auto answer = stuck.call(post());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().exit, ExitCode::kUnreachable);
  EXPECT_LT(boot_clock_now() - begin, seconds(5));
  EXPECT_NE(answer.error().help.find("may have taken effect"), std::string::npos);
}

TEST(ApiClient, ARequestThatMustNotBeRepeatedIsNot) {
  FakeController there([](const net::Request&, std::size_t) { return problem(503, "VX-CTL-002"); });
  ApiClient api(quick({there.endpoint()}));
  ApiRequest once;
  once.target = "/health";
  once.repeat = Repeat::kNever;
  EXPECT_FALSE(api.call(once));
  EXPECT_EQ(there.asked().size(), 1U);
}

TEST(ApiClient, ClientMistakesAreNotRepeated) {
  for (const int status : {400, 401, 403, 404, 409, 422, 500}) {
    FakeController there(
        [status](const net::Request&, std::size_t) { return problem(status, "VX-REQ-003"); });
    ApiClient api(quick({there.endpoint()}));
    EXPECT_FALSE(api.get("/api/runs"));
    EXPECT_EQ(there.asked().size(), 1U) << status;
  }
}

TEST(ExitCodes, FollowTheStatus) {
  const std::pair<int, ExitCode> expected[] = {
      {400, ExitCode::kUsage},       {401, ExitCode::kAuth},   {403, ExitCode::kAuth},
      {404, ExitCode::kNotFound},    {405, ExitCode::kFailed}, {409, ExitCode::kConflict},
      {413, ExitCode::kUsage},       {421, ExitCode::kAuth},   {422, ExitCode::kUsage},
      {429, ExitCode::kUnreachable}, {500, ExitCode::kFailed}, {502, ExitCode::kUnreachable},
      {503, ExitCode::kUnreachable},
  };
  for (const auto& [status, code] : expected) EXPECT_EQ(exit_code_of(status, ""), code) << status;
  EXPECT_EQ(exit_code_of(422, "VX-DAG-007"), ExitCode::kInvalid);
  EXPECT_EQ(exit_code_of(422, "VX-RUN-004"), ExitCode::kConflict);
}

TEST(FailureText, ShowsCodePlaceAndHelp) {
  net::Response response = json_response(
      422,
      R"({"code":"VX-DAG-014","title":"The document is not a DAG","detail":"unknown key","hint":"see",)"
      R"("errors":[{"pointer":"/tasks/a/retires","message":"unknown key 'retires'",)"
      R"("help":"did you mean 'retries'?","line":12,"column":5}]})");
  const Failure failure = failure_of(response);
  EXPECT_EQ(failure.exit, ExitCode::kInvalid);
  EXPECT_EQ(failure_text(failure),
            "error[VX-DAG-014]: The document is not a DAG: unknown key\n"
            "  --> /tasks/a/retires (line 12:5): unknown key 'retires'\n"
            "   = help: did you mean 'retries'?\n"
            "  = help: see\n");
}

TEST(FailureText, OthersTextCanNotMoveTheCursor) {
  const Failure failure = failure_of(json_response(404, "not\x1b[2Jours\n"));
  EXPECT_EQ(failure_text(failure).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace vortex::cli::test
