#pragma once
// The HTTP/1.1 server: sockets, limits, deadlines, keep-alive. It knows nothing of vortex.
//
// With TLS, the handshake counts as part of the first request's head, and a client that speaks
// plain HTTP is told so. Each connection is a coroutine on a strand of the given io_context. Slow,
// huge, deep or broken requests are answered 4xx or cut off by the limits and never reach the
// handler. Too many connections, in all or from one address: the newest is answered 503 and closed,
// unless it asks for a vital path, which some seats are kept back for. stop() ends keep-alive, lets
// answers that are under way finish up to a limit, and returns when every connection is gone.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include "base/time.h"
#include "net/exchange.h"
#include "net/http.h"
#include "net/tls_files.h"

namespace vortex::net {

// When the body of a request is read: before its handler is called, or when the handler asks for
// it.
enum class Bodies : std::uint8_t { kFirst, kOnDemand };

struct ServerConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::uint32_t connections_max = 4096;
  // Of one address (of IPv6: one /64); 0: no limit. Loopback may have three quarters of all seats.
  std::uint32_t connections_per_address_max = 0;
  std::vector<std::string> vital_targets = {};  // GET of these is answered when all seats are taken
  Bodies bodies = Bodies::kFirst;
  std::shared_ptr<ServerTls> tls = {};  // null: plain HTTP
  Headers default_headers = {};         // of every answer that has no header of that name
  std::uint32_t header_bytes_max = 16 * 1024;
  std::uint64_t body_bytes_max = 64ULL * 1024 * 1024;
  Duration head_limit = seconds(10);    // to read the head of a request
  Duration body_limit = seconds(60);    // to read its body
  Duration write_limit = seconds(30);   // for one write
  Duration idle_limit = seconds(120);   // keep-alive without a request
  Duration user_timeout = seconds(20);  // TCP_USER_TIMEOUT
  Duration drain_limit = seconds(3);    // for answers under way when it stops
};

// Answers a request that never reached the handler (too large, malformed, server full).
using Complain = std::function<Response(int status, std::string_view detail)>;

class Server {
 public:
  // The error says what was tried and what the system said (address in use, not permitted).
  static std::expected<std::unique_ptr<Server>, std::string> listen(boost::asio::io_context& io,
                                                                    ServerConfig config,
                                                                    Handler handler,
                                                                    Complain complain);
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;
  virtual std::uint16_t port() const = 0;
  virtual std::uint32_t connections() const = 0;
  virtual boost::asio::awaitable<void> stop() = 0;
};

}  // namespace vortex::net
