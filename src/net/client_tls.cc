#include "net/client_tls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "base/text.h"

namespace vortex::net {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// SSL_set_tlsext_host_name is a macro with casts that our warnings forbid.
bool ask_for_name(SSL* ssl, std::string& host) {
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

std::string date_of(Instant at) {
  return has_time_text(at) ? std::string(time_text(at).data(), 10) : "an unknown day";
}

std::string why_untrusted(int verdict, const UntrustedPeer& peer) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("it expired on {}", date_of(peer.own.until));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("it is not valid before {}", date_of(peer.own.from));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("it is not for this host but for {}", fmt::join(peer.own.names, ", "));
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return fmt::format("unknown CA with the fingerprint {}", peer.top.fingerprint);
    default:
      return X509_verify_cert_error_string(verdict);
  }
}

}  // namespace

// Keeps what was shown when it is not trusted: after a failed handshake OpenSSL has forgotten it.
int judge_server(X509_STORE_CTX* shown, void* /*unused*/) {
  if (X509_verify_cert(shown) == 1) return 1;
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(shown, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* tls = static_cast<ClientTls*>(SSL_get_ex_data(ssl, 0));
  const STACK_OF(X509)* chain = X509_STORE_CTX_get0_untrusted(shown);
  const int count = sk_X509_num(chain);
  if (tls == nullptr || count < 1) return 0;
  UntrustedPeer peer;
  peer.own = facts_of(sk_X509_value(chain, 0));
  peer.top = facts_of(sk_X509_value(chain, count - 1));
  peer.top_pem = pem_of(sk_X509_value(chain, count - 1));
  peer.why = why_untrusted(X509_STORE_CTX_get_error(shown), peer);
  tls->untrusted_ = std::move(peer);
  return 0;
}

ClientTls::ClientTls(tcp::socket& socket, TlsContextPtr context, std::string host)
    : socket_(socket),
      channel_(std::move(context), socket.native_handle(), TlsChannel::Side::kClient),
      host_(std::move(host)) {
  SSL_set_ex_data(channel_.native(), 0, this);
}

// Names are said aloud so that one server can have many certificates; addresses are not.
bool ClientTls::aim_at_host() {
  boost::system::error_code not_numeric;
  static_cast<void>(asio::ip::make_address(host_, not_numeric));
  SSL* ssl = channel_.native();
  if (!not_numeric) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host_.c_str()) == 1;
  }
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(ssl, host_.c_str()) == 1 && ask_for_name(ssl, host_);
}

asio::awaitable<std::string> ClientTls::handshake() {
  using Step = TlsChannel::Step;
  if (!aim_at_host()) co_return "not a host name";
  for (;;) {
    const Step step = channel_.handshake();
    if (step == Step::kDone) co_return std::string();
    if (step == Step::kEnded || step == Step::kBroken) break;
    const auto side = step == Step::kWantsRead ? tcp::socket::wait_read : tcp::socket::wait_write;
    const auto [fault] = co_await socket_.async_wait(side, asio::as_tuple(asio::deferred));
    if (fault) co_return fault.message();
  }
  if (untrusted_) co_return "its certificate is not trusted: " + untrusted_->why;
  co_return "TLS: " + channel_.trouble();
}

// Many servers close without taking leave; whether all has come the parser knows.
asio::awaitable<ClientTls::Moved> ClientTls::read_some(std::span<char> room) {
  using Step = TlsChannel::Step;
  for (;;) {
    std::size_t count = 0;
    const Step step = channel_.read(room, count);
    if (step == Step::kDone) co_return Moved{boost::system::error_code(), count};
    if (step == Step::kEnded) co_return Moved{asio::error::eof, 0};
    if (step == Step::kBroken) co_return Moved{asio::error::connection_reset, 0};
    const auto [fault] =
        co_await socket_.async_wait(tcp::socket::wait_read, asio::as_tuple(asio::deferred));
    if (fault) co_return Moved{fault, 0};
  }
}

// Has no result, as in the client: what the server answered is worth more.
asio::awaitable<void> ClientTls::write(std::span<const asio::const_buffer> buffers) {
  std::vector<asio::const_buffer> rest(buffers.begin(), buffers.end());
  while (asio::buffer_size(rest) > 0 || channel_.unsent()) {
    boost::system::error_code ec;
    std::size_t count = channel_.write_some(rest, ec);
    for (auto& buffer : rest) {
      const std::size_t part = std::min(count, buffer.size());
      buffer += part;
      count -= part;
    }
    if (!ec) continue;
    if (ec != asio::error::would_block) co_return;
    const auto [fault] =
        co_await socket_.async_wait(tcp::socket::wait_write, asio::as_tuple(asio::deferred));
    if (fault) co_return;
  }
}

}  // namespace vortex::net
