#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

namespace asio = boost::asio;
using namespace boost::asio::experimental::awaitable_operators;
using ::testing::HasSubstr;
using Answer = std::expected<Response, CallError>;

// A listening socket that is not ours: the test says what it does with who connects.
class RawListener {
 public:
  explicit RawListener(int backlog = 8) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd_, raw, size) != 0 || ::listen(fd_, backlog) != 0) return;
    ::getsockname(fd_, raw, &size);
    port_ = ntohs(address.sin_port);
    forget_tls(port_);
  }
  ~RawListener() { ::close(fd_); }
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  std::uint16_t port() const { return port_; }

  // Takes one connection, reads what comes first, sends this, and closes.
  std::thread answer_with(std::string bytes) {
    return std::thread([this, bytes = std::move(bytes)] {
      const int peer = ::accept(fd_, nullptr, nullptr);
      std::array<char, 4096> in{};
      static_cast<void>(::recv(peer, in.data(), in.size(), 0));
      static_cast<void>(::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      ::close(peer);
    });
  }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

Call call_to(std::string target) {
  Call call;
  call.target = std::move(target);
  return call;
}

Answer fetch(std::uint16_t port, Call call) {
  return send_and_wait(client_of(port), std::move(call));
}

TEST(ClientCalls, LooksForATokenUntilOneIsGood) {
  const auto handler = [](Exchange& exchange) -> asio::awaitable<Response> {
    Response response;
    const auto token = find_header(exchange.request().headers, "Authorization");
    response.status = token == "Bearer good" ? 200 : 401;
    co_return response;
  };
  TestServer server(handler);
  std::vector<std::string> tokens{"good", "old", ""};
  int asked = 0;
  ClientConfig config = client_of(server.port());
  config.find_token = [&] {
    ++asked;
    const std::string token = tokens.back();
    if (tokens.size() > 1) tokens.pop_back();
    return token;
  };
  asio::io_context io;
  std::vector<int> statuses;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        Client client(co_await asio::this_coro::executor, config);
        for (int i = 0; i < 5; ++i) {
          const auto answer = co_await client.send(call_to("/"));
          statuses.push_back(answer ? answer->status : 0);
        }
      },
      asio::detached);
  io.run();
  EXPECT_EQ(statuses, (std::vector<int>{401, 401, 200, 200, 200}));
  EXPECT_EQ(asked, 3) << "one that is good is kept";
}

// Whoever listens there after the connection was lost need not be who listened before.
TEST(ClientCalls, LooksForATokenInEachConnection) {
  const auto handler = [](Exchange& exchange) -> asio::awaitable<Response> {
    Response response;
    response.body = find_header(exchange.request().headers, "Authorization").value_or("none");
    co_return response;
  };
  TestServer server(handler);
  ClientConfig config = client_of(server.port());
  int asked = 0;
  config.find_token = [&] { return ++asked == 1 ? std::string("mine") : std::string(); };
  asio::io_context io;
  std::vector<std::string> said;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        Client client(co_await asio::this_coro::executor, config);
        for (int i = 0; i < 2; ++i) {
          const auto answer = co_await client.send(call_to("/"));
          said.push_back(answer ? answer->body : answer.error().detail);
          client.close();
        }
      },
      asio::detached);
  io.run();
  EXPECT_EQ(said, (std::vector<std::string>{"Bearer mine", "none"}));
}

TEST(ClientCalls, SendsMethodTokenBodyAndHeaders) {
  const auto handler = [](Exchange& exchange) -> asio::awaitable<Response> {
    Response response;
    response.status = 201;
    response.headers = {{"X-Back", "yes"}};
    for (const auto& [name, value] : exchange.request().headers) {
      response.body += fmt::format("{}={};", name, value);
    }
    response.body += described(exchange.request());
    co_return response;
  };
  TestServer server(handler);
  ClientConfig config = client_of(server.port());
  config.token = "t0k";
  Call call = call_to("/a?b=c");
  call.method = Method::kPut;
  call.headers = {{"Idempotency-Key", "k1"}};
  call.body = "{}";
  const Answer answer = send_and_wait(config, call);
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->content_type, "application/json");
  EXPECT_EQ(find_header(answer->headers, "x-back"), "yes");
  EXPECT_EQ(answer->body,
            fmt::format("Host=127.0.0.1:{};Authorization=Bearer t0k;Content-Length=2;"
                        "Content-Type=application/json;Idempotency-Key=k1;PUT\n/a\nb=c\n{{}}",
                        server.port()));
}

asio::awaitable<std::vector<Answer>> several(Client& client, int count) {
  std::vector<Answer> answers;
  for (int i = 0; i < count; ++i) {
    Answer answer = co_await client.send(call_to(fmt::format("/{}", i)));
    answers.push_back(std::move(answer));
  }
  co_return answers;
}

TEST(ClientCalls, KeepsItsConnection) {
  TestServer server(echo());
  asio::io_context io;
  Client client(io.get_executor(), client_of(server.port()));
  auto answers = asio::co_spawn(io, several(client, 50), asio::use_future);
  io.run_for(kLong);  // also: nothing of an idle client keeps the loop running
  ASSERT_EQ(answers.wait_for(Millis(0)), std::future_status::ready);
  for (const Answer& answer : answers.get()) EXPECT_TRUE(answer);
  EXPECT_EQ(server.server().connections(), 1U);
}

TEST(ClientCalls, FindsADeadConnectionBeforeItSendsAndReconnects) {
  ServerConfig config;
  config.idle_limit = millis(50);
  config.head_limit = millis(50);
  TestServer server(echo(), config);
  asio::io_context io;
  Client client(io.get_executor(), client_of(server.port()));
  auto first = asio::co_spawn(io, client.send(call_to("/1")), asio::use_future);
  io.run_for(kLong);
  ASSERT_TRUE(first.get());
  const auto end = std::chrono::steady_clock::now() + kLong;
  while (server.server().connections() > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  ASSERT_EQ(server.server().connections(), 0U);
  io.restart();
  auto second = asio::co_spawn(io, client.send(call_to("/2")), asio::use_future);
  io.run_for(kLong);
  EXPECT_TRUE(second.get());
}

TEST(ClientCalls, LargeBodiesGoBothWays) {
  TestServer server(echo());
  Call call = call_to("/");
  call.method = Method::kPost;
  call.body.assign(5 * 1024 * 1024, 'y');
  const Answer answer = fetch(server.port(), call);
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->body.size(), call.body.size() + 5);
}

TEST(ClientCalls, AnAnswerGivenBeforeTheBodyWasReadIsSeen) {
  ServerConfig config;
  config.body_bytes_max = 1000;
  TestServer server(echo(), config);
  Call call = call_to("/");
  call.method = Method::kPost;
  call.body.assign(32 * 1024 * 1024, 'y');
  const Answer answer = fetch(server.port(), call);
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->status, 413);
}

TEST(ClientCalls, HeadHasNoBodyAndKeepsTheConnection) {
  TestServer server(echo());
  Call call = call_to("/");
  call.method = Method::kHead;
  const Answer answer = fetch(server.port(), call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "");
}

TEST(ClientFaults, NobodyListeningIsRefused) {
  std::uint16_t port = 0;
  {
    port = RawListener().port();
  }
  const Answer answer = fetch(port, call_to("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, CallFault::kRefused);
  EXPECT_EQ(answer.error().detail,
            fmt::format("cannot connect to 127.0.0.1:{}: Connection refused", port));
}

TEST(ClientFaults, ANameThatDoesNotExistIsNotSent) {
  ClientConfig config = client_of(80);
  config.endpoint.host = "no-such-host.invalid";
  config.connect_limit = millis(500);
  const Answer answer = send_and_wait(config, call_to("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, CallFault::kNotSent);
}

TEST(ClientFaults, AConnectionThatIsNotMadeInTimeIsNotSent) {
  const RawListener full(0);
  asio::io_context io;
  std::vector<std::unique_ptr<Client>> others;
  ClientConfig config = client_of(full.port());
  config.connect_limit = millis(100);
  // The system lets one or two wait; whoever comes after that gets no answer to its greeting.
  std::optional<Answer> last;
  for (int i = 0; i < 4; ++i) {
    others.push_back(std::make_unique<Client>(io.get_executor(), config));
    Call call = call_to("/");
    call.limit = millis(300);
    asio::co_spawn(io, others.back()->send(std::move(call)),
                   [&](const std::exception_ptr&, Answer answer) { last = std::move(answer); });
    io.run_for(kLong);
    io.restart();
    ASSERT_TRUE(last && !*last);
    if (last->error().fault == CallFault::kNotSent) break;
    EXPECT_EQ(last->error().fault, CallFault::kTimedOut);
    // Its connection stays in the backlog although the client is gone.
  }
  EXPECT_EQ(last->error().fault, CallFault::kNotSent);
  EXPECT_THAT(last->error().detail, HasSubstr("no answer in time"));
}

TEST(ClientFaults, NoAnswerInTimeIsTimedOut) {
  const RawListener silent;
  Call call = call_to("/");
  call.limit = millis(100);
  const Answer answer = fetch(silent.port(), call);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, CallFault::kTimedOut);
}

TEST(ClientFaults, WhatComesBackIsJudged) {
  struct Case {
    std::string bytes;
    CallFault fault;
  };
  const std::vector<Case> cases = {
      {"", CallFault::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-", CallFault::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", CallFault::kBroken},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", CallFault::kBroken},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", CallFault::kMalformed},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
       CallFault::kMalformed},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", CallFault::kMalformed},
      {"HTTP/1.1 200 OK\n\n", CallFault::kMalformed},
      {std::string(100'000, 'a'), CallFault::kMalformed},
      {"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", CallFault::kMalformed},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.bytes.substr(0, 60));
    RawListener listener;
    std::thread peer = listener.answer_with(each.bytes);
    const Answer answer = fetch(listener.port(), call_to("/"));
    peer.join();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().fault, each.fault) << answer.error().detail;
  }
}

TEST(ClientFaults, ABodyUpToTheEndAndAContinueAreUnderstood) {
  RawListener listener;
  std::thread peer =
      listener.answer_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nall of it");
  const Answer answer = fetch(listener.port(), call_to("/"));
  peer.join();
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->body, "all of it");
}

TEST(ClientFaults, ATargetThatWouldBreakTheRequestIsNotSent) {
  for (const char* target : {"", "x", "/a b", "/\r\nX: y"}) {
    const Answer answer = fetch(1, call_to(target));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().fault, CallFault::kNotSent) << target;
  }
}

TEST(ClientFaults, CloseEndsACallUnderWay) {
  const RawListener silent;
  asio::io_context io;
  Client client(io.get_executor(), client_of(silent.port()));
  auto answer = asio::co_spawn(io, client.send(call_to("/")), asio::use_future);
  std::thread loop([&] { io.run_for(kLong); });
  EXPECT_EQ(answer.wait_for(Millis(50)), std::future_status::timeout);
  client.close();
  ASSERT_EQ(answer.wait_for(kLong), std::future_status::ready);
  loop.join();
  const Answer result = answer.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, CallFault::kBroken);
}

asio::awaitable<void> give_up_after(Client& client, Millis time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  const auto first = co_await (client.send(call_to("/")) || timer.async_wait(asio::use_awaitable));
  EXPECT_EQ(first.index(), 1U);
}

TEST(ClientFaults, ACallThatIsGivenUpLeavesTheClientUsable) {
  const RawListener silent;
  asio::io_context io;
  Client client(io.get_executor(), client_of(silent.port()));
  auto first = asio::co_spawn(io, give_up_after(client, Millis(20)), asio::use_future);
  io.run_for(kLong);
  first.get();
  io.restart();
  Call call = call_to("/");
  call.limit = millis(50);
  auto second = asio::co_spawn(io, client.send(std::move(call)), asio::use_future);
  io.run_for(kLong);
  EXPECT_EQ(second.get().error().fault, CallFault::kTimedOut);
}

// Three, or ten under /many, 60 ms apart.
asio::awaitable<Response> some_events(Exchange& exchange) {
  if (exchange.request().segments.at(0) == "missing") {
    Response response;
    response.status = 404;
    response.body = "no such feed";
    co_return response;
  }
  Stream* stream = co_await exchange.begin_stream(200, "text/event-stream", {});
  const int events = exchange.request().segments.at(0) == "many" ? 10 : 3;
  for (int i = 0; i < events; ++i) {
    const std::string line = fmt::format("data: {}\n\n", i);
    const bool taken = co_await stream->write(line);
    if (!taken) break;
    asio::steady_timer pause(exchange.executor(), Millis(60));
    co_await pause.async_wait(asio::use_awaitable);
  }
  co_return Response{};
}

Answer stream_from(std::uint16_t port, Call call, const Client::OnPiece& on_piece) {
  asio::io_context io;
  Client client(io.get_executor(), client_of(port));
  auto answer = asio::co_spawn(io, client.stream(std::move(call), on_piece), asio::use_future);
  io.run_for(kLong);
  return answer.get();
}

TEST(ClientStreams, RelayHandsOutTheHeadFirstAndWaitsForWhoeverTakesThePieces) {
  TestServer server(some_events);
  asio::io_context io;
  Client client(io.get_executor(), client_of(server.port()));
  std::vector<std::string> pieces;
  std::string type;
  // As a coroutine without captures: its state outlives the call that makes it.
  struct Taker {
    static asio::awaitable<bool> take(asio::io_context& loop, std::vector<std::string>& into,
                                      std::string piece) {
      asio::steady_timer pause(loop, Millis(20));
      co_await pause.async_wait(asio::use_awaitable);
      if (!piece.empty()) into.push_back(std::move(piece));
      co_return into.size() < 2;
    }
  };
  Call call = call_to("/events");
  call.limit = millis(500);
  auto done = asio::co_spawn(io,
                             client.relay(call,
                                          [&](const Response& head, std::string_view piece) {
                                            type = head.content_type;
                                            return Taker::take(io, pieces, std::string(piece));
                                          }),
                             asio::use_future);
  io.run_for(kLong);
  ASSERT_TRUE(done.get());
  EXPECT_EQ(type, "text/event-stream");
  EXPECT_EQ(pieces.size(), 2U) << "it wanted no more";
}

TEST(ClientStreams, RelayGivesRefusalsBackWhole) {
  TestServer server(some_events);
  asio::io_context io;
  Client client(io.get_executor(), client_of(server.port()));
  bool taken = false;
  auto done = asio::co_spawn(
      io,
      client.relay(call_to("/missing"),
                   [&taken](const Response&, std::string_view) -> asio::awaitable<bool> {
                     taken = true;
                     co_return true;
                   }),
      asio::use_future);
  io.run_for(kLong);
  const Answer answer = done.get();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "no such feed");
  EXPECT_FALSE(taken);
}

TEST(ClientStreams, PiecesComeAsTheyAreWrittenAndTheLimitIsPerPiece) {
  TestServer server(some_events);
  std::vector<std::string> pieces;
  Call call = call_to("/many");
  call.limit = millis(500);  // less than all of them take, much more than the next one does
  const Answer answer = stream_from(server.port(), call, [&](std::string_view piece) {
    pieces.emplace_back(piece);
    return true;
  });
  ASSERT_TRUE(answer) << answer.error().detail;
  ASSERT_EQ(pieces.size(), 10U);
  EXPECT_EQ(pieces.front(), "data: 0\n\n");
  EXPECT_EQ(pieces.back(), "data: 9\n\n");
  EXPECT_EQ(answer->body, "");
}

TEST(ClientStreams, SilenceBeyondTheLimitIsTimedOut) {
  TestServer server(some_events);
  Call call = call_to("/events");
  call.limit = millis(20);
  const Answer answer = stream_from(server.port(), call, [](std::string_view) { return true; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, CallFault::kTimedOut);
}

TEST(ClientStreams, TheCallerMayEndIt) {
  TestServer server(some_events);
  int pieces = 0;
  const Answer answer = stream_from(server.port(), call_to("/events"), [&](std::string_view) {
    ++pieces;
    return false;
  });
  EXPECT_TRUE(answer);
  EXPECT_EQ(pieces, 1);
}

TEST(ClientStreams, AnErrorComesBackWhole) {
  TestServer server(some_events);
  const Answer answer = stream_from(server.port(), call_to("/missing"), [](std::string_view) {
    ADD_FAILURE() << "a piece of an error";
    return true;
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "no such feed");
}

TEST(Client, ConnectsOnlyToAddressesThatItMayReach) {
  Signal served;
  Handler handler = [&served](Exchange&) -> boost::asio::awaitable<Response> {
    served.raise();
    co_return Response{};
  };
  TestServer server(handler);
  std::vector<IpAddress> asked;
  ClientConfig config = client_of(server.port());
  config.may_reach = [&asked](const IpAddress& ip) {
    asked.push_back(ip);
    return false;
  };
  for (const char* host : {"127.0.0.1", "localhost", "0.0.0.0"}) {
    asked.clear();
    config.endpoint.host = host;
    Call call;
    call.target = "/";
    const auto answer = send_and_wait(config, std::move(call));
    ASSERT_FALSE(answer) << host;
    EXPECT_EQ(answer.error().fault, CallFault::kForbidden) << answer.error().detail;
    EXPECT_FALSE(asked.empty()) << "after it was resolved";
  }
  EXPECT_EQ(served.count(), 0);
  config.endpoint.host = "localhost";
  config.may_reach = [](const IpAddress& ip) { return ip == parse_ip("127.0.0.1"); };
  Call call;
  call.target = "/";
  EXPECT_TRUE(send_and_wait(config, std::move(call)));
  EXPECT_EQ(served.count(), 1);
}

}  // namespace
}  // namespace vortex::net::test
