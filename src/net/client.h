#pragma once
// The HTTP/1.1 client: one connection, kept alive, one request at a time, a deadline on every step.
// With or without TLS; a certificate that the system does not trust is a connection not made.
//
// A request that fails is not repeated here: the caller decides (CONTRACT S05). Reconnects by
// itself for the next request, also when the kept connection is found dead before anything is sent.
// Used by workers, the command line, probes and the bench.
// Threads: the executor is a strand or a loop with one thread, and send() and stream() are awaited
// on it; close() and the destructor may come from anywhere, but not after the loop is gone.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/networks.h"
#include "base/time.h"
#include "net/http.h"
#include "net/tls_files.h"

namespace vortex::net {

struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  bool tls = false;
};
// `http://host:port`, `host:port`, or `host` with the default port; `https://host`, whose default
// is 443. Unset: not an address.
std::optional<Endpoint> parse_endpoint(std::string_view text, std::uint16_t default_port);

// A whole address, with what is asked for there: `https://host:port/path?query`.
struct WebAddress {
  Endpoint endpoint;
  std::string target;  // begins with a slash
};
std::optional<WebAddress> parse_web_address(std::string_view text);

// The same without a scheme, for where a server listens; port 0 is any free one.
std::optional<Endpoint> parse_listener(std::string_view text, std::uint16_t default_port);

enum class CallFault : std::uint8_t {
  kRefused,    // host up, nobody listening: nothing was sent
  kNotSent,    // could not connect or resolve: nothing was sent
  kTimedOut,   // sent, no answer in time: may have had its effect
  kBroken,     // the connection ended before the answer was complete: the same
  kMalformed,  // what came back is not HTTP
  kForbidden,  // none of its addresses may be reached: nothing was sent
  kUntrusted,  // its certificate is not trusted: nothing was sent
};
struct CallError {
  CallFault fault = CallFault::kNotSent;
  std::string detail;
  std::shared_ptr<const UntrustedPeer> shown = {};  // kUntrusted: what it showed
};

struct ClientConfig {
  Endpoint endpoint;
  std::string token;  // empty: none
  // Asked while there is no token, in each connection anew and again when one it gave is refused.
  std::function<std::string()> find_token = {};
  std::shared_ptr<ClientTrust> trust = {};  // null: what the system trusts
  Duration connect_limit = seconds(5);
  Duration user_timeout = seconds(20);
  std::uint64_t body_bytes_max = 256ULL * 1024 * 1024;
  // Which addresses it may connect to, asked after a name is resolved; empty: any. The connection
  // goes to the very address that was asked about.
  std::function<bool(const IpAddress&)> may_reach = {};
};

struct Call {
  Method method = Method::kGet;
  std::string target;
  Headers headers;
  std::string body;  // JSON unless a Content-Type header says otherwise
  // Sent in place of `body` if it is not empty; stays where it is until the call has ended.
  std::string_view body_view = {};
  Duration limit = seconds(30);
  // The answer may hold secrets: nothing of it stays with the client. Its body is the caller's.
  bool wiped = false;
};

class ClientImpl;

class Client {
 public:
  Client(boost::asio::any_io_executor executor, ClientConfig config);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  boost::asio::awaitable<std::expected<Response, CallError>> send(Call call);
  // For answers that are long or do not end (SSE): each piece of the body of a 2xx answer goes to
  // `on_piece` as it comes, and the Response returned at the end has none. False from `on_piece`
  // ends the stream and the connection. Here `call.limit` is the longest wait for the head and
  // then between two pieces. Other statuses come back whole, as from send().
  using OnPiece = std::function<bool(std::string_view piece)>;
  boost::asio::awaitable<std::expected<Response, CallError>> stream(Call call, OnPiece on_piece);
  // The same for whoever passes the answer on: `sink` is awaited with the head of a 2xx answer as
  // soon as it is there, with an empty piece if need be, and with each piece; false ends it. The
  // next piece is read when it has returned.
  using Sink =
      std::function<boost::asio::awaitable<bool>(const Response& head, std::string_view piece)>;
  boost::asio::awaitable<std::expected<Response, CallError>> relay(Call call, Sink sink);
  // Ends whatever is under way; the pending send returns kBroken.
  void close();

 private:
  std::shared_ptr<ClientImpl> impl_;  // shared with the call under way
};

// For programs that have nothing else to do meanwhile: one call, own event loop.
std::expected<Response, CallError> send_and_wait(const ClientConfig& config, Call call);

}  // namespace vortex::net
