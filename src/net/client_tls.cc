#include "net/client_tls.h"

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace vortex::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// One for the process: reading what the system trusts takes a while.
asio::ssl::context& trust() {
  static asio::ssl::context context = [] {
    asio::ssl::context made(asio::ssl::context::tls_client);
    boost::system::error_code ignored;
    made.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, ignored);
    made.set_default_verify_paths(ignored);  // nothing is trusted then
    made.set_verify_mode(asio::ssl::verify_peer, ignored);
    return made;
  }();
  return context;
}

// SSL_set_tlsext_host_name is a macro with casts that our warnings forbid.
bool ask_for_name(SSL* ssl, std::string& host) {
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

}  // namespace

struct ClientTls::Layer {
  explicit Layer(tcp::socket& socket) : stream(socket, trust()) {}
  asio::ssl::stream<tcp::socket&> stream;
};

ClientTls::ClientTls(tcp::socket& socket) : layer_(std::make_unique<Layer>(socket)) {}
ClientTls::~ClientTls() = default;

asio::awaitable<std::string> ClientTls::handshake(std::string host) {
  auto& stream = layer_->stream;
  boost::system::error_code ec;
  static_cast<void>(asio::ip::make_address(host, ec));
  // Names are said aloud so that one server can have many certificates; addresses are not.
  if (ec && !ask_for_name(stream.native_handle(), host)) {
    co_return "cannot resolve the host name";
  }
  stream.set_verify_callback(asio::ssl::host_name_verification(host), ec);
  if (ec) co_return ec.message();
  const auto [fault] = co_await stream.async_handshake(asio::ssl::stream_base::client,
                                                       asio::as_tuple(asio::deferred));
  if (!fault) co_return std::string();
  const long verdict = SSL_get_verify_result(stream.native_handle());
  if (verdict == X509_V_OK) co_return "TLS: " + fault.message();
  co_return std::string("its certificate is not trusted: ") +
      X509_verify_cert_error_string(verdict);
}

asio::awaitable<ClientTls::Moved> ClientTls::read_some(std::span<char> room) {
  const auto [fault, count] = co_await layer_->stream.async_read_some(
      asio::buffer(room.data(), room.size()), asio::as_tuple(asio::deferred));
  // Many servers close without taking leave; whether all has come the parser knows.
  const bool cut = fault == asio::ssl::error::stream_truncated;
  const boost::system::error_code end = asio::error::eof;
  co_return Moved{cut ? end : fault, count};
}

asio::awaitable<ClientTls::Moved> ClientTls::write(std::span<const asio::const_buffer> buffers) {
  const auto [fault, count] =
      co_await asio::async_write(layer_->stream, buffers, asio::as_tuple(asio::deferred));
  co_return Moved{fault, count};
}

}  // namespace vortex::net
