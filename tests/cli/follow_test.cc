// The live feed: what counts as life, and what as a lost controller.

#include "cli/follow.h"

#include <chrono>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include "tests/cli/fake_controller.h"

namespace vortex::cli::test {
namespace {

// A stream of nothing but comments for longer than any silence is borne, then one event.
boost::asio::awaitable<net::Response> quiet_stream(net::Exchange& exchange) {
  net::Headers headers;
  net::Stream* stream = co_await exchange.begin_stream(200, "text/event-stream", headers);
  boost::asio::steady_timer timer(exchange.executor());
  for (int i = 0; stream != nullptr && i < 25; ++i) {
    const bool alive = co_await stream->write(": \n\n");
    if (!alive) break;
    timer.expires_after(std::chrono::milliseconds(100));
    co_await timer.async_wait(boost::asio::as_tuple(boost::asio::deferred));
  }
  if (stream != nullptr) co_await stream->write("id: 1\ndata: {\"seq\":1}\n\n");
  co_return net::Response{};
}

TEST(Follow, CommentsAreASignOfLife) {
  FakeController there{net::Handler(quiet_stream)};
  ApiClient api(quick({there.endpoint()}));
  int lost = 0;
  int events = 0;
  Feed feed;
  feed.target = "/api/runs/r1/events";
  feed.silence_max = seconds(2);
  feed.on_link = [&](Link link, const std::string&) { lost += link == Link::kLost ? 1 : 0; };
  feed.on_event = [&](const boost::json::object&) { return ++events < 1; };
  Follower follower(api, std::move(feed));
  boost::asio::co_spawn(api.io(), follower.run(), boost::asio::detached);
  api.io().run();
  EXPECT_EQ(events, 1);
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace vortex::cli::test
