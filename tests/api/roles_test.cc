// Who may do what: every route times every role.
#include <gtest/gtest.h>

#include "api/routes.h"
#include "api/secrets.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

using Roles = std::set<std::optional<Role>>;

constexpr std::optional<Role> kNobody;

AccessPolicy with_tokens() {
  AccessPolicy policy;
  policy.mode = AccessPolicy::Mode::kTokens;
  for (const auto name : words_of<Role>()) {
    policy.fixed.push_back({std::string(name),
                            *from_text<Role>(name),
                            hash_token("secret-" + std::string(name)),
                            {},
                            false});
  }
  return policy;
}

// Written out by hand, apart from the code that decides.
Roles allowed(Need need) {
  const Roles readers{Role::kViewer, Role::kSubmitter, Role::kOperator, Role::kWorker,
                      Role::kAdmin};
  switch (need) {
    case Need::kAnyone: {
      Roles all = readers;
      all.insert(kNobody);
      return all;
    }
    case Need::kViewer:
      return readers;
    case Need::kSubmitter:
      return {Role::kSubmitter, Role::kOperator, Role::kAdmin};
    case Need::kOperator:
      return {Role::kOperator, Role::kAdmin};
    case Need::kWorker:
      return {Role::kWorker, Role::kAdmin};
    case Need::kAdmin:
      return {Role::kAdmin};
  }
  return {};
}

std::string concrete(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const auto open = path.find('{');
    out += path.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = path.find('}');
    const auto name = path.substr(open + 1, close - open - 1);
    out += name == "run" ? "r999" : name == "task" ? "r999-L0-0" : "7";
    path.remove_prefix(close + 1);
  }
  return out;
}

Answer send_as(Client& client, net::Method method, const std::string& path,
               std::optional<Role> role) {
  net::Headers headers;
  if (role) headers.emplace_back("Authorization", "Bearer secret-" + std::string(to_text(*role)));
  return client.send(make_request(net::to_text(method), path, {}, std::move(headers)));
}

// With controller.tls_require_client_cert: a token alone makes nobody a worker.
TEST(Roles, WhatOnlyWorkersDoNeedsACertificateWhereThatIsAsked) {
  AccessPolicy policy = with_tokens();
  policy.worker_certificates = true;
  Client client(policy);
  const net::Headers admin{{"Authorization", "Bearer secret-admin"}};
  int of_workers = 0;
  for (const Route& route : all_routes()) {
    net::Request request =
        make_request(net::to_text(route.method), concrete(route.path), {}, admin);
    const auto is_refused = [&client, &request] {
      const Answer answer = client.send(request);
      return answer.status == 403 && answer.code() == "VX-AUTH-020";
    };
    const bool refused = is_refused();
    EXPECT_EQ(refused, route.need == Need::kWorker) << route.path;
    of_workers += refused ? 1 : 0;
    request.peer_name = "gpu";
    EXPECT_FALSE(is_refused()) << route.path;
  }
  EXPECT_GT(of_workers, 3);
}

TEST(Roles, EveryRouteLetsInExactlyTheRolesItNames) {
  Client client(with_tokens());
  for (const Route& route : all_routes()) {
    for (const std::optional<Role> role :
         {kNobody, std::optional(Role::kViewer), std::optional(Role::kSubmitter),
          std::optional(Role::kOperator), std::optional(Role::kWorker),
          std::optional(Role::kAdmin)}) {
      const std::string what = std::string(route.id) + " as " +
                               (role ? std::string(to_text(*role)) : std::string("nobody"));
      const Answer answer = send_as(client, route.method, concrete(route.path), role);
      if (allowed(route.need).contains(role)) {
        EXPECT_NE(answer.status, 401) << what;
        EXPECT_NE(answer.status, 403) << what;
      } else if (!role) {
        EXPECT_EQ(answer.status, 401) << what;
        EXPECT_EQ(answer.header("WWW-Authenticate"), "Bearer realm=\"vortex\"");
      } else {
        EXPECT_EQ(answer.status, 403) << what;
        EXPECT_EQ(answer.text("/needed_role"), to_text(route.need)) << what;
      }
    }
  }
}

// Those that the token of an attempt opens, for its own task.
const std::set<std::string_view> kForAttempts{"get_task", "get_log", "read_checkpoint",
                                              "check_fence"};

TEST(Roles, TheTokenOfAnAttemptOpensItsOwnTaskAndNothingElse) {
  Client client(with_tokens());
  client.token = "secret-admin";
  submit(client, one_task_dag());
  Worker worker = join(client, "w1");
  const Held held = take(client, worker);
  client.token = held.token;
  for (const Route& route : all_routes()) {
    std::string path = concrete(route.path);
    const auto at = path.find("r999-L0-0");
    for (const bool own : {false, true}) {
      if (own && at == path.npos) continue;
      if (own) path.replace(at, 9, held.task);
      const Answer answer = client.send(make_request(net::to_text(route.method), path));
      const bool opens = route.need == Need::kAnyone || (own && kForAttempts.contains(route.id));
      EXPECT_NE(answer.status, 401) << route.id;
      EXPECT_EQ(answer.status == 403, !opens) << route.id << " " << path << answer.body;
      if (opens) continue;
      EXPECT_EQ(answer.code(), "VX-AUTH-010") << route.id;
    }
  }
}

TEST(Roles, TheTokenOfAnAttemptEndsWithIt) {
  Client client(with_tokens());
  client.token = "secret-admin";
  submit(client, one_task_dag());
  Worker worker = join(client, "w1");
  const Held held = take(client, worker);
  const std::string fence = "/api/tasks/" + held.task + "/fence?epoch=";
  client.token = held.token;
  EXPECT_EQ(client.get(fence + "1").status, 200);
  EXPECT_EQ(client.get(fence + "2").code(), "VX-AUTH-010") << "another attempt";
  EXPECT_EQ(client.get("/api/tasks/" + held.task + "/logs?attempt=1").code(), "VX-AUTH-010");
  client.token = held.token.substr(0, held.token.size() - 1) + "x";
  EXPECT_EQ(client.get(fence + "1").code(), "VX-AUTH-001") << "not made with the key";
  const auto dot = held.token.rfind('.');
  client.token = "vxa_" + held.task + ".2" + held.token.substr(dot);
  EXPECT_EQ(client.get(fence + "2").code(), "VX-AUTH-001") << "made for another epoch";
  client.token = "secret-admin";
  complete(client, worker, held);
  client.token = held.token;
  const Answer over = client.get(fence + "1");
  EXPECT_EQ(over.status, 401);
  EXPECT_EQ(over.code(), "VX-AUTH-009");
}

TEST(Tokens, ABoundTokenActsForMatchingWorkersAlone) {
  Client client(with_tokens());
  client.token = "secret-admin";
  const Answer made =
      client.post("/api/tokens", R"({"name":"gpu","role":"worker","workers":["gpu-*","extra"]})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.text("/workers/0"), "gpu-*");
  submit(client, one_task_dag());
  Worker other = join(client, "w1");
  const Held held = take(client, other);
  client.token = made.text("/secret");
  join(client, "gpu-1");
  join(client, "extra");
  const auto refused = [&](const Answer& answer) {
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.code(), "VX-AUTH-008") << answer.body;
  };
  refused(client.post("/api/workers", R"({"id":"extra-1"})"));
  refused(client.post("/api/workers", R"({"id":"gpu"})"));
  refused(sync(client, other));
  refused(client.post("/api/workers/w1/exited", R"({"incarnation":1})", session_of(other)));
  refused(
      client.post("/api/tasks/" + held.task + "/logs?epoch=1&offset=0", "x", session_of(other)));
  refused(client.post("/api/tasks/" + held.task + "/checkpoint?epoch=1&worker=w1&incarnation=1", {},
                      session_of(other)));
  refused(client.post("/api/supervisors/s/events",
                      R"({"machine":"m","journal":"j","entries":[{"id":1,"event":"worker_spawn",)"
                      R"("worker":"w1"}]})"));
}

TEST(Tokens, OnlyWorkerTokensAreBoundAndOnlyToIds) {
  Client client(with_tokens());
  client.token = "secret-admin";
  for (const char* body : {R"({"name":"a","role":"viewer","workers":["x"]})",
                           R"({"name":"a","role":"worker","workers":["a*b"]})",
                           R"({"name":"a","role":"worker","workers":["a,b"]})",
                           R"({"name":"a","role":"worker","workers":[""]})"}) {
    EXPECT_EQ(client.post("/api/tokens", body).status, 422) << body;
  }
  EXPECT_TRUE(client.get("/api/tokens").at("/tokens").as_array().empty());
}

struct Fixed {
  const char* method;
  const char* path;
  Need need;
};

TEST(Roles, TheDangerousRoutesNeedWhatTheyShould) {
  const Fixed fixed[] = {
      {"GET", "/api/tokens", Need::kAdmin},
      {"POST", "/api/tokens", Need::kAdmin},
      {"DELETE", "/api/tokens/{name}", Need::kAdmin},
      {"GET", "/api/audit", Need::kAdmin},
      {"GET", "/api/webhooks", Need::kAdmin},
      {"GET", "/api/secrets", Need::kOperator},
      {"PUT", "/api/secrets/{name}", Need::kAdmin},
      {"POST", "/api/secrets/{name}/rotate", Need::kAdmin},
      {"DELETE", "/api/secrets/{name}", Need::kAdmin},
      {"POST", "/api/master-key/rotate", Need::kAdmin},
      {"POST", "/api/webhooks", Need::kAdmin},
      {"POST", "/api/webhooks/{name}/test", Need::kAdmin},
      {"POST", "/api/workers/{worker}/sync", Need::kWorker},
      {"POST", "/api/workers", Need::kWorker},
      {"POST", "/api/workers/{worker}/exited", Need::kWorker},
      {"POST", "/api/tasks/{task}/logs", Need::kWorker},
      {"POST", "/api/leases/{topic}/{partition}/acquire", Need::kWorker},
      {"POST", "/api/workers/{worker}/reset-state", Need::kOperator},
      {"POST", "/api/dead-letters/{task}/discard", Need::kOperator},
      {"POST", "/api/dead-letters/retry", Need::kOperator},
      {"POST", "/api/dead-letters/discard", Need::kOperator},
      {"POST", "/api/runs", Need::kSubmitter},
      {"GET", "/api/runs", Need::kViewer},
      {"GET", "/metrics", Need::kViewer},
      {"GET", "/livez", Need::kAnyone},
  };
  for (const Fixed& wanted : fixed) {
    bool found = false;
    for (const Route& route : all_routes()) {
      if (route.path != wanted.path || net::to_text(route.method) != wanted.method) continue;
      found = true;
      EXPECT_EQ(route.need, wanted.need) << wanted.path;
    }
    EXPECT_TRUE(found) << wanted.path;
  }
}

// A session gives a browser what its token gives it already; nobody else's things change.
const std::set<std::string_view> kChangeNothing{
    "validate_dag", "validate_dag_file", "create_session", "delete_session", "create_login_pass"};

TEST(Roles, NothingThatChangesSomethingIsOpenToAnyoneOrViewers) {
  for (const Route& route : all_routes()) {
    if (route.method == net::Method::kGet || kChangeNothing.contains(route.id)) continue;
    EXPECT_NE(route.need, Need::kAnyone) << route.id;
    EXPECT_NE(route.need, Need::kViewer) << route.id;
  }
}

TEST(Tokens, AWrongTokenIsNotLetInAnywhereButWhereNoneIsNeeded) {
  Client client(with_tokens());
  client.token = "vx_wrong";
  EXPECT_EQ(client.get("/api/runs").status, 401);
  EXPECT_EQ(client.get("/livez").status, 200);
  EXPECT_EQ(client.get("/api/runs", {{"Authorization", "Basic secret-admin"}}).status, 401);
  EXPECT_EQ(client.get("/api/runs", {{"Authorization", "bearer secret-admin"}}).status, 200);
}

TEST(Tokens, OneThatWasMadeOpensAtOnceAndNotAfterItIsRevoked) {
  Client client(with_tokens());
  client.token = "secret-admin";
  const Answer made = client.post("/api/tokens", R"({"name":"ci","role":"submitter"})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string secret = made.text("/secret");
  EXPECT_TRUE(secret.starts_with("vx_"));
  EXPECT_GE(secret.size(), 46U);
  EXPECT_EQ(client.post("/api/tokens", R"({"name":"ci","role":"viewer"})").code(), "VX-AUTH-005");
  const Answer list = client.get("/api/tokens");
  EXPECT_EQ(list.body.find(secret), std::string::npos);
  EXPECT_EQ(list.body.find(hash_token(secret)), std::string::npos);

  client.token = secret;
  EXPECT_EQ(client.get("/api/runs").status, 200);
  EXPECT_EQ(client.get("/api/tokens").status, 403);
  client.token = "secret-admin";
  EXPECT_EQ(client.erase("/api/tokens/ci").status, 204);
  EXPECT_EQ(client.erase("/api/tokens/ci").code(), "VX-AUTH-006");
  client.token = secret;
  EXPECT_EQ(client.get("/api/runs").status, 401);
}

TEST(Tokens, WhoWasKnownStaysKnownWhileTheStoreIsAway) {
  Client client(with_tokens());
  client.token = "secret-admin";
  client.token = client.post("/api/tokens", R"({"name":"w","role":"worker"})").text("/secret");
  EXPECT_EQ(client.get("/api/settings").status, 200);
  client.desk.store_up = false;
  EXPECT_EQ(client.get("/api/settings").status, 200);
  EXPECT_EQ(client.get("/api/runs").code(), "VX-STORE-004");
}

TEST(Tokens, AreRandomAndHashedTheSameWayEveryTime) {
  EXPECT_NE(mint_token(), mint_token());
  EXPECT_EQ(hash_token("vx_a"), hash_token("vx_a"));
  EXPECT_NE(hash_token("vx_a"), hash_token("vx_b"));
  EXPECT_EQ(hash_token("vx_a").size(), 64U);
}

TEST(Tokens, TheLastAdminIsNotRevoked) {
  Client client(with_tokens());
  client.token = "secret-admin";
  const std::string first =
      client.post("/api/tokens", R"({"name":"a","role":"admin"})").text("/secret");
  client.post("/api/tokens", R"({"name":"v","role":"viewer"})");
  client.token = first;
  const Answer refused = client.erase("/api/tokens/a");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.code(), "VX-AUTH-007");
  EXPECT_EQ(client.get("/api/tokens").status, 200) << "it is as good as before";
  EXPECT_EQ(client.erase("/api/tokens/v").status, 204);
  const std::string second =
      client.post("/api/tokens", R"({"name":"b","role":"admin"})").text("/secret");
  EXPECT_EQ(client.erase("/api/tokens/a").status, 204);
  client.token = second;
  EXPECT_EQ(client.erase("/api/tokens/b").code(), "VX-AUTH-007");
}

TEST(Tokens, AreChangedByOneRequestAtATime) {
  Client client;
  Access access(client.desk, with_tokens());
  auto one = access.begin_change();
  ASSERT_TRUE(one);
  EXPECT_FALSE(access.begin_change());
  one.reset();
  EXPECT_TRUE(access.begin_change());
}

TEST(Health, TellsStrangersOnlyWhetherItIsWell) {
  Client client(with_tokens());
  EXPECT_EQ(client.get("/health").body, "{\"status\":\"healthy\"}\n");
  client.desk.store_up = false;
  const Answer stranger = client.get("/health");
  EXPECT_EQ(stranger.status, 503);
  EXPECT_EQ(stranger.body, "{\"status\":\"unhealthy\"}\n");
  client.token = "secret-viewer";
  const Answer known = client.get("/health");
  EXPECT_EQ(known.status, 503);
  EXPECT_EQ(known.text("/detail"), "the store is away");
  EXPECT_EQ(known.text("/id"), "desk");
}

TEST(Roles, ARunShowsItsTokenAndCountsAgainstThatTokensQuota) {
  Client client(with_tokens());
  client.desk.state->policy.quota_per_token.runs = 1;
  const std::string body = R"({"dag":)" + one_task_dag() + "}";
  client.token = "secret-submitter";
  const Answer made = client.post("/api/runs", body);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.text("/submitted_by"), "submitter");
  const Answer refused = client.post("/api/runs", body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.text("/detail").find("token 'submitter'"), std::string::npos);
  client.token = "secret-operator";
  EXPECT_EQ(client.post("/api/runs", body).status, 201) << "another token has its own quota";
}

}  // namespace
}  // namespace vortex::api
