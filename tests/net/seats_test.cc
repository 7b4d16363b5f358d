// Who gets a connection when there are not enough of them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/server_state.h"
#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

using ::testing::HasSubstr;

ServerConfig crowded() {
  ServerConfig config;
  config.address = "::";
  config.connections_max = 8;
  config.connections_per_address_max = 2;
  config.vital_targets = {"/livez"};
  return config;
}

void take_seat(std::vector<RawSocket>& held, std::uint16_t port, const std::string& host) {
  RawSocket& socket = held.emplace_back(port, host);
  ASSERT_TRUE(socket.send(get("/")));
  const auto answer = socket.answer();
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200);
}

TEST(Seats, OneAddressCannotHaveThemAll) {
  TestServer server(echo(), crowded());
  std::vector<RawSocket> held;
  for (int i = 0; i < 6; ++i) take_seat(held, server.port(), "127.0.0.1");
  {
    RawSocket greedy(server.port());
    ASSERT_TRUE(greedy.send(get("/")));
    const auto answer = greedy.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 503);
    EXPECT_THAT(answer->body, HasSubstr("from this address"));
  }
  std::vector<RawSocket> others;
  for (int i = 0; i < 2; ++i) take_seat(others, server.port(), "::1");
  // A seat that is left can be taken again.
  held.pop_back();
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (server.server().connections() == 8 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  take_seat(held, server.port(), "127.0.0.1");
}

ServerState::Kind kind_for(ServerState& state, const char* address) {
  return state.place_for(boost::asio::ip::make_address(address)).kind;
}

TEST(Seats, AreCountedByAddressAndForIpv6ByNetwork) {
  using Kind = ServerState::Kind;
  boost::asio::io_context io;
  auto state = std::make_shared<ServerState>(io, crowded(), echo(), complain);
  std::vector<std::unique_ptr<ServerState::Seat>> seats;
  const auto sit = [&](const char* address) {
    seats.push_back(std::make_unique<ServerState::Seat>(
        state, state->place_for(boost::asio::ip::make_address(address))));
    return seats.back()->kind();
  };
  EXPECT_EQ(sit("192.0.2.1"), Kind::kServed);
  EXPECT_EQ(sit("::ffff:192.0.2.1"), Kind::kServed);
  EXPECT_EQ(kind_for(*state, "192.0.2.1"), Kind::kOverShare);
  EXPECT_EQ(kind_for(*state, "192.0.2.2"), Kind::kServed);
  EXPECT_EQ(sit("2001:db8:1::1"), Kind::kServed);
  EXPECT_EQ(sit("2001:db8:1::2"), Kind::kServed);
  EXPECT_EQ(kind_for(*state, "2001:db8:1:0:ffff::3"), Kind::kOverShare);
  EXPECT_EQ(kind_for(*state, "2001:db8:1:1::1"), Kind::kServed);
  seats.pop_back();
  EXPECT_EQ(kind_for(*state, "2001:db8:1::2"), Kind::kServed);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sit("127.0.0.1"), Kind::kServed);
  EXPECT_EQ(kind_for(*state, "192.0.2.9"), Kind::kOverAll);
}

TEST(Seats, VitalRequestsAreAnsweredWhenAllAreTaken) {
  ServerConfig config = crowded();
  config.connections_max = 2;
  config.connections_per_address_max = 0;
  TestServer server(echo(), config);
  std::vector<RawSocket> held;
  for (int i = 0; i < 2; ++i) take_seat(held, server.port(), "127.0.0.1");
  RawSocket probe(server.port());
  ASSERT_TRUE(probe.send(get("/livez")));
  const auto answer = probe.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "GET\n/livez\n");
  EXPECT_TRUE(probe.is_closed_within(kLong)) << "it is answered once";
  RawSocket other(server.port());
  ASSERT_TRUE(other.send(get("/livez/more")));
  EXPECT_EQ(other.answer()->status, 503);
  RawSocket with_body(server.port());
  ASSERT_TRUE(with_body.send("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"));
  EXPECT_EQ(with_body.answer()->status, 503);
}

TEST(Seats, ThoseKeptBackCannotBeHeldBySilence) {
  ServerConfig config = crowded();
  config.connections_max = 2;
  TestServer server(echo(), config);
  std::vector<RawSocket> silent;
  for (int i = 0; i < 500; ++i) silent.emplace_back(server.port());
  for (int i = 0; i < 20; ++i) {
    RawSocket probe(server.port());
    ASSERT_TRUE(probe.send(get("/livez")));
    const auto answer = probe.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    for (int more = 0; more < 20; ++more) silent.emplace_back(server.port());
  }
}

TEST(Seats, WhoSaysNothingIsToldThatThereIsNone) {
  ServerConfig config = crowded();
  config.connections_max = 1;
  config.connections_per_address_max = 0;
  TestServer server(echo(), config);
  std::vector<RawSocket> held;
  take_seat(held, server.port(), "127.0.0.1");
  RawSocket silent(server.port());
  EXPECT_THAT(silent.receive_until_closed(), HasSubstr("503 Service Unavailable"));
}

TEST(DefaultHeaders, AreOnEveryAnswerThatHasNoneOfThatName) {
  ServerConfig config;
  config.default_headers = {{"X-One", "default"}, {"X-Two", "default"}};
  Handler handler = [](Exchange& exchange) -> boost::asio::awaitable<Response> {
    Response response;
    response.headers.emplace_back("x-one", "own");
    if (exchange.request().target != "/stream") co_return response;
    net::Headers headers{{"X-Two", "own"}};
    co_await exchange.begin_stream(200, "text/plain", std::move(headers));
    co_return response;
  };
  TestServer server(handler, config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  auto answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(find_header(answer->headers, "X-One"), "own");
  EXPECT_EQ(find_header(answer->headers, "X-Two"), "default");
  ASSERT_TRUE(socket.send(get("/stream")));
  answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(find_header(answer->headers, "X-One"), "default");
  EXPECT_EQ(find_header(answer->headers, "X-Two"), "own");
  ASSERT_TRUE(socket.send("garbage\r\n\r\n"));
  answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(find_header(answer->headers, "X-One"), "default") << "also on a refusal";
}

}  // namespace
}  // namespace vortex::net::test
