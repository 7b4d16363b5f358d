// Networks as an operator writes them, and which addresses are those of the open internet.

#include "base/networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/settings_test_tools.h"

namespace vortex {
namespace {

using testing::HasSubstr;

TEST(Networks, AreReadAndRefusedWithTheirPart) {
  EXPECT_THAT(errors_of(from_environment({{"VORTEX_CONTROLLER_WORKER_NETWORKS", "10.0.0.0/8,x"}})),
              HasSubstr("controller.worker_networks = 10.0.0.0/8,x contains 'x', which is not a "
                        "network"));
  for (const char* bad :
       {"10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0", "/8", "a,b", "1.2.3.4/-1"}) {
    EXPECT_FALSE(Networks::parse(bad)) << bad;
  }
  const auto some = Networks::parse(" 10.0.0.0/8 , fd00::/8,192.0.2.7,").value();
  const auto has = [&some](const char* ip) { return some.contains(parse_ip(ip).value()); };
  EXPECT_TRUE(has("10.255.1.2"));
  EXPECT_TRUE(has("::ffff:10.0.0.1"));
  EXPECT_TRUE(has("fdff::1"));
  EXPECT_TRUE(has("192.0.2.7"));
  EXPECT_FALSE(has("192.0.2.6"));
  EXPECT_FALSE(has("11.0.0.0"));
  EXPECT_FALSE(has("fc00::1"));
  EXPECT_FALSE(Networks::parse("").value().contains(parse_ip("10.0.0.1").value()));
  EXPECT_FALSE(parse_ip("localhost"));
  EXPECT_FALSE(parse_ip("0x7f000001"));
  EXPECT_FALSE(parse_ip("127.1"));
  EXPECT_EQ(parse_ip("[fe80::1%eth0]"), parse_ip("fe80::1"));
}

TEST(Networks, SpecialAddressesAreNotPublic) {
  for (const char* special :
       {"0.0.0.0",         "10.0.0.1",        "100.64.0.1",  "127.0.0.1",
        "169.254.169.254", "172.31.255.255",  "192.168.0.1", "198.18.0.1",
        "224.0.0.1",       "255.255.255.255", "::",          "::1",
        "fe80::1",         "fec0::1",         "fd00::1",     "ff02::1",
        "2001:db8::1",     "::ffff:10.0.0.1", "::10.0.0.1",  "64:ff9b::10.0.0.1",
        "2002:a00:1::"}) {
    EXPECT_FALSE(is_public(parse_ip(special).value())) << special;
  }
  for (const char* open : {"1.1.1.1", "172.32.0.1", "169.253.0.1", "2606:4700::1111",
                           "64:ff9b::1.1.1.1", "2002:101:101::"}) {
    EXPECT_TRUE(is_public(parse_ip(open).value())) << open;
  }
}

}  // namespace
}  // namespace vortex
