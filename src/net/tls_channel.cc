#include "net/tls_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <boost/asio/error.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "net/certificates.h"

namespace vortex::net {

// OpenSSL's own socket pipe would raise SIGPIPE and make one system call for each record.
struct TlsPipe {
  static constexpr std::size_t kOutMax = std::size_t{1024} * 1024;

  static int read(BIO* bio, char* to, int size) {
    const auto* channel = static_cast<TlsChannel*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const ssize_t count = ::recv(channel->fd_, to, static_cast<std::size_t>(size), MSG_DONTWAIT);
    if (count >= 0) return static_cast<int>(count);
    if (errno == EAGAIN || errno == EINTR) BIO_set_retry_read(bio);
    return -1;
  }
  static int write(BIO* bio, const char* from, int size) {
    auto* channel = static_cast<TlsChannel*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    // Who makes us answer without reading the answers is cut off.
    if (channel->out_.size() - channel->sent_ > kOutMax) return -1;
    channel->out_.append(from, static_cast<std::size_t>(size));
    return size;
  }
  static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }
  static int create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  }
  static const BIO_METHOD* method() {
    static const BIO_METHOD* made = [] {
      BIO_METHOD* pipe = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "vortex");
      if (pipe == nullptr) throw std::bad_alloc();
      BIO_meth_set_read(pipe, read);
      BIO_meth_set_write(pipe, write);
      BIO_meth_set_ctrl(pipe, control);
      BIO_meth_set_create(pipe, create);
      return pipe;
    }();
    return made;
  }
};

namespace {

constexpr std::size_t kRecordBytes = std::size_t{16} * 1024;
constexpr std::size_t kEncryptAtOnce = 8 * kRecordBytes;
constexpr std::size_t kCipherTextKept = std::size_t{64} * 1024;

// The next bytes of the buffers from `at` on.
std::size_t gather(std::span<const boost::asio::const_buffer> buffers, std::size_t at,
                   std::span<char> into) {
  std::size_t filled = 0;
  for (const auto& buffer : buffers) {
    if (at >= buffer.size()) {
      at -= buffer.size();
      continue;
    }
    const std::size_t part = std::min(buffer.size() - at, into.size() - filled);
    std::memcpy(into.data() + filled, static_cast<const char*>(buffer.data()) + at, part);
    filled += part;
    at = 0;
    if (filled == into.size()) break;
  }
  return filled;
}

std::string words_for(int reason) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return "it does not speak TLS; use http://";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "it requires a client certificate; pass --cert-file and --key-file";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "it refused the handshake; if it requires client certificates, pass --cert-file and "
             "--key-file";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      return "it does not trust our client certificate; use one that its CA has signed";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "our client certificate has expired; renew it";
    default:
      return {};
  }
}

}  // namespace

TlsChannel::TlsChannel(TlsContextPtr context, int fd, Side side)
    : context_(std::move(context)), ssl_(SSL_new(context_.get())), fd_(fd) {
  BIO* bio = ssl_ == nullptr ? nullptr : BIO_new(TlsPipe::method());
  if (bio == nullptr) {
    SSL_free(ssl_);
    throw std::bad_alloc();
  }
  BIO_set_data(bio, this);
  SSL_set_bio(ssl_, bio, bio);
  side == Side::kServer ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
}

TlsChannel::~TlsChannel() { SSL_free(ssl_); }

TlsChannel::Step TlsChannel::judge(int result) {
  const int kind = SSL_get_error(ssl_, result);
  if (kind == SSL_ERROR_WANT_READ) return Step::kWantsRead;
  if (kind == SSL_ERROR_ZERO_RETURN) return Step::kEnded;
  const unsigned long code = ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  if (kind == SSL_ERROR_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    trouble_ = "the connection closed";
    return Step::kEnded;
  }
  trouble_ = words_for(reason);
  if (trouble_.empty()) trouble_ = code == 0 ? "the connection broke" : openssl_complaint();
  ERR_clear_error();
  return Step::kBroken;
}

// kDone: nothing is left to send.
TlsChannel::Step TlsChannel::flush() {
  while (unsent()) {
    const ssize_t count =
        ::send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN ? Step::kWantsWrite : Step::kBroken;
    sent_ += static_cast<std::size_t>(count);
  }
  out_.capacity() > kCipherTextKept ? std::string().swap(out_) : out_.clear();
  sent_ = 0;
  return Step::kDone;
}

TlsChannel::Step TlsChannel::handshake() {
  if (const Step sent = flush(); sent != Step::kDone) return sent;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  const Step step = result == 1 ? Step::kDone : judge(result);
  // Also what is said last, to the one that is refused.
  const Step sent = flush();
  if (step == Step::kBroken || step == Step::kEnded) return step;
  if (sent != Step::kDone) return sent;
  ready_ = step == Step::kDone;
  return step;
}

TlsChannel::Step TlsChannel::read(std::span<char> room, std::size_t& count) {
  ERR_clear_error();
  const int result = SSL_read_ex(ssl_, room.data(), room.size(), &count);
  const Step step = result == 1 ? Step::kDone : judge(result);
  if (unsent()) flush();
  return step;
}

std::size_t TlsChannel::write_some(std::span<const boost::asio::const_buffer> buffers,
                                   boost::system::error_code& ec) {
  const auto fault_of = [](Step step) -> boost::system::error_code {
    if (step == Step::kWantsWrite) return boost::asio::error::would_block;
    if (step == Step::kBroken) return boost::asio::error::broken_pipe;
    return {};
  };
  ec = fault_of(flush());
  if (ec) return 0;
  std::array<char, kRecordBytes> record;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled
  std::size_t taken = 0;
  ERR_clear_error();
  while (taken < kEncryptAtOnce) {
    const std::size_t size = gather(buffers, taken, record);
    if (size == 0) break;
    std::size_t written = 0;
    if (SSL_write_ex(ssl_, record.data(), size, &written) != 1) {
      judge(0);
      ec = boost::asio::error::broken_pipe;
      return taken;
    }
    taken += written;
  }
  ec = fault_of(flush());
  return taken;
}

void TlsChannel::say_goodbye() {
  if (!ready_ || unsent()) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  flush();
  ERR_clear_error();
}

std::string TlsChannel::peer_name() const {
  if (SSL_get_verify_result(ssl_) != X509_V_OK) return {};
  const std::unique_ptr<X509, decltype(&X509_free)> peer(SSL_get1_peer_certificate(ssl_),
                                                         X509_free);
  return peer ? facts_of(peer.get()).common_name : std::string();
}

}  // namespace vortex::net
