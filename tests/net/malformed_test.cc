#include <atomic>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/http_parse.h"
#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

using namespace std::string_literals;

struct Bad {
  std::string name;
  std::string bytes;
  int status = 400;
};

std::string head(const std::string& headers) { return "POST /x HTTP/1.1\r\nHost: x\r\n" + headers; }
std::string chunked(const std::string& body) {
  return head("Transfer-Encoding: chunked\r\n\r\n") + body;
}

std::vector<Bad> framing() {
  return {
      {"two lengths", head("Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")},
      {"the same length twice", head("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc")},
      {"a list of lengths", head("Content-Length: 3, 3\r\n\r\nabc")},
      {"length and chunks",
       head("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
      {"chunks and length",
       head("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n")},
      {"negative length", head("Content-Length: -1\r\n\r\n")},
      {"signed length", head("Content-Length: +3\r\n\r\nabc")},
      {"hex length", head("Content-Length: 0x3\r\n\r\nabc")},
      {"empty length", head("Content-Length:\r\n\r\n")},
      {"length beyond 64 bits", head("Content-Length: 99999999999999999999\r\n\r\n")},
      {"length with text", head("Content-Length: 3abc\r\n\r\n")},
      {"unknown coding", head("Transfer-Encoding: gzip\r\n\r\n")},
      {"chunked not alone", head("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")},
      {"chunked not last", head("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n")},
      {"chunked twice", head("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n")},
      {"identity beside chunked",
       head("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n")},
      {"almost chunked", head("Transfer-Encoding: xchunked\r\n\r\n")},
      {"chunked with a tab", head("Transfer-Encoding:\tchunked\v\r\n\r\n")},
      {"chunks in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"other expectation", head("Expect: tea\r\nContent-Length: 0\r\n\r\n"), 417},
      {"chunk size is text", chunked("zz\r\nab\r\n0\r\n\r\n")},
      {"chunk size is empty", chunked("\r\nab\r\n0\r\n\r\n")},
      {"chunk size is negative", chunked("-1\r\nab\r\n0\r\n\r\n")},
      {"chunk size is marked hex", chunked("0x2\r\nab\r\n0\r\n\r\n")},
      {"chunk size overflows", chunked("ffffffffffffffff1\r\nab\r\n")},
      {"chunk size of endless zeros", chunked(std::string(100, '0') + "\r\n\r\n")},
      {"space before a chunk size", chunked(" 2\r\nab\r\n0\r\n\r\n")},
      {"space after a chunk size", chunked("2 \r\nab\r\n0\r\n\r\n")},
      {"chunk line with a bare line feed", chunked("2\nab\r\n0\r\n\r\n")},
      {"chunk longer than said", chunked("2\r\nabc\r\n0\r\n\r\n")},
      {"chunk end with a bare line feed", chunked("2\r\nab\n0\r\n\r\n")},
      {"NUL in a chunk extension", chunked("2;a\0b\r\nab\r\n0\r\n\r\n"s)},
      {"line feed in a chunk extension", chunked("2;a\nGET / HTTP/1.1\r\nab\r\n0\r\n\r\n")},
      {"endless chunk extension", chunked("2;" + std::string(20'000, 'a'))},
      {"endless trailers", chunked("0\r\n" + std::string(20'000, 'a'))},
      {"bare line feed in a trailer", chunked("0\r\na: b\n\r\n\r\n")},
      {"a chunk beyond the body limit", chunked("fffffff\r\n"), 413},
      {"a length beyond the body limit", head("Content-Length: 99999999\r\n\r\n"), 413},
  };
}

std::vector<Bad> heads() {
  return {
      {"bare line feeds", "GET / HTTP/1.1\nHost: x\n\n"},
      {"one bare line feed", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n"},
      {"bare carriage return", "GET / HTTP/1.1\r\nHost: x\rA: b\r\n\r\n"},
      {"folded line", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"},
      {"folded with a tab", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n"},
      {"folded first header", "GET / HTTP/1.1\r\n Host: x\r\n\r\n"},
      {"NUL in a value", "GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n"s},
      {"NUL in a name", "GET / HTTP/1.1\r\nHost: x\r\nA\0: y\r\n\r\n"s},
      {"escape in a value", "GET / HTTP/1.1\r\nHost: x\x1b[2J\r\n\r\n"},
      {"delete in a value", "GET / HTTP/1.1\r\nHost: x\x7f\r\n\r\n"},
      {"space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
      {"empty header name", "GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n"},
      {"header without a colon", "GET / HTTP/1.1\r\nHost: x\r\nabc\r\n\r\n"},
      {"header name that is no token", "GET / HTTP/1.1\r\nHost: x\r\na(b): c\r\n\r\n"},
      {"no host", "GET / HTTP/1.1\r\n\r\n"},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
      {"unknown version", "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
      {"odd version", "GET / HTTP/1.1x\r\nHost: x\r\n\r\n"},
      {"small version", "GET / http/1.1\r\nHost: x\r\n\r\n"},
      {"no version", "GET /\r\nHost: x\r\n\r\n"},
      {"no target", "GET HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"method that is no token", "G@T / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s},
      {"binary", std::string(256, '\x01')},
      {"a HTTP/2 greeting", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"too many headers",
       [] {
         std::string text = "GET / HTTP/1.1\r\nHost: x\r\n";
         for (int i = 0; i < 200; ++i) text += "a: b\r\n";
         return text + "\r\n";
       }(),
       431},
      {"a head without end", "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(20'000, 'a'), 431},
      {"a request line without end", "GET /" + std::string(20'000, 'a'), 414},
  };
}

std::vector<Bad> targets() {
  std::vector<Bad> all;
  const auto add = [&](const std::string& target, int status = 400) {
    all.push_back({"target " + target.substr(0, 40), get(target), status});
  };
  for (const char* target :
       {"http://x/", "*",       "x",       "/a/../b", "/..",   "/a/..",   "/%2e%2e/b",  "/.%2E",
        "/.",        "/a/./b",  "//",      "//a",     "/a//b", "/a//",    "/%00",       "/a%00b",
        "/%",        "/%1",     "/%zz",    "/a%0ab",  "/%ff",  "/%c0%af", "/%ed%a0%80", "/?a=%00",
        "/?a=%",     "/?a=%g0", "/?%00=1", "/?a=%ff", "/#top", "/a?b#c"}) {
    add(target);
  }
  std::string deep;
  for (int i = 0; i < 33; ++i) deep += "/a";
  add(deep);
  add("/" + std::string(8 * 1024, 'a'), 414);
  return all;
}

std::vector<Bad> corpus() {
  std::vector<Bad> all = framing();
  for (auto&& part : {heads(), targets()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

ServerConfig small_limits() {
  ServerConfig config;
  config.body_bytes_max = 1024 * 1024;
  return config;
}

TEST(Malformed, EachIsRefusedAndNeverReachesTheHandler) {
  std::atomic<int> handled = 0;
  TestServer server(
      [&](Exchange& exchange) {
        ++handled;
        return echo()(exchange);
      },
      small_limits());
  for (const Bad& bad : corpus()) {
    SCOPED_TRACE(bad.name);
    RawSocket socket(server.port());
    ASSERT_TRUE(socket.connected());
    // What hides behind it must not be taken for a request either.
    socket.send(bad.bytes);
    socket.send(get("/smuggled"));
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, bad.status);
    EXPECT_THAT(answer->body, ::testing::StartsWith("complaint: "));
    EXPECT_EQ(find_header(answer->headers, "Connection"), "close");
    EXPECT_EQ(handled, 0);
  }
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/good")));
  EXPECT_EQ(socket.answer()->body, "GET\n/good\n");
  EXPECT_EQ(handled, 1);
}

TEST(Malformed, TheVerdictDoesNotDependOnThePackets) {
  const ParseLimits limits{16 * 1024, 1024 * 1024};
  for (const Bad& bad : corpus()) {
    SCOPED_TRACE(bad.name);
    const ParseOutcome whole = parse_request(bad.bytes, limits);
    ASSERT_EQ(whole.state, RequestParser::State::kRefused);
    EXPECT_EQ(whole.refusal.status, bad.status);
    RequestParser parser(limits);
    std::string seen;
    for (const char byte : bad.bytes) {
      seen.push_back(byte);
      seen.erase(0, parser.feed(seen));
      if (parser.state() == RequestParser::State::kRefused) break;
    }
    ASSERT_EQ(parser.state(), RequestParser::State::kRefused);
    EXPECT_EQ(parser.refusal().status, whole.refusal.status);
    EXPECT_EQ(parser.refusal().detail, whole.refusal.detail);
  }
}

}  // namespace
}  // namespace vortex::net::test
