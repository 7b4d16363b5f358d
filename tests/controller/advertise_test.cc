#include "controller/advertise.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace vortex::controller {
namespace {

std::string own_name() {
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  return host;
}

TEST(AdvertisedUrl, IsTheListenerUnlessItIsSet) {
  EXPECT_EQ(advertised_url("", {"127.0.0.1", 8080, false}, false)->url, "http://127.0.0.1:8080");
  EXPECT_EQ(advertised_url("", {"::1", 8443, true}, false)->url, "https://[::1]:8443");
  EXPECT_EQ(advertised_url("https://c1.example:99", {"0.0.0.0", 8080, true}, false)->url,
            "https://c1.example:99");
}

TEST(AdvertisedUrl, NamesThisMachineInsteadOfAllItsAddresses) {
  for (const char* all : {"0.0.0.0", "::"}) {
    const auto made = advertised_url("", {all, 8080, false}, false);
    ASSERT_TRUE(made) << made.error();
    EXPECT_EQ(made->url, "http://" + own_name() + ":8080");
    EXPECT_NE(made->notice.find("controller.advertise_url"), std::string::npos) << made->notice;
  }
  EXPECT_EQ(advertised_url("", {"0.0.0.0", 8080, false}, true)->notice, "");
}

TEST(AdvertisedUrl, RefusesWhatNobodyCanReach) {
  for (const char* bad : {"http://0.0.0.0:8080", "[::]:8080", "ftp://c1", "https://c1:0", "a b"}) {
    const auto made = advertised_url(bad, {"127.0.0.1", 8080, false}, false);
    ASSERT_FALSE(made) << bad;
    EXPECT_NE(made.error().find(bad), std::string::npos) << made.error();
  }
}

}  // namespace
}  // namespace vortex::controller
