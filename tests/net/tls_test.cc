#include <string>
#include <thread>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/net/harness.h"

namespace vortex::net::test {
namespace {

namespace asio = boost::asio;
using namespace boost::asio::experimental::awaitable_operators;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers with who asked, and over what.
asio::awaitable<Response> who_asks(Exchange& exchange) {
  const Request& asked = exchange.request();
  Response response;
  response.body = fmt::format("{} '{}'", asked.encrypted ? "encrypted" : "plain", asked.peer_name);
  co_return response;
}

struct Secure {
  explicit Secure(Handler handler = who_asks, ServerConfig config = {}, ServerTlsFiles files = {})
      : tls(*ServerTls::open(files.certificate.empty() ? folder().server() : files)),
        server(std::move(handler), with(std::move(config), tls)) {}

  static ServerConfig with(ServerConfig config, std::shared_ptr<ServerTls> tls) {
    config.tls = std::move(tls);
    return config;
  }
  static const TlsFolder& folder() { return shared_tls(); }
  std::expected<Response, CallError> ask(const ClientTlsFiles& files,
                                         const std::string& host = "127.0.0.1") const {
    ClientConfig config;
    config.endpoint = {host, server.port(), true};
    config.trust = *ClientTrust::open(files);
    Call call;
    call.target = "/";
    return send_and_wait(config, std::move(call));
  }
  RawSocket connect() const {
    RawSocket socket(server.port());
    if (socket.tls() == nullptr) socket.begin_tls(context());
    return socket;
  }
  static TlsContextPtr context() { return (*ClientTrust::open(folder().client()))->context(); }

  std::shared_ptr<ServerTls> tls;
  TestServer server;
};

// A socket that has said nothing of TLS yet, whatever the harness does.
struct Bare {
  explicit Bare(std::uint16_t port) {
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Bare() { ::close(fd); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  void send(std::string_view bytes) const {
    ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // All until the other end closes; a reset counts as that.
  std::string rest() const {
    std::string all;
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = ::recv(fd, part.data(), part.size(), 0)) > 0;) {
      all.append(part.data(), static_cast<std::size_t>(n));
    }
    return all;
  }
  int fd = -1;
};

TEST(Tls, ARequestIsMarkedAsEncrypted) {
  const Secure secure;
  const auto answer = secure.ask(Secure::folder().client());
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->body, "encrypted ''");
  EXPECT_TRUE(secure.ask(Secure::folder().client(), "localhost"));
}

TEST(Tls, PlainHttpIsToldSo) {
  const Secure secure;
  const Bare plain(secure.server.port());
  plain.send(get("/"));
  const std::string answer = plain.rest();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer, HasSubstr("this port speaks https"));
}

TEST(Tls, GarbageAndBrokenRecordsEndTheConnectionOnly) {
  const Secure secure;
  for (const std::string& bytes :
       {std::string("\0\0\0\0", 4), std::string("\x16\x03\x01\x00\x05hello", 10),
        std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x'),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)}) {
    const Bare bare(secure.server.port());
    static_cast<void>(::send(bare.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    ::shutdown(bare.fd, SHUT_WR);
    static_cast<void>(bare.rest());
  }
  // In the middle of what is encrypted.
  RawSocket socket = secure.connect();
  ASSERT_EQ(::send(socket.fd(), "\x17\x03\x03\x00\x20garbage, garbage, garbage, garb", 37, 0), 37);
  EXPECT_TRUE(socket.is_closed_within(kLong));
  EXPECT_TRUE(secure.ask(Secure::folder().client()));
}

TEST(Tls, AHandshakeHasTheTimeOfAHead) {
  ServerConfig config;
  config.head_limit = millis(200);
  const Secure secure(who_asks, config);
  const Bare silent(secure.server.port());
  const Bare slow(secure.server.port());
  slow.send("\x16");
  EXPECT_EQ(silent.rest(), "");
  EXPECT_EQ(slow.rest(), "");
  // And a client that is through with it has only the rest for its first byte.
  RawSocket idle = secure.connect();
  EXPECT_TRUE(idle.is_closed_within(Millis(2000)));
}

TEST(Tls, StopEndsAHandshakeAtOnce) {
  Secure secure;
  const Bare silent(secure.server.port());
  const Bare slow(secure.server.port());
  slow.send("\x16");
  const auto took = secure.server.stop();
  ASSERT_TRUE(took);
  EXPECT_LT(*took, Millis(1000));
}

TEST(Tls, OldVersionsAndRenegotiationAreRefused) {
  const Secure secure;
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    const TlsContextPtr old(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    SSL_CTX_set_security_level(old.get(), 0);
    SSL_CTX_set_max_proto_version(old.get(), version);
    SSL_CTX_set_min_proto_version(old.get(), version);
    const std::shared_ptr<SSL> ssl(SSL_new(old.get()), SSL_free);
    const Bare bare(secure.server.port());
    SSL_set_fd(ssl.get(), bare.fd);
    EXPECT_NE(SSL_connect(ssl.get()), 1);
  }
  const TlsContextPtr twelve(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_max_proto_version(twelve.get(), TLS1_2_VERSION);
  const std::shared_ptr<SSL> ssl(SSL_new(twelve.get()), SSL_free);
  const Bare bare(secure.server.port());
  SSL_set_fd(ssl.get(), bare.fd);
  ASSERT_EQ(SSL_connect(ssl.get()), 1);
  SSL_renegotiate(ssl.get());
  const bool renegotiated = SSL_do_handshake(ssl.get()) == 1;
  EXPECT_FALSE(renegotiated);
}

TEST(Tls, AnotherProtocolThanHttp11IsRefused) {
  const Secure secure;
  const TlsContextPtr context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const unsigned char h2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), h2, sizeof h2);
  const std::shared_ptr<SSL> ssl(SSL_new(context.get()), SSL_free);
  const Bare bare(secure.server.port());
  SSL_set_fd(ssl.get(), bare.fd);
  EXPECT_NE(SSL_connect(ssl.get()), 1);
}

TEST(Tls, UnknownAuthoritiesAndWrongHostsAreNotTrustedAndSaidWhy) {
  const Secure secure;
  const TlsFolder other;
  const auto stranger = secure.ask(other.client());
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().fault, CallFault::kUntrusted);
  ASSERT_TRUE(stranger.error().shown);
  const auto ours = parse_certificates(Secure::folder().authority().certificate);
  const std::string fingerprint = facts_of(ours->front().get()).fingerprint;
  EXPECT_EQ(stranger.error().shown->top.fingerprint, fingerprint);
  EXPECT_THAT(stranger.error().detail, HasSubstr(fingerprint));
  IssueOrder order = server_order();
  order.names = {"elsewhere.example.org", "192.0.2.7"};
  other.add("elsewhere", other.authority(), order);
  const Secure elsewhere(who_asks, {},
                         {other.path("elsewhere.pem"), other.path("elsewhere.key"), {}, false});
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto misnamed = elsewhere.ask(other.client(), host);
    ASSERT_FALSE(misnamed);
    EXPECT_EQ(misnamed.error().fault, CallFault::kUntrusted);
    EXPECT_THAT(misnamed.error().detail,
                HasSubstr("not for this host but for elsewhere.example.org, 192.0.2.7"));
  }
}

TEST(Tls, ClientCertificatesAreAskedForAndJudged) {
  const TlsFolder& folder = Secure::folder();
  const TlsFolder strangers;
  IssueOrder order;
  order.common_name = "gpu-1";
  order.use = IssueOrder::Use::kClient;
  order.now = wall_clock_now();
  folder.add("gpu", folder.authority(), order);
  strangers.add("gpu", strangers.authority(), order);
  ServerTlsFiles files = folder.server();
  files.client_ca = folder.path("ca.pem");
  const ClientTlsFiles none = folder.client();
  const ClientTlsFiles good{none.ca, folder.path("gpu.pem"), folder.path("gpu.key")};
  const ClientTlsFiles bad{none.ca, strangers.path("gpu.pem"), strangers.path("gpu.key")};
  {
    const Secure optional(who_asks, {}, files);
    EXPECT_EQ(optional.ask(none)->body, "encrypted ''");
    EXPECT_EQ(optional.ask(good)->body, "encrypted 'gpu-1'");
    EXPECT_FALSE(optional.ask(bad));
  }
  files.demand = true;
  const Secure demanded(who_asks, {}, files);
  EXPECT_EQ(demanded.ask(good)->body, "encrypted 'gpu-1'");
  const auto without = demanded.ask(none);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().detail, HasSubstr("requires a client certificate"));
  EXPECT_FALSE(demanded.ask(bad));
}

TEST(Tls, FilesThatDoNotFitAreRefusedByName) {
  const TlsFolder folder;
  const auto complaint = [&](const ServerTlsFiles& files) {
    const auto opened = ServerTls::open(files);
    return opened ? std::string("fine") : opened.error();
  };
  ServerTlsFiles files = folder.server();
  EXPECT_EQ(complaint(files), "fine");
  files.certificate = folder.path("missing.pem");
  EXPECT_THAT(complaint(files), StartsWith(folder.path("missing.pem") + " "));
  const TlsFolder other;
  files = folder.server();
  files.key = other.server().key;
  EXPECT_THAT(complaint(files), HasSubstr("is not the key of " + files.certificate));
  files = folder.server();
  ::chmod(files.key.c_str(), 0644);
  EXPECT_THAT(complaint(files), HasSubstr("other users can read it (mode 0644); run 'chmod 600"));
  ::chmod(files.key.c_str(), 0600);
  IssueOrder expired = server_order();
  expired.now = wall_clock_now() - hours(24 * 400);
  folder.add("old", folder.authority(), expired);
  EXPECT_THAT(complaint({folder.path("old.pem"), folder.path("old.key"), {}, false}),
              HasSubstr("expired at "));
  folder.write("empty.pem", "nothing");
  EXPECT_THAT(complaint({folder.path("empty.pem"), files.key, {}, false}),
              HasSubstr("holds no certificate"));
  EXPECT_THAT(complaint({files.certificate, folder.path("empty.pem"), {}, false}),
              HasSubstr("holds no private key"));
}

TEST(Tls, ANewPairIsUsedWithoutARestartAndABrokenOneIsNot) {
  const TlsFolder& folder = Secure::folder();
  const Secure secure;
  RawSocket before = secure.connect();
  const std::string first = secure.tls->certificate().fingerprint;
  EXPECT_EQ(secure.tls->look_again().look, ServerTls::Look::kSame);
  folder.write("server.key", "broken");
  const auto refused = secure.tls->look_again();
  EXPECT_EQ(refused.look, ServerTls::Look::kRefused);
  EXPECT_THAT(refused.trouble, HasSubstr("server.key holds no private key"));
  EXPECT_EQ(secure.tls->look_again().look, ServerTls::Look::kSame);  // said once
  EXPECT_TRUE(secure.ask(folder.client()));
  folder.add("server", folder.authority(), server_order());
  EXPECT_EQ(secure.tls->look_again().look, ServerTls::Look::kReloaded);
  EXPECT_NE(secure.tls->certificate().fingerprint, first);
  EXPECT_TRUE(secure.ask(folder.client()));
  ASSERT_TRUE(before.send(get("/")));
  EXPECT_TRUE(before.answer());
}

// The vanishing of a client during a long poll.
TEST(Tls, AHalfCloseDuringALongPollIsNoticed) {
  Signal parked;
  Signal left;
  const auto park = [&](Exchange& exchange) -> asio::awaitable<Response> {
    parked.raise();
    asio::steady_timer timer(exchange.executor(), Millis(60'000));
    const auto first = co_await (timer.async_wait(asio::use_awaitable) || exchange.closed());
    if (first.index() == 1) left.raise();
    co_return Response{};
  };
  const Secure secure(park);
  for (int i = 1; i <= 3; ++i) {
    RawSocket socket = secure.connect();
    ASSERT_TRUE(socket.send(get("/")));
    ASSERT_TRUE(parked.wait_for(i));
    if (i == 1) socket.finish_sending();
    if (i == 2) socket.close();
    if (i == 3) socket.reset();
    EXPECT_TRUE(left.wait_for(i)) << i;
  }
}

TEST(Tls, LargeBodiesGoBothWays) {
  const Secure secure(echo());
  ClientConfig config;
  config.endpoint = {"127.0.0.1", secure.server.port(), true};
  config.trust = *ClientTrust::open(Secure::folder().client());
  Call call;
  call.method = Method::kPost;
  call.target = "/";
  call.body = std::string(5'000'000, 'x');
  const auto answer = send_and_wait(config, call);
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->body.size(), std::string_view("POST\n").size() + call.body.size());
}

TEST(Certificates, FingerprintsAreComparedHoweverTheyAreWritten) {
  const auto ours = parse_certificates(Secure::folder().authority().certificate);
  const std::string written = facts_of(ours->front().get()).fingerprint;
  EXPECT_THAT(written, StartsWith("SHA256:"));
  EXPECT_TRUE(same_fingerprint(written, written.substr(7)));
  std::string bare = written.substr(7);
  std::erase(bare, ':');
  EXPECT_TRUE(same_fingerprint(bare, written));
  EXPECT_FALSE(same_fingerprint(bare.substr(2), written));
  EXPECT_FALSE(same_fingerprint("", ""));
}

TEST(Certificates, WhatIsNoHostNameIsRefused) {
  IssueOrder order = server_order();
  order.names = {"a,DNS:evil"};
  const auto made = issue(Secure::folder().authority(), order);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error(), HasSubstr("is not a host name"));
}

}  // namespace
}  // namespace vortex::net::test
