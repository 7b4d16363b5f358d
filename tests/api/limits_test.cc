// Named limits over HTTP: setting, showing, deleting, and what is refused.

#include <gmock/gmock.h>

#include "tests/api/client.h"
#include "tests/api/desk.h"

namespace vortex::api {
namespace {

using ::testing::HasSubstr;

TEST(Limits, AreSetShownListedAndDeleted) {
  Client client;
  const Answer set = client.put("/api/limits/api", R"({"slots":5,"rate":"100/1m"})");
  ASSERT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(set.number("/slots"), 5);
  EXPECT_EQ(set.text("/rate"), "100/1m");
  EXPECT_EQ(client.get("/api/limits/api").number("/held"), 0);
  EXPECT_EQ(client.get("/api/limits").text("/limits/0/name"), "api");
  EXPECT_EQ(client.put("/api/limits/api", R"({"slots":2})").status, 200);
  EXPECT_TRUE(client.get("/api/limits/api").at("/rate").is_null());
  EXPECT_EQ(client.erase("/api/limits/api").status, 204);
  EXPECT_EQ(client.erase("/api/limits/api").status, 404);
  const Answer gone = client.get("/api/limits/api");
  EXPECT_EQ(gone.status, 404);
  EXPECT_THAT(gone.body, HasSubstr("VX-LIMIT-001"));
}

TEST(Limits, MistakesAreRefusedWithWhatToWrite) {
  Client client;
  for (const auto& [body, words] :
       {std::pair(R"({"slots":0})", "slots"), std::pair(R"({"rate":"often"})", "100/1m"),
        std::pair(R"({"rate":"0/1m"})", "would let nothing start"),
        std::pair(R"({})", "needs slots, a rate or both"), std::pair(R"({"slot":1})", "slot")}) {
    const Answer answer = client.put("/api/limits/api", body);
    EXPECT_GE(answer.status, 400) << body;
    EXPECT_LT(answer.status, 500) << body;
    EXPECT_THAT(answer.body, HasSubstr(words)) << body;
  }
}

}  // namespace
}  // namespace vortex::api
