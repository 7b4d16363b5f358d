// Webhooks as callers see them; that they are told is tested with a whole controller.
#include <gtest/gtest.h>

#include "api/secrets.h"
#include "tests/api/client.h"
#include "tests/api/steps.h"

namespace vortex::api {
namespace {

TEST(Webhooks, TheSecretIsShownOnceAndTheFirstEventIsTheNextOne) {
  Client client;
  submit(client, one_task_dag());
  const std::uint64_t last = client.desk.feed.last_seq();
  ASSERT_GT(last, 0U);
  const Answer made = client.post("/api/webhooks", R"({"name":"ci","url":"https://ci/x?y=z"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.header("Cache-Control"), "no-store");
  const std::string secret = made.text("/secret");
  EXPECT_TRUE(secret.starts_with("whsec_"));
  EXPECT_EQ(made.text("/kinds/0"), "run_complete");
  EXPECT_EQ(static_cast<std::uint64_t>(made.number("/after")), last);
  EXPECT_TRUE(made.at("/dag").is_null());
  EXPECT_EQ(client.get("/api/webhooks").body.find(secret), std::string::npos);
  EXPECT_EQ(client.get("/api/webhooks/ci").body.find(secret), std::string::npos);
}

TEST(Webhooks, ANameIsTakenUntilItIsDeleted) {
  Client client;
  const std::string body =
      R"({"name":"ci","url":"http://ci/","kinds":["task_failed","task_complete","task_failed"],)"
      R"("dag":"etl","after":0})";
  ASSERT_EQ(client.post("/api/webhooks", body).status, 201);
  EXPECT_EQ(client.post("/api/webhooks", body).code(), "VX-HOOK-001");
  const Answer one = client.get("/api/webhooks/ci");
  EXPECT_EQ(one.at("/kinds").as_array().size(), 2U) << "each kind once";
  EXPECT_EQ(one.text("/dag"), "etl");
  EXPECT_EQ(one.number("/after"), 0);
  EXPECT_EQ(client.erase("/api/webhooks/ci").status, 204);
  EXPECT_EQ(client.erase("/api/webhooks/ci").code(), "VX-HOOK-002");
  EXPECT_EQ(client.post("/api/webhooks", body).status, 201);
}

TEST(Webhooks, AMistypedKindGetsAHint) {
  Client client;
  const Answer answer =
      client.post("/api/webhooks", R"({"name":"ci","url":"http://ci/","kinds":["run_compelte"]})");
  EXPECT_EQ(answer.text("/errors/0/pointer"), "/kinds/0");
  EXPECT_EQ(answer.text("/errors/0/help"), "did you mean 'run_complete'?");
}

TEST(Webhooks, ATryThatFailsIsAnAnswerAndNoError) {
  Client client;
  client.post("/api/webhooks", R"({"name":"ci","url":"http://ci/"})");
  EXPECT_TRUE(client.post("/api/webhooks/ci/test").at("/taken").as_bool());
  client.desk.delivery = {.taken = false,
                          .status = 0,
                          .trouble = "nobody listens",
                          .retry_after = {},
                          .took = millis(3)};
  const Answer tried = client.post("/api/webhooks/ci/test");
  EXPECT_EQ(tried.status, 200);
  EXPECT_TRUE(tried.at("/status").is_null());
  EXPECT_EQ(tried.text("/trouble"), "nobody listens");
  EXPECT_EQ(tried.number("/took_ms"), 3);
}

TEST(Webhooks, ReachOnlyPublicAddressesUnlessOthersAreAllowed) {
  Client client;
  const auto create = [&](const std::string& host) {
    static int number = 0;
    return client.post("/api/webhooks", "{\"name\":\"w" + std::to_string(++number) +
                                            "\",\"url\":\"http://" + host + "/in\"}");
  };
  for (const char* host :
       {"127.0.0.1", "127.9.9.9:8080", "localhost", "LOCALHOST:1", "10.1.2.3", "172.16.0.1",
        "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]",
        "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::]"}) {
    const Answer refused = create(host);
    EXPECT_EQ(refused.status, 422) << host;
    EXPECT_EQ(refused.code(), "VX-HOOK-003") << host << refused.body;
  }
  for (const char* host : {"93.184.216.34", "[2606:4700::1111]", "ci.example.org", "172.32.0.1"}) {
    EXPECT_EQ(create(host).status, 201) << host;
  }
  client.desk.edit_settings().webhook_networks = "10.1.0.0/16, ::1, 127.0.0.1";
  for (const char* host : {"10.1.2.3", "[::1]", "localhost", "[::ffff:127.0.0.1]"}) {
    EXPECT_EQ(create(host).status, 201) << host;
  }
  EXPECT_EQ(create("10.2.0.1").status, 422);
  EXPECT_EQ(create("127.0.0.2").status, 422);
}

// The secret, message and signature of the example in the specification of Standard Webhooks.
TEST(WebhookSecret, SignsAsTheSpecificationDoes) {
  EXPECT_EQ(sign_webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                         {"msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", R"({"test": 2432232314})"}),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  EXPECT_EQ(sign_webhook("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", {"a", "1", "{}"}), "");
  EXPECT_EQ(sign_webhook("whsec_no base64", {"a", "1", "{}"}), "");
  EXPECT_NE(mint_webhook_secret(), mint_webhook_secret());
}

}  // namespace
}  // namespace vortex::api
