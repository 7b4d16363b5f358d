// Output on its way over a real connection: in order, every byte once, whatever the other end does.

#include "worker/log_shipper.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "net/server.h"

namespace vortex::worker {
namespace {

namespace asio = boost::asio;

// A controller as far as output is concerned: keeps bytes by offset, refuses gaps.
class LogServer {
 public:
  explicit LogServer(asio::io_context& io) {
    net::Handler handler = [this](net::Exchange& exchange) -> asio::awaitable<net::Response> {
      co_return take(exchange.request());
    };
    auto server = net::Server::listen(io, {}, handler, [](int status, std::string_view) {
      net::Response response;
      response.status = status;
      return response;
    });
    EXPECT_TRUE(server);
    server_ = *std::move(server);
  }

  std::uint16_t port() const { return server_->port(); }

  std::string text;
  int calls = 0;
  // The status of the answer to the n-th call; true: it was taken before the answer was spoilt.
  std::function<std::pair<int, bool>(int call)> mood = [](int) { return std::pair(204, true); };

 private:
  net::Response take(const net::Request& request) {
    const auto offset = std::stoull(std::string(*request.query.find("offset")));
    const auto [status, kept] = mood(++calls);
    EXPECT_LE(offset, text.size()) << "a gap";
    if (kept && offset <= text.size()) {
      EXPECT_EQ(request.body.substr(0, text.size() - offset), text.substr(offset))
          << "a repeated piece has other bytes";
      text.resize(offset);
      text += request.body;
    }
    net::Response response;
    response.status = status;
    return response;
  }

  std::unique_ptr<net::Server> server_;
};

const Attempt kAttempt{{.run = {1}, .index = 0}, {1}};

class Shipping : public testing::Test {
 protected:
  ShipperConfig config(std::vector<std::uint16_t> ports) {
    std::vector<net::ClientConfig> given;
    for (const std::uint16_t port : ports) given.push_back(at(port));
    controllers = std::make_shared<KnownControllers>(std::move(given));
    ShipperConfig config;
    config.controllers = controllers;
    return config;
  }
  static net::ClientConfig at(std::uint16_t port) {
    net::ClientConfig client;
    client.endpoint.port = port;
    return client;
  }
  // Runs the loop until it holds.
  bool run_until(const std::function<bool()>& holds) {
    const Instant until = boot_clock_now() + seconds(20);
    while (!holds() && boot_clock_now() < until) io.run_one_for(std::chrono::milliseconds(20));
    return holds();
  }

  asio::io_context io{1};
  LogServer server{io};
  std::shared_ptr<KnownControllers> controllers;  // of the newest config
};

TEST_F(Shipping, EverythingArrivesBeforeFlushedIsCalled) {
  LogShipper shipper(io, config({server.port()}));
  shipper.write(kAttempt, "one ");
  shipper.write(kAttempt, "two ");
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  EXPECT_FALSE(flushed);
  ASSERT_TRUE(run_until([&] { return flushed; }));
  EXPECT_EQ(server.text, "one two ");
}

TEST_F(Shipping, ATaskWithoutOutputCostsNoCall) {
  LogShipper shipper(io, config({server.port()}));
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  EXPECT_TRUE(flushed);
  EXPECT_EQ(server.calls, 0);
}

TEST_F(Shipping, LostAnswersAndRefusalsForNowLeaveEveryByteOnce) {
  // 503 without effect, then one that had its effect although the answer was an error.
  server.mood = [](int call) {
    if (call == 1) return std::pair(503, false);
    if (call % 3 == 0) return std::pair(500, true);
    return std::pair(204, true);
  };
  LogShipper shipper(io, config({server.port()}));
  std::string all;
  for (int i = 0; i < 200; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    all += line;
    shipper.write(kAttempt, line);
    if (i % 50 == 0) run_until([&] { return server.calls > i / 50; });
  }
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  ASSERT_TRUE(run_until([&] { return flushed; }));
  EXPECT_EQ(server.text, all);
}

TEST_F(Shipping, TheNextControllerIsTriedWhenOneIsGone) {
  auto gone = config({1, server.port()});  // nobody listens on port 1
  LogShipper shipper(io, gone);
  shipper.write(kAttempt, "text");
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  ASSERT_TRUE(run_until([&] { return flushed; }));
  EXPECT_EQ(server.text, "text");
}

TEST_F(Shipping, ControllerThatWasLearnedIsTriedWhenTheGivenOneIsGone) {
  LogShipper shipper(io, config({1}));  // nobody listens there
  shipper.write(kAttempt, "text");
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  controllers->learn(at(1), fmt::format("http://127.0.0.1:1,http://127.0.0.1:{}", server.port()));
  EXPECT_EQ(controllers->size(), 2U) << "one that is known is not added again";
  ASSERT_TRUE(run_until([&] { return flushed; }));
  EXPECT_EQ(server.text, "text");
}

TEST(KnownControllers, LearnedOnesReplaceEachOtherAndNeverThoseThatWereGiven) {
  net::ClientConfig given;
  given.endpoint = {"a", 1, true};
  KnownControllers controllers({given});
  controllers.learn(given, "https://b:2,http://c:3,nonsense,https://a:1");
  ASSERT_EQ(controllers.size(), 2U) << "no token goes to one in clear";
  EXPECT_EQ(controllers.at(1).endpoint.host, "b");
  EXPECT_EQ(controllers.at(3).endpoint.host, "b");
  controllers.learn(given, "https://d:4");
  ASSERT_EQ(controllers.size(), 2U);
  EXPECT_EQ(controllers.at(0).endpoint.host, "a");
  EXPECT_EQ(controllers.at(1).endpoint.host, "d");
}

TEST_F(Shipping, WhatIsNotWantedAnyMoreIsDroppedAndNotSentAgain) {
  server.mood = [](int) { return std::pair(409, false); };
  LogShipper shipper(io, config({server.port()}));
  shipper.write(kAttempt, std::string(300'000, 'x'));
  ASSERT_TRUE(run_until([&] { return server.calls == 1; }));
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  ASSERT_TRUE(run_until([&] { return flushed; }));
  EXPECT_EQ(server.calls, 1);
}

TEST_F(Shipping, ADeadControllerHoldsAnEndedTaskOnlySoLong) {
  auto dead = config({1});
  dead.flush_limit = millis(300);
  LogShipper shipper(io, dead);
  shipper.write(kAttempt, "lost");
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  EXPECT_TRUE(run_until([&] { return flushed; }));
}

TEST_F(Shipping, WhatIsLeftArrivesOnceAControllerAnswersAgain) {
  server.mood = [](int) { return std::pair(503, false); };
  auto away = config({server.port()});
  away.flush_limit = millis(100);
  LogShipper shipper(io, away);
  shipper.write(kAttempt, "the last words");
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  ASSERT_TRUE(run_until([&] { return flushed; }));
  EXPECT_EQ(server.text, "") << "the task did not wait for it";
  server.mood = [](int) { return std::pair(204, true); };
  EXPECT_TRUE(run_until([&] { return server.text == "the last words"; }));
}

TEST_F(Shipping, WhatIsLeftOfManyTasksIsBounded) {
  server.mood = [](int) { return std::pair(503, false); };
  auto away = config({server.port()});
  away.flush_limit = millis(1);
  away.kept_bytes_max = 2500;
  std::vector<LogLevel> said;
  away.log = [&](LogLevel level, const std::string&) { said.push_back(level); };
  LogShipper shipper(io, away);
  int flushed = 0;
  for (std::uint32_t task = 0; task < 4; ++task) {
    const Attempt attempt{{.run = {1}, .index = task}, {1}};
    shipper.write(attempt, std::string(1000, 'x'));
    shipper.close(attempt, [&] { ++flushed; });
  }
  ASSERT_TRUE(run_until([&] { return flushed == 4; }));
  EXPECT_EQ(said, (std::vector{LogLevel::kWarn, LogLevel::kWarn})) << "two of four fit";
}

TEST_F(Shipping, AFloodIsCutToTheRateAndTheEndIsKept) {
  auto slow = config({server.port()});
  slow.buffer_bytes_max = 64 * 1024;
  LogShipper shipper(io, slow);
  for (int i = 0; i < 1000; ++i) {
    shipper.write(kAttempt, std::string(64 * 1024, 'x'));
    io.poll();
  }
  shipper.write(kAttempt, "the end");
  bool flushed = false;
  shipper.close(kAttempt, [&] { flushed = true; });
  ASSERT_TRUE(run_until([&] { return flushed; }));
  EXPECT_LT(server.text.size(), 16U << 20U);
  EXPECT_NE(server.text.find("bytes of output dropped here]"), std::string::npos);
  EXPECT_TRUE(server.text.ends_with("the end"));
}

}  // namespace
}  // namespace vortex::worker
