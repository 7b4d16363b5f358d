// The dashboard's files, and the sessions of browsers that open it.
#include "api/pages/pages.h"

#include <gtest/gtest.h>

#include "api/secrets.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

constexpr PageFile kSomeFiles[] = {
    {"/index.html", "text/html; charset=utf-8", "\"one\"", "packed page"},
    {"/assets/a-1.js", "text/javascript; charset=utf-8", "\"two\"", "packed script"},
};
constexpr std::string_view kSomePlaces[] = {"runs", "workers"};

std::optional<net::Response> page(std::string_view target, net::Headers headers = {}) {
  const Pages pages = serve_pages({kSomeFiles, kSomePlaces});
  return pages(make_request("GET", target, {}, std::move(headers)));
}

std::string header(const net::Response& response, std::string_view name) {
  return std::string(net::find_header(response.headers, name).value_or(""));
}

TEST(DashboardFiles, AddressesWithinThePageAreAnsweredWithIt) {
  for (const char* target : {"/", "/runs", "/runs/r42?tab=graph", "/workers/host.example.com"}) {
    const auto answer = page(target);
    ASSERT_TRUE(answer) << target;
    EXPECT_EQ(answer->body, "packed page") << target;
    EXPECT_EQ(header(*answer, "Content-Encoding"), "gzip");
    EXPECT_EQ(header(*answer, "Cache-Control"), "no-cache");
  }
  EXPECT_FALSE(page("/healthz")) << "a mistyped probe must not succeed";
  EXPECT_FALSE(page("/assets/a-2.js"));
}

TEST(DashboardFiles, NoInlineScriptAndNoOtherOriginIsAllowed) {
  const std::string policy = header(*page("/"), "Content-Security-Policy");
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("script-src 'self';"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
}

TEST(DashboardFiles, FilesThatCarryTheirDigestAreKeptAndNotSentTwice) {
  const auto first = page("/assets/a-1.js");
  ASSERT_TRUE(first);
  EXPECT_NE(header(*first, "Cache-Control").find("immutable"), std::string::npos);
  const auto again = page("/", {{"If-None-Match", "\"one\""}});
  EXPECT_EQ(again->status, 304);
  EXPECT_TRUE(again->body.empty());
  EXPECT_EQ(page("/", {{"If-None-Match", "\"old\""}})->status, 200);
}

TEST(DashboardFiles, ABuildWithoutThemSaysSo) {
  const Pages pages = serve_pages({});
  const auto answer = pages(make_request("GET", "/"));
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->body.find("-DVX_DASHBOARD=ON"), std::string::npos);
  EXPECT_FALSE(pages(make_request("GET", "/runs")));
}

AccessPolicy with_two_tokens() {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kTokens;
  policy.fixed.push_back({"root", Role::kAdmin, hash_token("root"), {}, false});
  policy.fixed.push_back({"eve", Role::kViewer, hash_token("eve"), {}, false});
  return policy;
}

struct Browser : ::testing::Test {
  Browser() : client(with_two_tokens()) {}

  Answer log_in(const std::string& token) {
    Answer answer = client.post("/api/session", R"({"token":")" + token + R"("})");
    const std::string set = answer.header("Set-Cookie");
    cookie = set.substr(0, set.find(';'));
    return answer;
  }
  Answer send(std::string_view method, std::string_view target, net::Headers more = {},
              std::string body = {}) {
    more.emplace_back("Cookie", "other=1; " + cookie);
    return client.send(make_request(method, target, std::move(body), std::move(more)));
  }
  net::Headers of_page() const { return {{"Origin", "http://" + host}, {"Vortex-Page", "1"}}; }

  Client client;
  std::string cookie;
  std::string host =
      std::string(net::find_header(make_request("GET", "/").headers, "Host").value_or("localhost"));
};

TEST_F(Browser, ATokenBecomesASessionThatScriptsCannotRead) {
  EXPECT_EQ(client.get("/api/session").at("/admitted").as_bool(), false);
  const Answer in = log_in("root");
  ASSERT_EQ(in.status, 200) << in.body;
  EXPECT_EQ(in.text("/role"), "admin");
  const std::string set = in.header("Set-Cookie");
  for (const char* part : {"HttpOnly", "SameSite=Strict", "Path=/"}) {
    EXPECT_NE(set.find(part), std::string::npos) << set;
  }
  EXPECT_EQ(set.find("root"), std::string::npos) << "the token itself is not in it";
  EXPECT_EQ(send("GET", "/api/runs").status, 200);
  EXPECT_EQ(send("GET", "/api/session").text("/name"), "root");
}

TEST_F(Browser, AWrongTokenOpensNothing) {
  const Answer in = log_in("guess");
  EXPECT_EQ(in.status, 401);
  EXPECT_EQ(in.header("Set-Cookie"), "");
}

TEST_F(Browser, ASessionChangesSomethingOnlyFromThePageItself) {
  log_in("root");
  EXPECT_EQ(send("POST", "/api/reconcile").code(), "VX-AUTH-004");
  EXPECT_EQ(send("POST", "/api/reconcile", {{"Origin", "http://" + host}}).status, 403);
  EXPECT_EQ(send("POST", "/api/reconcile", {{"Vortex-Page", "1"}}).status, 403);
  EXPECT_EQ(
      send("POST", "/api/reconcile", {{"Origin", "http://evil"}, {"Vortex-Page", "1"}}).status,
      403);
  EXPECT_EQ(send("POST", "/api/reconcile", of_page()).status, 200);
}

TEST_F(Browser, ASessionMayNoMoreThanItsToken) {
  log_in("eve");
  EXPECT_EQ(send("GET", "/api/runs").status, 200);
  EXPECT_EQ(send("POST", "/api/reconcile", of_page()).code(), "VX-AUTH-002");
}

TEST_F(Browser, AForgedOrOldSessionIsRefused) {
  log_in("root");
  const std::string good = cookie;
  cookie.back() = cookie.back() == 'A' ? 'B' : 'A';
  EXPECT_EQ(send("GET", "/api/runs").status, 401);
  cookie = good;
  EXPECT_EQ(send("GET", "/api/runs").status, 200);
  client.desk.clock = client.desk.clock + Access::kSessionLasts;
  EXPECT_EQ(send("GET", "/api/runs").status, 401);
}

TEST_F(Browser, ASessionEndsWithItsToken) {
  client.token = "root";
  const Answer made = client.post("/api/tokens", R"({"name":"temp","role":"viewer"})");
  client.token.clear();
  log_in(made.text("/secret"));
  EXPECT_EQ(send("GET", "/api/runs").status, 200);
  client.token = "root";
  EXPECT_EQ(client.erase("/api/tokens/temp").status, 204);
  client.token.clear();
  EXPECT_EQ(send("GET", "/api/runs").status, 401);
}

TEST_F(Browser, ALoginLinkWorksOnceAndNotForLong) {
  client.token = "eve";
  const std::string pass = client.post("/api/session/pass").text("/pass");
  const std::string late = client.post("/api/session/pass").text("/pass");
  client.token.clear();
  EXPECT_EQ(log_in(pass).text("/role"), "viewer");
  EXPECT_EQ(log_in(pass).status, 401) << "it was used";
  client.desk.clock = client.desk.clock + Access::kPassLasts;
  EXPECT_EQ(log_in(late).status, 401) << "it has expired";
  cookie = cookie_name(make_request("GET", "/")) + "=" + late;
  EXPECT_EQ(send("GET", "/api/runs").status, 401) << "a pass is no session";
}

TEST_F(Browser, LoggingOutRemovesTheCookie) {
  log_in("root");
  const Answer out = send("DELETE", "/api/session", of_page());
  EXPECT_EQ(out.status, 204);
  EXPECT_NE(out.header("Set-Cookie").find("Max-Age=0"), std::string::npos);
}

TEST(RunAttempts, AreListedForAllTasksOfARun) {
  Client client;
  const std::string run = submit(client, map_dag("m", 3));
  Worker worker = join(client, "w1");
  const Held held = take(client, worker);
  complete(client, worker, held);
  const std::string path = "/api/runs/" + run + "/attempts";
  const Answer all = client.get(path);
  ASSERT_EQ(all.status, 200) << all.body;
  EXPECT_EQ(all.text("/attempts/0/verdict"), "completed");
  const Answer part = client.get(path + "?limit=1");
  EXPECT_EQ(part.at("/attempts").as_array().size(), 1U);
  EXPECT_FALSE(part.at("/next_cursor").is_null());
  EXPECT_EQ(client.get("/api/runs/r999/attempts").status, 404);
}

}  // namespace
}  // namespace vortex::api
