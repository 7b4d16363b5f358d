// The live feed: what counts as life, and what as a lost controller. And health of several.

#include "cli/client/follow.h"

#include <chrono>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fake_controller.h"
#include "tests/cli/program.h"

namespace vortex::cli::test {
namespace {

using testing::HasSubstr;

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

std::string address(const net::Endpoint& endpoint) {
  return fmt::format("http://127.0.0.1:{}", endpoint.port);
}

TEST(Health, OfSeveralControllersIsThatOfTheWorst) {
  const TemporaryFolder folder;
  FakeController well([](const net::Request&, std::size_t) {
    return json_response(200, R"({"status":"healthy","id":"c1"})");
  });
  FakeController ill([](const net::Request&, std::size_t) {
    return json_response(503, R"({"status":"unhealthy","id":"c2","detail":"disk"})");
  });
  const auto ask = [&](const std::string& servers, const char* form = "table") {
    return run_program({"health", "--server", servers, "-o", form}, folder.path());
  };
  const std::string good = address(well.endpoint());
  const std::string bad = address(ill.endpoint());
  const std::string gone = address(nobody());
  EXPECT_EQ(ask(good).exit_code, 0);
  EXPECT_EQ(ask(good + "," + bad).exit_code, 1);
  const Ended all = ask(good + "," + gone + "," + bad);
  EXPECT_EQ(all.exit_code, 5);
  for (const std::string& part : {good, bad, gone, std::string("c1"), std::string("c2"),
                                  std::string("unreachable"), std::string("disk")}) {
    EXPECT_THAT(all.out, HasSubstr(part));
  }
  const auto json = boost::json::parse(ask(gone + "," + good, "json").out);
  const auto& list = json.at("controllers").as_array();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("status").as_string(), "unreachable");
  EXPECT_EQ(list[1].at("server").as_string(), good);
  EXPECT_EQ(list[1].at("status").as_string(), "healthy");
}

}  // namespace
}  // namespace vortex::cli::test
