#include <atomic>
#include <chrono>
#include <future>
#include <string>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
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
using Clock = std::chrono::steady_clock;

asio::awaitable<void> wait_for(asio::any_io_executor executor, Millis time) {
  asio::steady_timer timer(executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

// Parks every request until the other end goes or the time is over, and says which.
struct Parking {
  Signal parked;
  Signal left;
  Signal timed_out;
  Millis time{60'000};

  asio::awaitable<Response> park(Exchange& exchange) {
    parked.raise();
    auto waiting = wait_for(exchange.executor(), time);
    const auto first = co_await (std::move(waiting) || exchange.closed());
    (first.index() == 0 ? timed_out : left).raise();
    Response response;
    response.body = first.index() == 0 ? "time" : "gone";
    co_return response;
  }
  Handler handler() {
    return [this](Exchange& exchange) { return park(exchange); };
  }
};

TEST(Closed, AClientThatHangsUpIsNoticedAtOnce) {
  Parking parking;
  TestServer server(parking.handler());
  for (int i = 1; i <= 20; ++i) {
    RawSocket socket(server.port());
    ASSERT_TRUE(socket.send(get("/")));
    ASSERT_TRUE(parking.parked.wait_for(i));
    const auto begin = Clock::now();
    i % 2 == 0 ? socket.close() : socket.reset();
    ASSERT_TRUE(parking.left.wait_for(i));
    EXPECT_LT(Clock::now() - begin, Millis(100));
  }
}

TEST(Closed, AnEndThatCameBeforeTheWaitIsNoticedToo) {
  Parking parking;
  TestServer server(parking.handler());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  socket.finish_sending();
  EXPECT_TRUE(parking.left.wait_for(1, Millis(1000)));
}

TEST(Closed, APipelinedRequestIsNoHangUpAndIsServedAfterwards) {
  Parking parking;
  parking.time = Millis(200);
  TestServer server(parking.handler());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/1")));
  ASSERT_TRUE(parking.parked.wait_for(1));
  ASSERT_TRUE(socket.send(get("/2")));
  EXPECT_EQ(socket.answer()->body, "time");
  EXPECT_EQ(socket.answer()->body, "time");
  EXPECT_EQ(parking.left.count(), 0);
}

TEST(Closed, AHangUpBehindAPipelinedRequestIsNoticedSoon) {
  Parking parking;
  TestServer server(parking.handler());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/1")));
  ASSERT_TRUE(parking.parked.wait_for(1));
  ASSERT_TRUE(socket.send(get("/2")));
  socket.close();
  EXPECT_TRUE(parking.left.wait_for(1, Millis(2500)));
}

TEST(Closed, TheWaitCanBeEndedAndBegunAgainManyTimes) {
  Parking parking;
  parking.time = Millis(0);
  TestServer server(parking.handler());
  RawSocket socket(server.port());
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(socket.send(get("/")));
    const auto answer = socket.answer();
    ASSERT_TRUE(answer) << i;
    ASSERT_EQ(answer->body, "time") << i;
  }
}

// Several waits within one request, one after the other, then the hang-up.
TEST(Closed, ManyWaitsWithinOneRequest) {
  Signal waited;
  Signal left;
  const auto handler = [&](Exchange& exchange) -> asio::awaitable<Response> {
    for (;;) {
      auto waiting = wait_for(exchange.executor(), Millis(1));
      const auto first = co_await (std::move(waiting) || exchange.closed());
      if (first.index() == 1) break;
      waited.raise();
    }
    left.raise();
    co_return Response{};
  };
  TestServer server(handler);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(waited.wait_for(50));
  socket.close();
  EXPECT_TRUE(left.wait_for(1));
}

TEST(Stop, EndsIdleConnectionsAtOnce) {
  TestServer server(echo());
  RawSocket idle(server.port());
  RawSocket used(server.port());
  ASSERT_TRUE(used.send(get("/")));
  ASSERT_TRUE(used.answer());
  const auto took = server.stop();
  ASSERT_TRUE(took);
  EXPECT_LT(*took, Millis(500));
  EXPECT_TRUE(idle.is_closed_within(kLong));
  EXPECT_TRUE(used.is_closed_within(kLong));
  EXPECT_FALSE(RawSocket(server.port()).connected());
}

TEST(Stop, WakesParkedRequestsWhichStillGetTheirAnswer) {
  Parking parking;
  TestServer server(parking.handler());
  std::vector<RawSocket> sockets;
  for (int i = 1; i <= 20; ++i) {
    sockets.emplace_back(server.port());
    ASSERT_TRUE(sockets.back().send(get("/")));
  }
  ASSERT_TRUE(parking.parked.wait_for(20));
  const auto took = server.stop();
  ASSERT_TRUE(took);
  EXPECT_LT(*took, Millis(1000));
  for (auto& socket : sockets) {
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "gone");
    EXPECT_EQ(find_header(answer->headers, "Connection"), "close");
  }
}

TEST(Stop, LetsAnAnswerUnderWayFinish) {
  Signal begun;
  const auto handler = [&](Exchange& exchange) -> asio::awaitable<Response> {
    begun.raise();
    co_await wait_for(exchange.executor(), Millis(150));
    Response response;
    response.body = "finished";
    co_return response;
  };
  TestServer server(handler);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(begun.wait_for(1));
  ASSERT_TRUE(server.stop());
  EXPECT_EQ(socket.answer()->body, "finished");
}

TEST(Stop, CutsWhatDoesNotEndWithinTheLimit) {
  ServerConfig config;
  config.drain_limit = millis(200);
  Signal begun;
  std::atomic<bool> unwound = false;
  const auto handler = [&](Exchange& exchange) -> asio::awaitable<Response> {
    struct Mark {
      std::atomic<bool>& flag;
      ~Mark() { flag = true; }
    } const mark{unwound};
    begun.raise();
    co_await wait_for(exchange.executor(), Millis(60'000));
    co_return Response{};
  };
  TestServer server(handler, config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(begun.wait_for(1));
  const auto took = server.stop();
  ASSERT_TRUE(took);
  EXPECT_GE(*took, Millis(150));
  EXPECT_LT(*took, Millis(1500));
  EXPECT_TRUE(unwound);
  EXPECT_EQ(server.server().connections(), 0U);
  EXPECT_TRUE(socket.is_closed_within(kLong));
}

TEST(Stop, TwiceAtTheSameTimeIsFine) {
  Parking parking;
  TestServer server(parking.handler());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  ASSERT_TRUE(parking.parked.wait_for(1));
  auto other = asio::co_spawn(server.io(), server.server().stop(), asio::use_future);
  EXPECT_TRUE(server.stop());
  EXPECT_EQ(other.wait_for(kLong), std::future_status::ready);
}

TEST(Stop, AServerDroppedWithoutStopLeavesNothingBehind) {
  Parking parking;
  asio::io_context io;
  auto server = Server::listen(io, {}, parking.handler(), complain);
  ASSERT_TRUE(server);
  RawSocket parked((*server)->port());
  RawSocket idle((*server)->port());
  ASSERT_TRUE(parked.send(get("/")));
  while (parking.parked.count() == 0) io.run_one_for(kLong);
  server->reset();
  io.run_for(kLong);  // returns because nothing is pending any more
  EXPECT_TRUE(io.stopped());
  EXPECT_TRUE(parked.is_closed_within(kLong));
  EXPECT_TRUE(idle.is_closed_within(kLong));
}

TEST(Stop, AnEventLoopThatGoesWithEverythingInItLeaksNothing) {
  Parking parking;
  std::optional<RawSocket> socket;
  {
    asio::io_context io;
    auto server = Server::listen(io, {}, parking.handler(), complain);
    ASSERT_TRUE(server);
    socket.emplace((*server)->port());
    ASSERT_TRUE(socket->send(get("/")));
    while (parking.parked.count() == 0) io.run_one_for(kLong);
    server->reset();
  }
  EXPECT_TRUE(socket->is_closed_within(kLong));
}

}  // namespace
}  // namespace vortex::net::test
