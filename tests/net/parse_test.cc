#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/text.h"
#include "net/client.h"
#include "net/http.h"
#include "net/http_parse.h"
#include "net/socket.h"
#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using State = RequestParser::State;

Request parsed(const std::string& target) {
  const ParseOutcome outcome = parse_request(get(target));
  EXPECT_EQ(outcome.state, State::kDone) << target << ": " << outcome.refusal.detail;
  return outcome.request;
}

TEST(Target, SegmentsAreDecodedAndKeepTheirPlus) {
  EXPECT_THAT(parsed("/").segments, IsEmpty());
  EXPECT_THAT(parsed("/api/runs/r1").segments, ElementsAre("api", "runs", "r1"));
  EXPECT_THAT(parsed("/api/runs/").segments, ElementsAre("api", "runs"));
  EXPECT_THAT(parsed("/a+b/c%20d/e%2Ff").segments, ElementsAre("a+b", "c d", "e/f"));
  EXPECT_THAT(parsed("/%C3%A9/...").segments, ElementsAre("\xC3\xA9", "..."));
}

TEST(Target, QueryItemsAreDecodedInOrder) {
  EXPECT_THAT(parsed("/x").query.items, IsEmpty());
  EXPECT_THAT(parsed("/x?").query.items, IsEmpty());
  EXPECT_THAT(parsed("/x?a=1&b=2&a=3").query.items,
              ElementsAre(Pair("a", "1"), Pair("b", "2"), Pair("a", "3")));
  EXPECT_THAT(parsed("/x?&a&&b=&=c&d=e=f").query.items,
              ElementsAre(Pair("a", ""), Pair("b", ""), Pair("", "c"), Pair("d", "e=f")));
  EXPECT_THAT(parsed("/x?q=a+b%2Bc%26d%0A").query.items, ElementsAre(Pair("q", "a b+c&d\n")));
  EXPECT_EQ(parsed("/x?a=1&a=2").query.find("a"), "1");
  EXPECT_FALSE(parsed("/x?a=1").query.find("b"));
}

TEST(Target, TheLongestAndDeepestAllowedAreAccepted) {
  std::string deep;
  for (int i = 0; i < 32; ++i) deep += "/a";
  EXPECT_EQ(parsed(deep).segments.size(), 32U);
  EXPECT_EQ(parsed("/" + std::string(8 * 1024 - 1, 'a')).segments.at(0).size(), 8U * 1024 - 1);
}

TEST(Text, Utf8IsJudgedByTheBook) {
  for (const char* good :
       {"", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(Parse, ChunksBecomeOneBodyAndTrailersAreDropped) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: CHUNKED\r\n\r\n"
      "3\r\nabc\r\nA;ext=\"1\"\r\n0123456789\r\n0\r\nAuthorization: Bearer no\r\n\r\n";
  const ParseOutcome outcome = parse_request(text + get("/next"));
  ASSERT_EQ(outcome.state, State::kDone);
  EXPECT_EQ(outcome.request.body, "abc0123456789");
  EXPECT_FALSE(find_header(outcome.request.headers, "Authorization"));
  EXPECT_EQ(outcome.used, text.size());
}

TEST(Parse, HeadersAreFoundInAnyCase) {
  const ParseOutcome outcome =
      parse_request("GET / HTTP/1.1\r\nhOST: x\r\nX-A:  b c \t\r\nx-a: second\r\n\r\n");
  ASSERT_EQ(outcome.state, State::kDone);
  EXPECT_EQ(find_header(outcome.request.headers, "x-A"), "b c");
}

// A request as it could really be sent, with what the parser must make of it.
struct Sent {
  std::string bytes;
  std::string body;
  std::size_t headers = 0;
};

Sent any_request() {
  Sent sent;
  sent.body = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto names = *rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'f'))));
  sent.bytes = "PUT /a%20b/c?d=e HTTP/1.1\r\nHost: h\r\n";
  sent.headers = std::min<std::size_t>(names.size(), 50) + 2;
  for (std::size_t i = 0; i + 2 < sent.headers; ++i) sent.bytes += "x-" + names[i] + ": v\r\n";
  if (*rc::gen::arbitrary<bool>()) {
    sent.bytes += fmt::format("Content-Length: {}\r\n\r\n{}", sent.body.size(), sent.body);
    return sent;
  }
  sent.bytes += "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < sent.body.size();) {
    const auto size = std::min(*rc::gen::inRange<std::size_t>(1, 20), sent.body.size() - at);
    sent.bytes += fmt::format("{:x}\r\n{}\r\n", size, sent.body.substr(at, size));
    at += size;
  }
  sent.bytes += "0\r\n\r\n";
  return sent;
}

RC_GTEST_PROP(Parse, AnySplitIntoPacketsParsesTheSame, ()) {
  const Sent sent = any_request();
  const std::string behind = "GET /next";
  const std::string all = sent.bytes + behind;
  RequestParser parser({});
  std::string seen;
  std::size_t used = 0;
  for (std::size_t at = 0; at < all.size() && parser.state() != State::kDone;) {
    const auto size = std::min(*rc::gen::inRange<std::size_t>(1, 40), all.size() - at);
    seen += all.substr(at, size);
    at += size;
    const std::size_t taken = parser.feed(seen);
    seen.erase(0, taken);
    used += taken;
  }
  RC_ASSERT(parser.state() == State::kDone);
  RC_ASSERT(used == sent.bytes.size());
  RC_ASSERT(parser.request().body == sent.body);
  RC_ASSERT(parser.request().headers.size() == sent.headers);
  RC_ASSERT(parser.request().segments == (std::vector<std::string>{"a b", "c"}));
}

RC_GTEST_PROP(Parse, AnyBytesAreSurvivedAndJudgedTheSameInParts, ()) {
  std::string bytes = any_request().bytes;
  const auto wounds = *rc::gen::inRange(0, 5);
  for (int i = 0; i < wounds; ++i) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  const ParseOutcome whole = parse_request(bytes);
  RequestParser parser({});
  std::string seen;
  std::size_t used = 0;
  for (const char byte : bytes) {
    seen.push_back(byte);
    const std::size_t taken = parser.feed(seen);
    seen.erase(0, taken);
    used += taken;
    if (parser.state() == State::kDone || parser.state() == State::kRefused) break;
  }
  RC_ASSERT(parser.state() == whole.state);
  if (whole.state == State::kDone) RC_ASSERT(used == whole.used);
  if (whole.state == State::kRefused) RC_ASSERT(parser.refusal().detail == whole.refusal.detail);
}

TEST(Endpoint, ReadsWhatPeopleWrite) {
  const auto text = [](std::string_view from) -> std::string {
    const auto endpoint = parse_endpoint(from, 7700);
    if (!endpoint) return "none";
    return fmt::format("{} {}{}", endpoint->host, endpoint->port, endpoint->tls ? " tls" : "");
  };
  EXPECT_EQ(text("host"), "host 7700");
  EXPECT_EQ(text("host:1"), "host 1");
  EXPECT_EQ(text("http://host:65535"), "host 65535");
  EXPECT_EQ(text("HTTP://10.0.0.1:80/"), "10.0.0.1 80");
  EXPECT_EQ(text("https://host"), "host 443 tls");
  EXPECT_EQ(text("https://host:8443/"), "host 8443 tls");
  EXPECT_EQ(text("[::1]"), "::1 7700");
  EXPECT_EQ(text("http://[fe80::1]:81"), "fe80::1 81");
  for (const char* bad :
       {"", ":80", "host:", "host:0", "host:65536", "host:x", "host:+1", "ftp://host", "http://",
        "::1", "[::1", "[::1]x", "[host]:80", "a b", "host/path", "user@host", "host:1:2"}) {
    EXPECT_EQ(text(bad), "none") << bad;
  }
}

TEST(WebAddress, HasAnEndpointAndWhatIsAskedForThere) {
  const auto text = [](std::string_view from) -> std::string {
    const auto address = parse_web_address(from);
    if (!address) return "none";
    const Endpoint& at = address->endpoint;
    return fmt::format("{} {}{} {}", at.host, at.port, at.tls ? " tls" : "", address->target);
  };
  EXPECT_EQ(text("http://host"), "host 80 /");
  EXPECT_EQ(text("https://host/a/b?c=d/e"), "host 443 tls /a/b?c=d/e");
  EXPECT_EQ(text("https://[::1]:8443?q"), "::1 8443 tls /?q");
  for (const char* bad :
       {"", "host", "host/a", "ftp://host/", "http:///a", "http://host/a b", "http://host/a#b",
        "http://user:pass@host/", "http://host:0/", "http://host\n/", "http://ho st/"}) {
    EXPECT_EQ(text(bad), "none") << bad;
  }
}

TEST(ListenCheck, OnlyAddressesOfThisMachineAreLoopback) {
  for (const char* inside :
       {"127.0.0.1", "127.8.9.10", "::1", "[::1]", "::ffff:127.0.0.1", "localhost", "LocalHost"}) {
    EXPECT_TRUE(is_loopback(inside)) << inside;
  }
  for (const char* outside : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::ffff:10.0.0.1", "",
                              "localhost.example.org", "127.0.0.1.example.org", "127.1x"}) {
    EXPECT_FALSE(is_loopback(outside)) << outside;
  }
}

TEST(Url, IsWhatParseEndpointReads) {
  for (const char* url : {"http://host:80", "https://host:8443", "https://[::1]:443"}) {
    EXPECT_EQ(url_of(parse_endpoint(url, 1).value()), url);
  }
  EXPECT_EQ(url_of(parse_endpoint("https://host", 8080).value()), "https://host:443");
}

TEST(Url, OnlyPlainHttpThatLeavesTheMachineIsInClear) {
  EXPECT_TRUE(is_in_clear({.host = "controller", .port = 1}));
  EXPECT_TRUE(is_in_clear({.host = "10.0.0.1", .port = 1}));
  EXPECT_FALSE(is_in_clear({.host = "127.0.0.1", .port = 1}));
  EXPECT_FALSE(is_in_clear({.host = "localhost", .port = 1}));
  EXPECT_FALSE(is_in_clear({.host = "controller", .port = 1, .tls = true}));
}

}  // namespace
}  // namespace vortex::net::test
