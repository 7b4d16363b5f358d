// The same through real sockets: server, client and interface together.
#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "api/secrets.h"
#include "net/client.h"
#include "net/server.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"
#include "tests/net/harness.h"

namespace vortex::api {
namespace {

// Serves in a thread of its own; the desk is touched by that thread only.
class Served {
 public:
  explicit Served(AccessPolicy policy = Client::open_policy()) : client_(std::move(policy)) {
    net::ServerConfig server_config;
    server_config.bodies = net::Bodies::kOnDemand;
    server_config.default_headers = default_headers();
    auto server = net::Server::listen(client_.io, server_config, client_.api.handler(),
                                      client_.api.complain());
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

  std::uint16_t port() const { return config_.endpoint.port; }

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
  const net::Headers own{{"Vortex-Session", std::string(session.at("session").as_string())}};
  const auto reply = boost::json::parse(
      served
          .call(Method::kPost, "/api/workers/w/sync",
                fmt::format(R"({{"incarnation":{},"seq":1,"slots":1,"wait_ms":100}})", incarnation),
                own)
          .body);
  const auto epoch = reply.at_pointer("/assignments/0/epoch").to_number<std::int64_t>();
  for (const char* kind : {"started", "completed"}) {
    const auto done = served.call(
        Method::kPost, "/api/workers/w/sync",
        fmt::format(
            R"({{"incarnation":{},"seq":{},"slots":1,"reports":[{{"task":"r1-L0-0","epoch":{},"kind":"{}"}}]}})",
            incarnation, kind[0] == 's' ? 2 : 3, epoch, kind),
        own);
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

// Resident memory of this process.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Sockets, WhoHasNoTokenSendsNoBody) {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kTokens;
  policy.fixed.push_back({"s", Role::kSubmitter, hash_token("secret"), {}, false});
  Served served(policy);
  const std::uint64_t before = resident_bytes();
  const std::string part(1 << 20, ' ');
  std::vector<net::test::RawSocket> strangers;
  for (int i = 0; i < 24; ++i) {
    net::test::RawSocket& socket = strangers.emplace_back(served.port());
    ASSERT_TRUE(
        socket.send("POST /api/runs HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Type: application/json\r\nContent-Length: 67000000\r\n\r\n"));
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 401);
    for (int sent = 0; sent < 60 && socket.send(part);) ++sent;
  }
  EXPECT_LT(resident_bytes() - std::min(before, resident_bytes()), 24U << 20);
  // The wrong type and a path that is not there are told apart from the head, too.
  net::test::RawSocket typed(served.port());
  ASSERT_TRUE(
      typed.send("POST /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret"
                 "\r\nContent-Type: text/html\r\nContent-Length: 67000000\r\n\r\n"));
  EXPECT_EQ(typed.answer()->status, 415);
  net::test::RawSocket lost(served.port());
  ASSERT_TRUE(
      lost.send("POST /api/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 67000000"
                "\r\n\r\n"));
  EXPECT_EQ(lost.answer()->status, 404);
  net::test::RawSocket small(served.port());
  ASSERT_TRUE(
      small.send("POST /api/runs/r1/cancel HTTP/1.1\r\nHost: localhost\r\n"
                 "Authorization: Bearer secret\r\nContent-Length: 67000000\r\n\r\n"));
  EXPECT_EQ(small.answer()->status, 413);
}

TEST(Sockets, EveryAnswerTellsBrowsersToLeaveItAlone) {
  Served served;
  for (const char* target : {"/livez", "/api/runs", "/nothing", "/api/runs/r9"}) {
    const auto answer = served.call(Method::kGet, target);
    EXPECT_EQ(net::find_header(answer.headers, "Content-Security-Policy"),
              "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    EXPECT_EQ(net::find_header(answer.headers, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(net::find_header(answer.headers, "X-Frame-Options"), "DENY");
    EXPECT_EQ(net::find_header(answer.headers, "Referrer-Policy"), "no-referrer");
    EXPECT_EQ(net::find_header(answer.headers, "Cache-Control"), "no-store");
  }
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
