// The same through real sockets: server, client and interface together.
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/server.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

// Serves in a thread of its own; the desk is touched by that thread only.
class Served {
 public:
  Served() {
    auto server =
        net::Server::listen(client_.io, {}, client_.api.handler(), client_.api.complain());
    if (!server) throw std::runtime_error(server.error());
    server_ = *std::move(server);
    config_.endpoint.port = server_->port();
    thread_ = std::thread([this] { client_.io.run(); });
  }
  ~Served() {
    client_.io.stop();
    thread_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  net::Response call(net::Method method, std::string target, std::string body = {},
                     net::Headers headers = {}) {
    net::Call call;
    call.method = method;
    call.target = std::move(target);
    call.body = std::move(body);
    call.headers = std::move(headers);
    auto response = net::send_and_wait(config_, std::move(call));
    if (!response) throw std::runtime_error(response.error().detail);
    return *std::move(response);
  }

 private:
  Client client_;
  std::unique_ptr<net::Server> server_;
  net::ClientConfig config_;
  std::thread thread_;
};

using net::Method;

TEST(Sockets, ARunGoesFromSubmitToCompletedByWorkersThatSpeakHttp) {
  Served served;
  const auto run = served.call(Method::kPost, "/api/runs", R"({"dag":)" + one_task_dag() + "}",
                               {{"Idempotency-Key", "k"}});
  ASSERT_EQ(run.status, 201) << run.body;
  const auto session = boost::json::parse(
      served.call(Method::kPost, "/api/workers", R"({"id":"w","machine":"m"})").body);
  const auto incarnation = session.at("incarnation").to_number<std::int64_t>();
  const auto reply = boost::json::parse(
      served
          .call(Method::kPost, "/api/workers/w/sync",
                fmt::format(R"({{"incarnation":{},"seq":1,"slots":1,"wait_ms":100}})", incarnation))
          .body);
  const auto epoch = reply.at_pointer("/assignments/0/epoch").to_number<std::int64_t>();
  for (const char* kind : {"started", "completed"}) {
    const auto done = served.call(
        Method::kPost, "/api/workers/w/sync",
        fmt::format(
            R"({{"incarnation":{},"seq":{},"slots":1,"reports":[{{"task":"r1-L0-0","epoch":{},"kind":"{}"}}]}})",
            incarnation, kind[0] == 's' ? 2 : 3, epoch, kind));
    EXPECT_EQ(done.status, 200) << done.body;
  }
  const auto view = boost::json::parse(served.call(Method::kGet, "/api/runs/r1").body);
  EXPECT_EQ(view.at("state").as_string(), "Completed");
}

TEST(Sockets, HeadHasNoBodyAndProblemsTravel) {
  Served served;
  const auto head = served.call(Method::kHead, "/api/runs");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  const auto missing = served.call(Method::kGet, "/api/runs/r9");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.content_type, "application/problem+json");
  EXPECT_TRUE(net::find_header(missing.headers, "X-Request-Id").has_value());
}

TEST(Sockets, LogsAreFollowedToTheirEnd) {
  Served served;
  served.call(Method::kPost, "/api/runs", R"({"dag":)" + one_task_dag() + "}");
  served.call(Method::kPost, "/api/runs/r1/cancel");
  const auto log = served.call(Method::kGet, "/api/tasks/r1-L0-0/logs?follow=true");
  EXPECT_EQ(log.status, 200);
  EXPECT_EQ(log.body, "");
}

}  // namespace
}  // namespace vortex::api
