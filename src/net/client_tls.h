#pragma once
// The TLS layer of one client connection: handshake, then bytes both ways through it.
//
// Trusts what its ClientTrust says, and only a certificate of the host that was asked for. Ends
// with its socket: it is closed there. Internal to net; runs on the client's executor, and is not
// destroyed while one of its steps is under way.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "net/tls_channel.h"
#include "net/tls_files.h"

struct x509_store_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL calls it so

namespace vortex::net {

class ClientTls {
 public:
  ClientTls(boost::asio::ip::tcp::socket& socket, TlsContextPtr context, std::string host);
  ClientTls(const ClientTls&) = delete;
  ClientTls& operator=(const ClientTls&) = delete;

  // Why it failed, in words; empty: it did not.
  boost::asio::awaitable<std::string> handshake();
  // Set: it failed because of the server's certificate.
  const std::optional<UntrustedPeer>& untrusted() const { return untrusted_; }
  const std::string& trouble() const { return channel_.trouble(); }

  using Moved = std::tuple<boost::system::error_code, std::size_t>;
  boost::asio::awaitable<Moved> read_some(std::span<char> room);
  boost::asio::awaitable<void> write(std::span<const boost::asio::const_buffer> buffers);

 private:
  friend int judge_server(x509_store_ctx_st* shown, void* unused);

  bool aim_at_host();

  boost::asio::ip::tcp::socket& socket_;
  TlsChannel channel_;
  std::string host_;
  std::optional<UntrustedPeer> untrusted_;
};

// OpenSSL calls it, in contexts of clients, to have the server's certificate judged.
int judge_server(x509_store_ctx_st* shown, void* unused);

}  // namespace vortex::net
