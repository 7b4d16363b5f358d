#include <atomic>
#include <string>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

namespace asio = boost::asio;
using namespace boost::asio::experimental::awaitable_operators;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

asio::awaitable<Response> three_pieces(Exchange& exchange) {
  const Headers headers{{"X-A", "b"}};
  Stream* stream = co_await exchange.begin_stream(200, "text/event-stream", headers);
  for (const char* piece : {"one", "", "two", "three"}) {
    const bool taken = co_await stream->write(piece);
    if (!taken) break;
  }
  co_return Response{};
}

TEST(Streaming, PiecesArriveAsChunksAndTheConnectionGoesOn) {
  TestServer server(three_pieces);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/") + get("/")));
  for (int i = 0; i < 2; ++i) {
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->content_type, "text/event-stream");
    EXPECT_EQ(find_header(answer->headers, "X-A"), "b");
    EXPECT_EQ(answer->body, "onetwothree");
  }
}

TEST(Streaming, OldClientsGetThePiecesBare) {
  TestServer server(three_pieces);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("GET / HTTP/1.0\r\n\r\n"));
  const std::string all = socket.receive_until_closed();
  EXPECT_THAT(all, Not(HasSubstr("chunked")));
  EXPECT_THAT(all, EndsWith("\r\n\r\nonetwothree"));
}

TEST(Streaming, HeadGetsTheHeadOnly) {
  TestServer server(three_pieces);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n" + get("/")));
  EXPECT_EQ(socket.answer(Method::kHead)->body, "");
  EXPECT_EQ(socket.answer()->body, "onetwothree");
}

// Writes for ever; counts how it ends.
struct Flood {
  Signal begun;
  Signal ended;
  std::size_t piece = 64 * 1024;

  asio::awaitable<Response> run(Exchange& exchange) {
    Stream* stream = co_await exchange.begin_stream(200, "text/plain", {});
    const std::string text(piece, 'x');
    begun.raise();
    for (bool taken = true; taken;) taken = co_await stream->write(text);
    ended.raise();
    co_return Response{};
  }
  Handler handler() {
    return [this](Exchange& exchange) { return run(exchange); };
  }
};

TEST(Streaming, AClientThatDoesNotReadIsCutOff) {
  Flood flood;
  ServerConfig config;
  config.write_limit = millis(150);
  TestServer server(flood.handler(), config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  EXPECT_TRUE(flood.ended.wait_for(1, Millis(3000)));
}

TEST(Streaming, AClientThatHangsUpEndsTheStream) {
  Flood flood;
  TestServer server(flood.handler());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(flood.begun.wait_for(1));
  socket.close();
  EXPECT_TRUE(flood.ended.wait_for(1));
}

TEST(Streaming, StopEndsAStreamThatDoesNotListen) {
  Flood flood;
  ServerConfig config;
  config.drain_limit = millis(200);
  TestServer server(flood.handler(), config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(flood.begun.wait_for(1));
  const auto took = server.stop();
  ASSERT_TRUE(took);
  EXPECT_LT(*took, Millis(1500));
}

// What an event feed does: wait for something, or for the end.
asio::awaitable<Response> feed(Exchange& exchange, Signal& begun) {
  Stream* stream = co_await exchange.begin_stream(200, "text/event-stream", {});
  for (int i = 0;; ++i) {
    const std::string line = fmt::format("data: {}\n\n", i);
    const bool taken = co_await stream->write(line);
    if (!taken) break;
    begun.raise();
    asio::steady_timer next(exchange.executor(), i < 3 ? Millis(1) : Millis(60'000));
    const auto first = co_await (next.async_wait(asio::use_awaitable) || exchange.closed());
    if (first.index() == 1) break;
  }
  co_return Response{};
}

TEST(Streaming, StopEndsAFeedInOrder) {
  Signal begun;
  TestServer server([&](Exchange& exchange) { return feed(exchange, begun); });
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(begun.wait_for(4));
  const auto took = server.stop();
  ASSERT_TRUE(took);
  EXPECT_LT(*took, Millis(1000));
  EXPECT_THAT(socket.receive_until_closed(), EndsWith("\r\n0\r\n\r\n"));
}

asio::awaitable<Response> throws_midway(Exchange& exchange) {
  Stream* stream = co_await exchange.begin_stream(200, "text/plain", {});
  const bool taken = co_await stream->write("some");
  if (taken) throw std::runtime_error("midway");
  co_return Response{};
}

TEST(Streaming, AHandlerThatThrowsMidwayLeavesTheAnswerVisiblyUnfinished) {
  TestServer server(throws_midway);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  const std::string all = socket.receive_until_closed();
  EXPECT_THAT(all, HasSubstr("some"));
  EXPECT_THAT(all, Not(HasSubstr("0\r\n\r\n")));
}

}  // namespace
}  // namespace vortex::net::test
