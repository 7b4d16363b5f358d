#include <new>
#include <string>

#include <arpa/inet.h>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace asio = boost::asio;

TEST(Serve, AnswersWithWhatTheHandlerReturned) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(post("/api/runs/r%201?a=1+2&b=%2B", "body")));
  const auto answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->content_type, "text/plain");
  EXPECT_EQ(answer->body, "POST\n/api\n/runs\n/r 1\na=1 2\nb=+\nbody");
}

TEST(Serve, ProgramsThatAreStartedInheritNoSocketOfTheServer) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(socket.answer());
  int found = 0;
  for (int fd = 3; fd < 200; ++fd) {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    if (own.sin_family != AF_INET || ntohs(own.sin_port) != server.port()) continue;
    ++found;
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(found, 2) << "the listener and one connection";
}

TEST(Serve, KeepsTheConnectionForManyRequests) {
  TestServer server(echo());
  RawSocket socket(server.port());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(socket.send(get(fmt::format("/{}", i))));
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, fmt::format("GET\n/{}\n", i));
  }
  EXPECT_EQ(server.server().connections(), 1U);
}

// Later requests would be faster, were they allowed to overtake.
asio::awaitable<Response> slower_at_first(Exchange& exchange) {
  const int turns = 100 - std::stoi(exchange.request().segments.at(0));
  for (int i = 0; i < turns; ++i) co_await asio::post(exchange.executor(), asio::use_awaitable);
  Response response;
  response.body = exchange.request().segments.at(0);
  co_return response;
}

TEST(Serve, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server(slower_at_first);
  RawSocket socket(server.port());
  std::string all;
  for (int i = 0; i < 100; ++i)
    all += i % 2 == 0 ? get(fmt::format("/{}", i)) : post(fmt::format("/{}", i), "xyz");
  ASSERT_TRUE(socket.send(all));
  for (int i = 0; i < 100; ++i) {
    const auto answer = socket.answer();
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(answer->body, std::to_string(i));
  }
}

TEST(Serve, HeadHasTheLengthAndNoBody) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n" + get("/next")));
  const auto head = socket.answer(Method::kHead);
  ASSERT_TRUE(head);
  EXPECT_EQ(find_header(head->headers, "Content-Length"), "10");
  EXPECT_TRUE(head->body.empty());
  const auto next = socket.answer();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->body, "GET\n/next\n");
}

TEST(Serve, UnknownMethodsReachTheHandlerAsOther) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n"));
  const auto answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->body, StartsWith("OTHER\n"));
}

TEST(Serve, AnEmptyLineBeforeARequestIsOverlooked) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(post("/1", "abc") + "\r\n" + get("/2")));
  EXPECT_EQ(socket.answer()->body, "POST\n/1\nabc");
  EXPECT_EQ(socket.answer()->body, "GET\n/2\n");
}

TEST(Serve, ConnectionCloseIsHonoured) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(socket.receive_until_closed(), HasSubstr("Connection: close\r\n"));
}

TEST(Serve, OldClientsGetTheirAnswerAndTheEnd) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("GET /old HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(socket.receive_until_closed(), HasSubstr("GET\n/old\n"));
}

TEST(Serve, OldClientsMayAskToStay) {
  TestServer server(echo());
  RawSocket socket(server.port());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(socket.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(find_header(answer->headers, "Connection"), "keep-alive");
  }
}

TEST(Serve, SaysNeitherDateNorServer) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  const auto answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(find_header(answer->headers, "Date"));
  EXPECT_FALSE(find_header(answer->headers, "Server"));
}

TEST(Serve, ContinueIsSentWhenTheSenderWaitsForIt) {
  TestServer server(echo());
  RawSocket socket(server.port());
  ASSERT_TRUE(
      socket.send("POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                  "Expect: 100-continue\r\n\r\n"));
  EXPECT_EQ(socket.receive(), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(socket.send("abc"));
  EXPECT_EQ(socket.answer()->body, "POST\n/big\nabc");
}

asio::awaitable<Response> with_odd_headers(Exchange&) {
  Response response;
  response.headers = {{"X-Note", "a\r\nSet-Cookie: evil"}, {"Content-Length", "99"}};
  response.body = "ok";
  co_return response;
}

TEST(Serve, HeadersOfTheHandlerCannotBreakTheFraming) {
  TestServer server(with_odd_headers);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  const auto answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "ok");
  EXPECT_EQ(find_header(answer->headers, "X-Note"), "a  Set-Cookie: evil");
  EXPECT_FALSE(find_header(answer->headers, "Set-Cookie"));
}

asio::awaitable<Response> throws(Exchange& exchange) {
  const std::string what = exchange.request().segments.at(0);
  if (what == "memory") throw std::bad_alloc();
  if (what == "number") throw 42;
  if (what == "later") {
    co_await asio::post(exchange.executor(), asio::use_awaitable);
    throw std::runtime_error("later");
  }
  co_return Response{};
}

TEST(Serve, AHandlerThatThrowsIsA500AndTheServerLives) {
  TestServer server(throws);
  for (const char* target : {"/memory", "/number", "/later"}) {
    RawSocket socket(server.port());
    ASSERT_TRUE(socket.send(get(target) + get("/never")));
    const std::string all = socket.receive_until_closed();
    EXPECT_THAT(all, StartsWith("HTTP/1.1 500 ")) << target;
    EXPECT_THAT(all, HasSubstr("complaint: ")) << target;
    EXPECT_THAT(all, Not(HasSubstr("200 OK"))) << target;
  }
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/fine")));
  EXPECT_EQ(socket.answer()->status, 200);
}

asio::awaitable<Response> large(Exchange&) {
  Response response;
  response.body.assign(8 * 1024 * 1024, 'x');
  co_return response;
}

TEST(Serve, LargeAnswersArriveWholeAndInOrder) {
  TestServer server(large);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/") + get("/")));
  for (int i = 0; i < 2; ++i) {
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body.size(), 8U * 1024 * 1024);
  }
}

asio::awaitable<Response> no_content(Exchange&) {
  Response response;
  response.status = 204;
  response.body = "never sent";
  co_return response;
}

TEST(Serve, NoContentMeansNoBody) {
  TestServer server(no_content);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/") + get("/")));
  EXPECT_EQ(socket.answer()->status, 204);
  EXPECT_EQ(socket.answer()->status, 204);
}

TEST(Serve, ListensOnIpv6) {
  ServerConfig config;
  config.address = "::1";
  TestServer server(echo(), config);
  RawSocket socket(server.port(), "::1");
  ASSERT_TRUE(socket.connected());
  ASSERT_TRUE(socket.send(get("/six")));
  EXPECT_EQ(socket.answer()->body, "GET\n/six\n");
}

TEST(Serve, AnAddressInUseIsAReadableError) {
  TestServer first(echo());
  asio::io_context io;
  ServerConfig config;
  config.port = first.port();
  const auto second = Server::listen(io, config, echo(), complain);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(),
            fmt::format("cannot listen on 127.0.0.1:{}: Address already in use", first.port()));
}

TEST(Serve, AnAddressThatIsNoneIsAReadableError) {
  asio::io_context io;
  ServerConfig config;
  config.address = "not an address";
  const auto server = Server::listen(io, config, echo(), complain);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error(), HasSubstr("not an IP address"));
}

}  // namespace
}  // namespace vortex::net::test
