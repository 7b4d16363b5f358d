// Bodies that are read only when the handler asks for them, and what they count against.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "net/byte_budget.h"
#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kMiB = 1024 * 1024;

ServerConfig on_demand() {
  ServerConfig config;
  config.bodies = Bodies::kOnDemand;
  return config;
}

// Refuses what has no token, and reads the bodies of the rest on its terms.
struct Gate {
  std::uint64_t bytes_max = 64 * kMiB;
  std::shared_ptr<ByteBudget> one = std::make_shared<ByteBudget>(UINT64_MAX);
  std::shared_ptr<ByteBudget> all = std::make_shared<ByteBudget>(UINT64_MAX);
  bool drops = false;
  Signal read{};
  Signal asked{};
  Signal release{};  // when `holds`, the answer waits for the other end to close
  bool holds = false;

  Handler handler() {
    return [this](Exchange& exchange) { return serve(exchange); };
  }

 private:
  boost::asio::awaitable<Response> serve(Exchange& exchange) {
    Response response;
    if (!find_header(std::as_const(exchange).request().headers, "Authorization")) {
      response.status = 401;
      co_return response;
    }
    asked.raise();
    BodyTerms terms;
    terms.bytes_max = bytes_max;
    terms.shares[0] = {one, UINT64_MAX, {429, "one is full"}};
    terms.shares[1] = {all, UINT64_MAX, {503, "all is full"}};
    if (!exchange.has_body()) {
      const std::optional<Refusal> refusal = co_await exchange.read_body(std::move(terms));
      if (refusal) {
        response.status = refusal->status;
        response.body = refusal->detail;
        co_return response;
      }
    }
    response.body = fmt::format("{}", exchange.request().body.size());
    if (drops) exchange.drop_body();
    read.raise();
    if (holds) co_await exchange.closed();
    co_return response;
  }
};

std::string head(std::uint64_t length, std::string_view more = "Authorization: x\r\n") {
  return fmt::format("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n{}\r\n", length, more);
}

bool until(auto holds) {
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return holds();
}

TEST(Bodies, OfARequestThatIsRefusedByItsHeadIsNotRead) {
  Gate gate;
  TestServer server(gate.handler(), on_demand());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(head(64 * kMiB, "")));
  EXPECT_THAT(socket.receive(), StartsWith("HTTP/1.1 401 "));
  const std::string part(kMiB, 'x');
  int sent = 0;
  while (sent < 64 && socket.send(part)) ++sent;
  EXPECT_LT(sent, 16);  // what the sockets buffer, and what is read and dropped
  EXPECT_TRUE(socket.is_closed_within(kLong));
}

// Like a client that looks for an answer only when it cannot send any more. False: it was cut off
// before that, which such clients take for a broken connection.
bool sends_until_it_stalls(const RawSocket& socket) {
  const std::string part(kMiB, 'x');
  pollfd look{socket.fd(), POLLOUT, 0};
  while (poll(&look, 1, 50) == 1) {
    if (::send(socket.fd(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
      return false;
  }
  return true;
}

TEST(Bodies, OfARefusedRequestDoNotOutrunTheAnswer) {
  Gate gate;
  TestServer server(gate.handler(), on_demand());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(head(64 * kMiB, "")));
  EXPECT_TRUE(sends_until_it_stalls(socket));
  EXPECT_THAT(socket.receive(), StartsWith("HTTP/1.1 401 "));
}

TEST(Bodies, AreNotAskedForWhenTheHeadIsRefused) {
  Gate gate;
  TestServer server(gate.handler(), on_demand());
  RawSocket stranger(server.port());
  ASSERT_TRUE(stranger.send(head(10, "Expect: 100-continue\r\n")));
  const std::string all = stranger.receive_until_closed();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(all, Not(HasSubstr("100 Continue")));
  RawSocket known(server.port());
  ASSERT_TRUE(known.send(head(10, "Expect: 100-continue\r\nAuthorization: x\r\n")));
  EXPECT_EQ(known.receive(), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(known.send("0123456789"));
  const auto answer = known.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "10");
}

TEST(Bodies, ThatCameWithTheHeadKeepTheConnection) {
  Gate gate;
  TestServer server(gate.handler(), on_demand());
  RawSocket socket(server.port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(socket.send(head(5, "") + "hello"));
    ASSERT_EQ(socket.answer()->status, 401) << "it is refused, but nothing of it is left unread";
    ASSERT_TRUE(socket.send(head(5) + "hel"));
    ASSERT_TRUE(gate.asked.wait_for(i + 1));
    ASSERT_TRUE(socket.send("lo"));
    const auto answer = socket.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "5");
  }
}

TEST(Bodies, LargerThanTheTermsAreRefusedUnread) {
  Gate gate;
  gate.bytes_max = 1000;
  TestServer server(gate.handler(), on_demand());
  RawSocket announced(server.port());
  ASSERT_TRUE(announced.send(head(1001)));
  const auto answer = announced.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(answer->body, "the body is larger than 1000 bytes");
  RawSocket chunked(server.port());
  ASSERT_TRUE(chunked.send(
      "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "100\r\n" + std::string(0x100, 'x') + "\r\n";
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(chunked.send(chunk));
  EXPECT_EQ(chunked.answer()->status, 413);
  RawSocket fits(server.port());
  ASSERT_TRUE(fits.send(head(1000) + std::string(1000, 'x')));
  EXPECT_EQ(fits.answer()->status, 200);
}

TEST(Bodies, AreCountedBeforeTheyAreRead) {
  Gate gate;
  gate.one = std::make_shared<ByteBudget>(10 * kMiB);
  TestServer server(gate.handler(), on_demand());
  RawSocket first(server.port());
  ASSERT_TRUE(first.send(head(8 * kMiB)));
  ASSERT_TRUE(until([&] { return gate.one->used() == 8 * kMiB; }));
  RawSocket second(server.port());
  ASSERT_TRUE(second.send(head(3 * kMiB)));
  EXPECT_EQ(second.answer()->status, 429);
  RawSocket third(server.port());
  ASSERT_TRUE(third.send(head(2 * kMiB)));
  ASSERT_TRUE(until([&] { return gate.one->used() == 10 * kMiB; }));
  // What is small is not counted: the largest body cannot keep it out.
  RawSocket small(server.port());
  ASSERT_TRUE(small.send(head(16 * 1024) + std::string(16 * 1024, 'x')));
  EXPECT_EQ(small.answer()->status, 200);
  first.close();
  ASSERT_TRUE(until([&] { return gate.one->used() == 2 * kMiB; }));
  ASSERT_TRUE(third.send(std::string(2 * kMiB, 'x')));
  EXPECT_EQ(third.answer()->body, fmt::format("{}", 2 * kMiB));
  EXPECT_TRUE(until([&] { return gate.one->used() == 0; }));
}

TEST(Bodies, ARefusalByTheSecondBudgetGivesBackTheFirst) {
  Gate gate;
  gate.all = std::make_shared<ByteBudget>(kMiB);
  TestServer server(gate.handler(), on_demand());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(head(2 * kMiB)));
  EXPECT_EQ(socket.answer()->status, 503);
  EXPECT_TRUE(until([&] { return gate.one->used() == 0; }));
}

TEST(Bodies, InChunksAreCountedAsTheyCome) {
  Gate gate;
  gate.one = std::make_shared<ByteBudget>(kMiB);
  TestServer server(gate.handler(), on_demand());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(
      "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  int sent = 0;
  while (sent < 1000 && socket.send(chunk)) ++sent;
  EXPECT_LT(sent, 500);
  EXPECT_THAT(socket.receive_until_closed(), StartsWith("HTTP/1.1 429 "));
  EXPECT_TRUE(until([&] { return gate.one->used() == 0; }));
}

TEST(Bodies, ThatWereDroppedCountNoLonger) {
  Gate gate;
  gate.drops = true;
  gate.holds = true;
  TestServer server(gate.handler(), on_demand());
  RawSocket parked(server.port());
  ASSERT_TRUE(parked.send(head(kMiB) + std::string(kMiB, 'x')));
  ASSERT_TRUE(gate.read.wait_for(1));
  EXPECT_TRUE(until([&] { return gate.one->used() == 0; }));
}

TEST(Bodies, ThatComeTooSlowlyAreA408OfTheHandler) {
  Gate gate;
  ServerConfig config = on_demand();
  config.body_limit = millis(100);
  TestServer server(gate.handler(), config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(head(100'000) + "slow"));
  const auto answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
  EXPECT_EQ(answer->body, "the request body took too long");
  EXPECT_TRUE(until([&] { return gate.one->used() == 0; }));
}

TEST(ByteBudget, ACeilingLeavesTheRestToOthers) {
  ByteBudget budget(100);
  EXPECT_TRUE(budget.take(75, 75));
  EXPECT_FALSE(budget.take(1, 75));
  EXPECT_TRUE(budget.take(25));
  EXPECT_FALSE(budget.take(1));
  budget.give(100);
  EXPECT_FALSE(budget.take(101));
  EXPECT_FALSE(budget.take(UINT64_MAX));
  EXPECT_TRUE(budget.take(100));
}

}  // namespace
}  // namespace vortex::net::test
