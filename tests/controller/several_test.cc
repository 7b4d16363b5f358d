// Several controllers over one database: one leads, all answer (CONTRACT V11, S05).

#include <algorithm>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/peers/pass_on.h"
#include "api/routes.h"
#include "api/secrets.h"
#include "base/clock.h"
#include "tests/controller/cluster.h"

namespace vortex::controller {
namespace {

constexpr const char* kRun = R"({"dag":{"name":"t","tasks":{"a":{"run":["true"]}}}})";

// A call that another thread waits for, and that can be given up.
class LongCall {
 public:
  LongCall(const net::ClientConfig& config, net::Call call) : client_(io_.get_executor(), config) {
    boost::asio::co_spawn(io_, client_.send(std::move(call)),
                          [this](const std::exception_ptr&, auto answer) {
                            if (answer) status_ = answer->status, body_ = answer->body;
                          });
    thread_ = std::thread([this] { io_.run(); });
  }
  ~LongCall() { hang_up(); }
  void hang_up() {
    client_.close();
    wait();
  }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  int status() const { return status_; }
  const std::string& body() const { return body_; }

 private:
  boost::asio::io_context io_;
  net::Client client_;
  std::thread thread_;
  int status_ = 0;
  std::string body_;
};

net::Call sync_call(const Cluster::Session& session, const std::string& worker, int seq) {
  net::Call call;
  call.method = net::Method::kPost;
  call.target = "/api/workers/" + worker + "/sync";
  call.headers = session.headers;
  call.body = Cluster::sync_body(session, seq, 30'000);
  return call;
}

// Empty: there is none of that name.
boost::json::array list_of(const ClusterAnswer& answer, const char* key) {
  const auto* value = answer.body.is_object() ? answer.body.as_object().if_contains(key) : nullptr;
  return value != nullptr && value->is_array() ? value->as_array() : boost::json::array();
}

bool is_parked(const Cluster& cluster, std::size_t leader, const std::string& worker) {
  const ClusterAnswer seen = cluster.get(leader, "/api/workers/" + worker);
  return seen.text_at("state") == "IDLE";
}

TEST(SeveralControllers, ABrowserLoggedInAtAStandbyCanActThere) {
  TokenRow token;
  token.name = "admin";
  token.role = Role::kAdmin;
  token.hash = api::hash_token("a-secret");
  Cluster cluster(2, {}, {token});
  const std::size_t standby = cluster.standby();
  const std::string origin = cluster.at(standby).url();
  const net::Headers page{{"Origin", origin}, {"Vortex-Page", "1"}};
  const ClusterAnswer in = cluster.post(standby, "/api/session", R"({"token":"a-secret"})", page);
  ASSERT_EQ(in.status, 200) << in.text;
  const std::string set(net::find_header(in.headers, "Set-Cookie").value_or(""));
  const std::string cookie = set.substr(0, set.find(';'));
  net::Headers own = page;
  own.emplace_back("Cookie", cookie);
  EXPECT_EQ(cluster.post(standby, "/api/runs", kRun, own).status, 201);
  // Another site's page has neither the header nor the origin.
  EXPECT_EQ(cluster.post(standby, "/api/runs", kRun, {{"Cookie", cookie}}).status, 403);
  // The header between controllers opens nothing without their mark.
  const std::string value = cookie.substr(cookie.find('=') + 1);
  const net::Headers forged{{std::string(api::kSessionHeader), value}, {"Vortex-Page", "1"}};
  EXPECT_EQ(cluster.post(cluster.leader(), "/api/runs", kRun, forged).status, 401);
  EXPECT_EQ(cluster.post(standby, "/api/runs", kRun, forged).status, 401);
}

TEST(SeveralControllers, LoginLinkWorksOnceInAll) {
  TokenRow token;
  token.name = "admin";
  token.role = Role::kAdmin;
  token.hash = api::hash_token("a-secret");
  Cluster cluster(3, {}, {token});
  const std::size_t leader = cluster.leader();
  const std::size_t first = (leader + 1) % 3;
  const std::size_t second = (leader + 2) % 3;
  const auto log_in = [&cluster](std::size_t at, const std::string& pass) {
    const net::Headers page{{"Origin", cluster.at(at).url()}, {"Vortex-Page", "1"}};
    return cluster.post(at, "/api/session", fmt::format(R"({{"token":"{}"}})", pass), page);
  };
  for (const std::size_t at : {first, leader}) {
    const ClusterAnswer made =
        cluster.post(second, "/api/session/pass", "", {{"Authorization", "Bearer a-secret"}});
    ASSERT_EQ(made.status, 200) << made.text;
    const std::string pass = made.text_at("pass");
    const ClusterAnswer in = log_in(at, pass);
    ASSERT_EQ(in.status, 200) << in.text;
    // The cookie is of the controller that the browser talks to.
    const std::string set(net::find_header(in.headers, "Set-Cookie").value_or(""));
    EXPECT_TRUE(set.starts_with(fmt::format("vortex-{}=", cluster.at(at).port()))) << set;
    net::Call asks;
    asks.target = "/api/session";
    asks.headers = {{"Cookie", set.substr(0, set.find(';'))}};
    const ClusterAnswer who = cluster.call(at, asks);
    EXPECT_EQ(who.text_at("name"), "admin") << who.text;
    for (const std::size_t again : {first, second, leader}) {
      EXPECT_EQ(log_in(again, pass).status, 401) << "the link was used";
    }
  }
  // What was used is known to one leader: with the next, links that were made before are void.
  const ClusterAnswer made =
      cluster.post(leader, "/api/session/pass", "", {{"Authorization", "Bearer a-secret"}});
  ASSERT_EQ(made.status, 200) << made.text;
  cluster.stop(leader);
  EXPECT_TRUE(soon([&] { return log_in(first, made.text_at("pass")).status == 401; }));
}

TEST(SeveralControllers, V11_AnyOfThemTakesASubmitAndShowsTheRun) {
  Cluster cluster(3);
  const std::size_t leader = cluster.leader();
  for (std::size_t i = 0; i < 3; ++i) {
    const ClusterAnswer made = cluster.post(i, "/api/runs", kRun);
    ASSERT_EQ(made.status, 201) << made.text;
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(cluster.get(j, "/api/runs/" + made.text_at("id")).status, 200);
    }
  }
  EXPECT_EQ(cluster.leader(), leader);
}

// Every route with the same nonsense, to the leader and to a standby.
TEST(SeveralControllers, EveryRouteIsAnsweredByAStandbyAsByTheLeader) {
  Cluster cluster(2);
  const std::size_t leader = cluster.leader();
  const std::size_t standby = cluster.standby();
  int passed = 0;
  for (const api::Route& route : api::all_routes()) {
    if (route.served == api::Served::kByLeaderIfStreamed) continue;
    net::Call call;
    call.method = route.method;
    call.target = route.path;
    for (const auto& [from, to] :
         {std::pair{"{run}", "r77"}, std::pair{"{task}", "r77-L0-1"}, std::pair{"{partition}", "1"},
          std::pair{"{recovery}", "9"}, std::pair{"{name}", "nobody"}, std::pair{"{worker}", "w"},
          std::pair{"{topic}", "t"}, std::pair{"{supervisor}", "s"}}) {
      const std::size_t at = call.target.find(from);
      if (at != std::string::npos) call.target.replace(at, std::string(from).size(), to);
    }
    call.body = "{}";
    const ClusterAnswer direct = cluster.call(leader, call);
    const ClusterAnswer other = cluster.call(standby, call);
    EXPECT_EQ(other.status, direct.status) << route.id << ": " << other.text;
    EXPECT_EQ(other.code(), direct.code()) << route.id << ": " << other.text;
    const auto ids = std::ranges::count_if(
        other.headers, [](const auto& header) { return header.first == "X-Request-Id"; });
    EXPECT_EQ(ids, 1) << route.id;
    passed += route.served == api::Served::kByLeader ? 1 : 0;
  }
  EXPECT_GT(passed, 30);
}

net::Call marked(std::string target, const api::Origin& origin, std::string body) {
  net::Call call;
  call.method = net::Method::kPost;
  call.target = std::move(target);
  call.body = std::move(body);
  net::Request request;
  request.method = call.method;
  request.target = call.target;
  // What the store in memory has for a key.
  call.headers.emplace_back(api::kMarkHeader,
                            api::write_mark(std::string(64, 'k'), request, origin));
  return call;
}

TEST(SeveralControllers, WhatWasPassedOnIsNotPassedOnAgain) {
  Cluster cluster(2);
  const ClusterAnswer answer = cluster.call(
      cluster.standby(), marked("/api/runs", {.peer = "10.1.2.3:4", .is_private = true}, kRun));
  EXPECT_EQ(answer.status, 503) << answer.text;
  EXPECT_EQ(answer.code(), "VX-CTL-001");
  EXPECT_TRUE(net::find_header(answer.headers, "Retry-After"));
}

TEST(SeveralControllers, LeaderJudgesThePassedOnRequestByTheAddressOfItsClient) {
  Cluster cluster(2);
  const std::size_t leader = cluster.leader();
  const api::Origin origin{.peer = "10.1.2.3:4", .is_private = true};
  const std::string own = R"({"id":"w1","slots":1,"address":"10.1.2.3:99"})";
  EXPECT_LT(cluster.call(leader, marked("/api/workers", origin, own)).status, 300);
  const std::string other = R"({"id":"w2","slots":1,"address":"127.0.0.1:99"})";
  const ClusterAnswer refused = cluster.call(leader, marked("/api/workers", origin, other));
  EXPECT_EQ(refused.code(), "VX-WORKER-007") << refused.text;
  EXPECT_TRUE(soon([&] {
    return cluster.get(leader, "/api/audit").text.find(R"("address":"10.1.2.3")") !=
           std::string::npos;
  }));
}

TEST(SeveralControllers, ForgedMarksAreRefused) {
  Cluster cluster(2);
  const api::Origin origin{.peer = "10.1.2.3:4", .is_private = true};
  for (const std::size_t i : {cluster.leader(), cluster.standby()}) {
    net::Call moved = marked("/api/runs", origin, kRun);
    moved.target = "/api/reconcile";
    net::Call edited = marked("/api/runs", origin, kRun);
    edited.headers.front().second.replace(2, 8, "10.1.2.9");
    net::Call borrowed = marked("/api/runs", origin, kRun);
    borrowed.headers.emplace_back("Authorization", "Bearer vx_somebody");
    net::Call made_up = marked("/api/runs", origin, kRun);
    made_up.headers.front().second = "1;10.1.2.3:4;1;;AAAA";
    for (const net::Call& call : {moved, edited, borrowed, made_up}) {
      const ClusterAnswer answer = cluster.call(i, call);
      EXPECT_EQ(answer.status, 403) << answer.text;
      EXPECT_EQ(answer.code(), "VX-AUTH-011");
    }
  }
}

TEST(SeveralControllers, WorkerThatHangsUpOnAStandbyIsOnlySuspectWhileItsAddressAnswers) {
  Cluster cluster(3);
  const std::size_t leader = cluster.leader();
  const std::size_t standby = cluster.standby();
  const std::string here = fmt::format("127.0.0.1:{}", cluster.at(leader).port());
  const Cluster::Session session = cluster.enlist(standby, "w", here);
  LongCall parked(cluster.client(standby), sync_call(session, "w", 1));
  ASSERT_TRUE(soon([&] { return is_parked(cluster, leader, "w"); }));
  parked.hang_up();
  EXPECT_TRUE(soon([&] {
    const ClusterAnswer seen = cluster.get(leader, "/api/workers/w");
    return seen.body.at("suspect").as_bool();
  })) << "the leader sees that the connection of the worker closed";
  EXPECT_EQ(cluster.get(leader, "/api/workers/w").text_at("state"), "IDLE");
}

TEST(SeveralControllers, StandbyThatStopsMakesItsWorkersSuspectAndLosesNone) {
  Cluster cluster(3);
  const std::size_t leader = cluster.leader();
  const std::size_t standby = cluster.standby();
  const std::string here = fmt::format("127.0.0.1:{}", cluster.at(leader).port());
  const Cluster::Session session = cluster.enlist(standby, "w", here);
  LongCall parked(cluster.client(standby), sync_call(session, "w", 1));
  ASSERT_TRUE(soon([&] { return is_parked(cluster, leader, "w"); }));
  cluster.stop(standby);
  parked.wait();
  EXPECT_TRUE(parked.status() == 503 || parked.status() == 0) << parked.status();
  // It goes on elsewhere in the same life.
  const ClusterAnswer next = cluster.post(leader, "/api/workers/w/sync",
                                          Cluster::sync_body(session, 2, 0), session.headers);
  EXPECT_EQ(next.status, 200) << next.text;
}

TEST(SeveralControllers, EventsStreamThroughAStandbyAsTheyHappen) {
  Cluster cluster(2);
  const std::size_t standby = cluster.standby();
  boost::asio::io_context io;
  net::Client client(io.get_executor(), cluster.client(standby));
  net::Call call;
  call.target = "/api/events?follow=true";
  std::string seen;
  bool submitted = false;
  std::string type;
  auto reading = client.stream(call, [&](std::string_view piece) {
    seen += piece;
    if (!submitted) cluster.post(cluster.leader(), "/api/runs", kRun);
    submitted = true;
    return seen.find("run_submitted") == std::string::npos;
  });
  boost::asio::co_spawn(io, std::move(reading), [&](const std::exception_ptr&, auto answer) {
    if (answer) type = answer->content_type;
  });
  io.run_for(std::chrono::seconds(30));
  EXPECT_NE(seen.find("run_submitted"), std::string::npos) << seen;
  EXPECT_EQ(type, "text/event-stream");
}

TEST(SeveralControllers, GracefulStopHandsLeadershipOverAtOnce) {
  Cluster cluster(
      3, {"--controller.leader_lease_secs=600", "--controller.heartbeat_timeout_secs=3600"});
  const std::size_t first = cluster.leader();
  const Instant begin = boot_clock_now();
  cluster.stop(first);
  const std::size_t next = cluster.leader();
  EXPECT_NE(next, first);
  EXPECT_LT((boot_clock_now() - begin).us, seconds(30).us) << "the lease has minutes left";
  const std::size_t standby = cluster.standby();
  EXPECT_TRUE(soon([&] { return cluster.post(standby, "/api/runs", kRun).status == 201; }));
}

TEST(SeveralControllers, ParkedCallLeavesALeaderThatLostItsLeaseAndNoTaskIsRestarted) {
  Cluster cluster(3);
  const std::size_t standby = cluster.standby();
  const Cluster::Session session = cluster.enlist(standby, "w");
  ASSERT_EQ(cluster.post(standby, "/api/runs", kRun).status, 201);
  ClusterAnswer given;
  int seq = 0;
  ASSERT_TRUE(soon([&] {
    given = cluster.post(standby, "/api/workers/w/sync", Cluster::sync_body(session, ++seq, 200),
                         session.headers);
    return given.status == 200 && !list_of(given, "assignments").empty();
  }));
  const auto assignment = list_of(given, "assignments").front();
  const std::string held =
      fmt::format(R"([{{"task":"{}","epoch":{}}}])", assignment.at("task").as_string().c_str(),
                  assignment.at("epoch").to_number<std::int64_t>());
  const std::string started = fmt::format(R"([{{"task":"{}","epoch":{},"kind":"started"}}])",
                                          assignment.at("task").as_string().c_str(),
                                          assignment.at("epoch").to_number<std::int64_t>());
  ASSERT_EQ(cluster
                .post(standby, "/api/workers/w/sync",
                      Cluster::sync_body(session, ++seq, 0, held, started), session.headers)
                .status,
            200);
  net::Call call = sync_call(session, "w", ++seq);
  call.body = Cluster::sync_body(session, seq, 30'000, held);
  LongCall parked(cluster.client(standby), std::move(call));
  cluster.end_leases();
  parked.wait();
  EXPECT_TRUE(parked.status() == 503 || parked.status() == 200) << parked.body();
  // Whoever leads now knows the same attempt.
  ClusterAnswer after;
  EXPECT_TRUE(soon([&] {
    after = cluster.post(cluster.standby(), "/api/workers/w/sync",
                         Cluster::sync_body(session, ++seq, 0, held), session.headers);
    return after.status == 200;
  })) << after.text;
  EXPECT_TRUE(list_of(after, "stale").empty()) << after.text;
  const ClusterAnswer task = cluster.get(
      cluster.leader(), std::string("/api/tasks/") + assignment.at("task").as_string().c_str());
  EXPECT_EQ(task.text_at("state"), "Running") << task.text;
}

TEST(SeveralControllers, HealthAndReadinessSayWhoLeads) {
  Cluster cluster(2);
  const std::size_t leader = cluster.leader();
  const std::size_t standby = cluster.standby();
  const std::string name = fmt::format("c{}", leader);
  EXPECT_TRUE(soon([&] { return cluster.get(leader, "/health").text_at("leader_id") == name; }));
  for (const char* path : {"/health", "/readyz", "/api/status"}) {
    const ClusterAnswer led = cluster.get(leader, path);
    const ClusterAnswer other = cluster.get(standby, path);
    EXPECT_EQ(led.text_at("role"), "leader") << path;
    EXPECT_EQ(other.text_at("role"), "standby") << path;
    EXPECT_EQ(other.status, 200) << path;
    for (const ClusterAnswer& one : {led, other}) {
      EXPECT_EQ(one.text_at("leader_id"), name) << one.text;
      EXPECT_EQ(one.text_at("leader_url"), cluster.at(leader).url()) << one.text;
      EXPECT_FALSE(one.text_at("leader_since").empty()) << one.text;
      EXPECT_GT(one.body.at("term").to_number<int>(), 0) << one.text;
    }
  }
}

TEST(SeveralControllers, ListShowsAllOfThemAndTheirRoles) {
  Cluster cluster(3);
  const std::size_t leader = cluster.leader();
  for (std::size_t i = 0; i < 3; ++i) {
    ClusterAnswer answer;
    EXPECT_TRUE(soon([&] {
      answer = cluster.get(i, "/api/controllers");
      return answer.body.at("controllers").as_array().size() == 3;
    })) << answer.text;
    for (std::size_t j = 0; j < 3; ++j) {
      const auto& row = answer.body.at("controllers").as_array().at(j).as_object();
      EXPECT_EQ(row.at("id").as_string(), fmt::format("c{}", j));
      EXPECT_EQ(row.at("url").as_string(), cluster.at(j).url());
      EXPECT_EQ(row.at("role").as_string(), j == leader ? "leader" : "standby");
    }
  }
}

}  // namespace
}  // namespace vortex::controller
