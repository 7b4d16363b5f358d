// Webhooks of a whole controller: made over HTTP, told over HTTP, kept in a real database (A09).

#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/controller/receiver.h"
#include "tests/controller/server.h"

namespace vortex::controller {
namespace {

namespace json = boost::json;

// A receiver on a thread of its own.
class Mailbox {
 public:
  Mailbox() : work_(boost::asio::make_work_guard(io_)), receiver_(io_) {
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Mailbox() {
    io_.stop();
    thread_.join();
  }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  TestReceiver& receiver() { return receiver_; }
  // The bodies, when there are this many.
  std::vector<json::value> wait_for(std::size_t many) {
    const Instant limit = boot_clock_now() + seconds(30);
    while (receiver_.told().size() < many && boot_clock_now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::vector<json::value> bodies;
    for (const Told& told : receiver_.told()) bodies.push_back(json::parse(told.body));
    EXPECT_GE(bodies.size(), many);
    bodies.resize(std::max(bodies.size(), many));
    return bodies;
  }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  TestReceiver receiver_;
  std::thread thread_;
};

// Receivers of tests are on loopback, which webhooks may not reach by themselves.
TestServer::Options reaching_loopback() {
  return {.flags = {"--tuning=testing", "--controller.webhook-networks=127.0.0.1"}};
}

std::string make(TestServer& server, Mailbox& box, const std::string& more = {}) {
  const auto made = server.post(
      "/api/webhooks", fmt::format(R"({{"name":"ci","url":"{}"{}}})", box.receiver().url(), more));
  EXPECT_EQ(made.status, 201) << made.text;
  return made.text;
}

std::string text_at(const json::value& from, const char* pointer) {
  boost::system::error_code none;
  const json::value* found = from.find_pointer(pointer, none);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

void finish_one(TestWorker& worker, const char* how, const std::string& more = {}) {
  const auto given = worker.take();
  worker.report(given, "started");
  worker.report(given, how, more);
}

constexpr const char* kOneTry = R"({"a":{"run":["true"],"retry":{"max":0}}})";

TEST(WebhooksOfAController, A09_EveryEndOfARunIsToldWithTheRun) {
  TestServer server(reaching_loopback());
  Mailbox box;
  make(server, box);
  TestWorker worker(server, "w1");
  const std::string good = server.submit(kOneTry);
  finish_one(worker, "completed");
  const std::string bad = server.submit(kOneTry);
  finish_one(worker, "failed", R"(,"cause":"exit_code","code":3,"message":"boom")");
  const std::string given_up = server.submit(kOneTry);
  server.post("/api/runs/" + given_up + "/cancel");
  const std::string late =
      server
          .post("/api/runs",
                R"({"dag":{"name":"test","timeout":"1s","tasks":)" + std::string(kOneTry) + "}}")
          .text;
  const auto told = box.wait_for(4);
  EXPECT_EQ(text_at(told[0], "/subject"), good);
  EXPECT_EQ(text_at(told[0], "/type"), "vortex.run_complete");
  EXPECT_EQ(text_at(told[0], "/data/event/data/state"), "Completed");
  EXPECT_EQ(text_at(told[0], "/data/run/dag"), "test");
  EXPECT_EQ(text_at(told[1], "/subject"), bad);
  EXPECT_EQ(text_at(told[1], "/data/run/state"), "Failed");
  EXPECT_EQ(text_at(told[2], "/data/run/state"), "Cancelled");
  EXPECT_EQ(text_at(told[3], "/data/run/state"), "Failed") << late;
  EXPECT_EQ(text_at(told[3], "/data/run/ending"), "timed_out");
}

TEST(WebhooksOfAController, AnEndWhileTheReceiverIsAwayIsToldByTheNextController) {
  TestServer server(reaching_loopback());
  Mailbox box;
  box.receiver().answer_with({503});
  make(server, box);
  TestWorker worker(server, "w1");
  const std::string run = server.submit(kOneTry);
  finish_one(worker, "completed");
  box.wait_for(1);
  server.again();
  const auto told = box.wait_for(2);
  EXPECT_EQ(text_at(told[1], "/subject"), run);
  EXPECT_EQ(box.receiver().told()[0].id, box.receiver().told()[1].id);
}

TEST(WebhooksOfAController, OnlyRunsOfTheDagThatWasNamedAreTold) {
  TestServer server(reaching_loopback());
  Mailbox box;
  make(server, box, R"(,"dag":"mine","kinds":["task_complete"])");
  TestWorker worker(server, "w1");
  server.submit(kOneTry);
  finish_one(worker, "completed");
  server.post("/api/runs", R"({"dag":{"name":"mine","tasks":)" + std::string(kOneTry) + "}}");
  finish_one(worker, "completed");
  const auto told = box.wait_for(1);
  EXPECT_EQ(text_at(told[0], "/data/run/dag"), "mine");
  EXPECT_EQ(text_at(told[0], "/type"), "vortex.task_complete");
}

TEST(WebhooksOfAController, ATestMessageIsToldAtOnceAndTheOutcomeAnswered) {
  TestServer server(reaching_loopback());
  Mailbox box;
  make(server, box);
  const auto tried = server.post("/api/webhooks/ci/test");
  EXPECT_EQ(tried.status, 200);
  EXPECT_TRUE(tried.body.at("taken").as_bool()) << tried.text;
  EXPECT_EQ(text_at(box.wait_for(1)[0], "/type"), "vortex.test");
  box.receiver().answer_with({401});
  const auto refused = server.post("/api/webhooks/ci/test");
  EXPECT_FALSE(refused.body.at("taken").as_bool());
  EXPECT_EQ(text_at(refused.body, "/trouble"), "it answered 401");
}

TEST(Webhooks, OneThatIsNoLongerAllowedReachesNobody) {
  TestServer server(reaching_loopback());
  Mailbox box;
  make(server, box);
  server.stop();
  server.set_flags({"--tuning=testing"});
  server.start();
  const auto tried = server.post("/api/webhooks/ci/test");
  EXPECT_EQ(tried.body.at("taken").as_bool(), false);
  EXPECT_THAT(std::string(tried.body.at("trouble").as_string()),
              testing::HasSubstr("controller.webhook_networks"));
  EXPECT_TRUE(box.receiver().told().empty());
}

}  // namespace
}  // namespace vortex::controller
