// Host and Origin: what a browser could be made to send.
#include <gtest/gtest.h>

#include "api/access.h"
#include "tests/api/client.h"

namespace vortex::api {
namespace {

TEST(Place, OnlyTheNamesOfLoopbackAreServedOnLoopback) {
  for (const char* host : {"localhost", "localhost:8080", "LocalHost:1", "127.0.0.1",
                           "127.0.0.1:65535", "[::1]", "[::1]:8080"}) {
    EXPECT_TRUE(is_loopback_host(host)) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "localhost:", "localhost:80x", "[::1", "::1",
                           "[::2]", "127.0.0.2", "localhost@evil", "0.0.0.0", "localhost:80:80"}) {
    EXPECT_FALSE(is_loopback_host(host)) << host;
  }
}

TEST(Place, AForeignHostIsRefusedWithEveryMethodAndPath) {
  Client client;
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"}) {
    for (const char* path : {"/livez", "/api/runs", "/no/such"}) {
      const Answer answer =
          client.send(make_request(method, path, {}, {{"Host", "rebound.example:8080"}}));
      EXPECT_EQ(answer.status, 421) << method << path;
      EXPECT_EQ(answer.code(), "VX-AUTH-003");
    }
  }
}

TEST(Place, AnyHostIsServedWhenNotOnLoopback) {
  AccessPolicy policy = Client::open_policy();
  policy.loopback = false;
  Client client(policy);
  EXPECT_EQ(client.get("/livez", {{"Host", "vortex.example"}}).status, 200);
}

struct OriginCase {
  const char* host;
  const char* origin;
  bool fine;
};

TEST(Place, AnOriginMustBeTheHostItself) {
  const OriginCase cases[] = {
      {"localhost:8080", "http://localhost:8080", true},
      {"localhost:8080", "https://localhost:8080", true},
      {"localhost", "http://localhost", true},
      {"localhost:80", "http://localhost", true},
      {"localhost:8080", "http://LOCALHOST:8080", true},
      {"localhost:8080", "http://localhost:8081", false},
      {"localhost:8080", "http://127.0.0.1:8080", false},
      {"localhost:8080", "http://evil.example", false},
      {"localhost:8080", "http://localhost:8080.evil.example", false},
      {"localhost:8080", "null", false},
      {"localhost:8080", "", false},
      {"localhost:8080", "file://localhost:8080", false},
  };
  Client client;
  for (const OriginCase& c : cases) {
    for (const char* method : {"GET", "POST"}) {
      const Answer answer = client.send(make_request(method, "/api/queues/q/pause", {},
                                                     {{"Host", c.host}, {"Origin", c.origin}}));
      const bool refused = answer.status == 403 && answer.code() == "VX-AUTH-004";
      EXPECT_EQ(refused, !c.fine) << c.host << " " << c.origin << " " << method;
    }
  }
}

}  // namespace
}  // namespace vortex::api
