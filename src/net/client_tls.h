#pragma once
// The TLS layer of one client connection: handshake, then bytes both ways through it.
//
// Trusts what the system trusts (SSL_CERT_FILE and SSL_CERT_DIR name other certificates), and only
// a certificate of the host that was asked for. Ends with its socket: it is closed there. Internal
// to net; runs on the client's executor, and is not destroyed while one of its steps is under way.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace vortex::net {

class ClientTls {
 public:
  explicit ClientTls(boost::asio::ip::tcp::socket& socket);
  ~ClientTls();
  ClientTls(const ClientTls&) = delete;
  ClientTls& operator=(const ClientTls&) = delete;

  // Why it failed, in words; empty: it did not.
  boost::asio::awaitable<std::string> handshake(std::string host);

  using Moved = std::tuple<boost::system::error_code, std::size_t>;
  boost::asio::awaitable<Moved> read_some(std::span<char> room);
  boost::asio::awaitable<Moved> write(std::span<const boost::asio::const_buffer> buffers);

 private:
  struct Layer;
  std::unique_ptr<Layer> layer_;
};

}  // namespace vortex::net
