#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

ServerConfig quick() {
  ServerConfig config;
  config.head_limit = millis(150);
  config.body_limit = millis(150);
  config.write_limit = millis(150);
  config.idle_limit = millis(150);
  return config;
}

// One byte now and then, until the other end has had enough; how long that took.
Millis dribble(RawSocket& socket) {
  const auto begin = Clock::now();
  while (Clock::now() - begin < kLong) {
    if (!socket.send("a")) break;
    pollfd ask{.fd = socket.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&ask, 1, 10) > 0) break;
  }
  return std::chrono::duration_cast<Millis>(Clock::now() - begin);
}

TEST(Limits, ASlowHeadIsA408HoweverSteadilyItComes) {
  TestServer server(echo(), quick());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("GET / HTTP/1.1\r\nHost: x\r\nX: "));
  const Millis took = dribble(socket);
  EXPECT_GE(took, Millis(100));
  EXPECT_LT(took, Millis(2000));
  const std::string all = socket.receive_until_closed();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(all, HasSubstr("the request headers took too long"));
}

TEST(Limits, ASlowBodyIsA408) {
  TestServer server(echo(), quick());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"));
  EXPECT_LT(dribble(socket), Millis(2000));
  EXPECT_THAT(socket.receive_until_closed(), HasSubstr("the request body took too long"));
}

TEST(Limits, ASlowChunkedBodyIsA408) {
  TestServer server(echo(), quick());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;"));
  EXPECT_LT(dribble(socket), Millis(2000));
  EXPECT_THAT(socket.receive_until_closed(), StartsWith("HTTP/1.1 408 "));
}

TEST(Limits, AnIdleConnectionIsClosedWithoutAWord) {
  TestServer server(echo(), quick());
  RawSocket fresh(server.port());
  RawSocket used(server.port());
  ASSERT_TRUE(used.send(get("/")));
  ASSERT_TRUE(used.answer());
  EXPECT_EQ(fresh.receive_until_closed(), "");
  EXPECT_EQ(used.receive_until_closed(), "");
  EXPECT_TRUE(used.is_closed_within(Millis(100)));
}

TEST(Limits, ADeadlineOfOneRequestIsNotTheNextOnes) {
  ServerConfig config = quick();
  config.idle_limit = seconds(30);
  TestServer server(echo(), config);
  RawSocket socket(server.port());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(socket.send("GET / HTTP/1.1\r\n"));
    pollfd ask{.fd = socket.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ask, 1, 60), 0);  // within the limit of the head, four times
    ASSERT_TRUE(socket.send("Host: x\r\n\r\n"));
    ASSERT_TRUE(socket.answer());
  }
}

TEST(Limits, AHundredMegabytesAreRefusedWithoutReadingThem) {
  ServerConfig config;
  config.body_bytes_max = 1024 * 1024;
  TestServer server(echo(), config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n"));
  const std::string part(1024 * 1024, 'x');
  std::size_t sent = 0;
  while (sent < 100 && socket.send(part)) ++sent;
  EXPECT_LT(sent, 50U);
  EXPECT_THAT(socket.receive_until_closed(), StartsWith("HTTP/1.1 413 "));
}

TEST(Limits, AChunkedFloodIsRefusedAtTheLimit) {
  ServerConfig config;
  config.body_bytes_max = 1024 * 1024;
  TestServer server(echo(), config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  int sent = 0;
  while (sent < 1600 && socket.send(chunk)) ++sent;
  EXPECT_LT(sent, 800);
  EXPECT_THAT(socket.receive_until_closed(), StartsWith("HTTP/1.1 413 "));
}

TEST(Limits, ABodyOfExactlyTheLimitIsServed) {
  ServerConfig config;
  config.body_bytes_max = 300'000;
  TestServer server(echo(), config);
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(post("/", std::string(300'000, 'x'))));
  const auto answer = socket.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body.size(), 300'005U);
}

boost::asio::awaitable<Response> huge(Exchange&) {
  Response response;
  response.body.assign(64ULL * 1024 * 1024, 'x');
  co_return response;
}

TEST(Limits, AClientThatDoesNotReadIsCutOff) {
  TestServer server(huge, quick());
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  // Gone while not one byte was read: the server needs no help to get rid of it.
  const auto end = Clock::now() + kLong;
  while (server.server().connections() > 0 && Clock::now() < end) {
    pollfd ask{.fd = socket.fd(), .events = 0, .revents = 0};
    ::poll(&ask, 1, 10);
  }
  EXPECT_EQ(server.server().connections(), 0U);
}

TEST(Limits, TheNewestConnectionIsTurnedAwayWhenAllSeatsAreTaken) {
  ServerConfig config;
  config.connections_max = 3;
  TestServer server(echo(), config);
  std::vector<RawSocket> held;
  for (int i = 0; i < 3; ++i) {
    RawSocket& socket = held.emplace_back(server.port());
    ASSERT_TRUE(socket.send(get("/")));
    ASSERT_TRUE(socket.answer());
  }
  {
    RawSocket one_more(server.port());
    ASSERT_TRUE(one_more.send(get("/")));
    const auto answer = one_more.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(find_header(answer->headers, "Retry-After"), "1");
    EXPECT_TRUE(one_more.is_closed_within(kLong));
  }
  ASSERT_TRUE(held[0].send(get("/still")));
  EXPECT_EQ(held[0].answer()->status, 200);
  held.pop_back();
  const auto end = Clock::now() + kLong;
  while (server.server().connections() == 3 && Clock::now() < end) std::this_thread::yield();
  RawSocket welcome(server.port());
  ASSERT_TRUE(welcome.send(get("/")));
  EXPECT_EQ(welcome.answer()->status, 200);
}

TEST(Limits, SlowClientsCannotKeepTheirSeats) {
  ServerConfig config = quick();
  config.connections_max = 50;
  TestServer server(echo(), config);
  std::vector<RawSocket> slow;
  for (int i = 0; i < 50; ++i) {
    slow.emplace_back(server.port());
    ASSERT_TRUE(slow.back().send("GET / HTTP/1.1\r\nX-Slow: "));
  }
  const auto end = Clock::now() + kLong;
  std::optional<Response> answer;
  do {
    RawSocket socket(server.port());
    static_cast<void>(socket.send(get("/")));
    answer = socket.answer();
  } while ((!answer || answer->status != 200) && Clock::now() < end);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(Limits, TwoThousandIdleConnectionsDisturbNobody) {
  // As many handshakes can take a slow machine longer than a head may.
  ServerConfig config;
  config.head_limit = minutes(2);
  TestServer server(echo(), config);
  std::vector<RawSocket> idle;
  for (int i = 0; i < 2000; ++i) {
    idle.emplace_back(server.port());
    ASSERT_TRUE(idle.back().connected()) << i;
  }
  RawSocket socket(server.port());
  ASSERT_TRUE(socket.send(get("/")));
  EXPECT_EQ(socket.answer()->status, 200);
  EXPECT_EQ(server.server().connections(), 2001U);
  ASSERT_TRUE(idle[1234].send(get("/")));
  EXPECT_EQ(idle[1234].answer()->status, 200);
  const auto took = server.stop();
  ASSERT_TRUE(took);
  EXPECT_LT(*took, Millis(2000));
}

// Lowers the number of descriptors for as long as it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t count) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{.rlim_cur = count, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds_of = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

TEST(Limits, RunningOutOfDescriptorsIsSurvivedWithoutSpinning) {
  TestServer server(echo());
  std::vector<RawSocket> held;
  {
    RawSocket probe(server.port());
    ASSERT_TRUE(probe.send(get("/")));
    ASSERT_TRUE(probe.answer());
    const FewDescriptors few(static_cast<rlim_t>(probe.fd()) + 40);
    const double cpu = cpu_seconds();
    // The client's ends use descriptors too. When the client is the first to find none left, it
    // gives back one it kept: enough for its own end, none for the server's, whatever the count
    // was.
    int kept = ::dup(probe.fd());
    bool turned_away = false;
    for (int i = 0; i < 40 && !turned_away; ++i) {
      RawSocket& socket = held.emplace_back(server.port());
      if (!socket.connected()) {
        held.pop_back();
        ::close(std::exchange(kept, -1));
        continue;
      }
      static_cast<void>(socket.send(get("/")));
      const auto answer = socket.answer(Method::kGet, Millis(2000));
      turned_away = !answer || answer->status == 503;
    }
    EXPECT_TRUE(turned_away);
    // Those who have a connection are served all the same.
    ASSERT_TRUE(probe.send(get("/still")));
    EXPECT_EQ(probe.answer()->status, 200);
    EXPECT_LT(cpu_seconds() - cpu, 1.0);
    held.clear();
    if (kept >= 0) {
      ::close(kept);
    }
  }
  // Who comes while the last ones are still being turned away may be one of them.
  std::optional<Response> answer;
  for (int i = 0; i < 10 && (!answer || answer->status == 503); ++i) {
    RawSocket socket(server.port());
    ASSERT_TRUE(socket.send(get("/again")));
    answer = socket.answer();
  }
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "GET\n/again\n");
}

}  // namespace
}  // namespace vortex::net::test
