#pragma once
// TLS over one non-blocking socket, for either side: each step is a try that never waits.
//
// Reads straight from the socket; what it has to send it gathers and sends in as few calls as
// possible, and what the socket does not take is kept (unsent()) and goes first next time. Who
// waits for the socket, and for how long, is the caller's business. Does not own the socket. One
// thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>

struct ssl_st;      // NOLINT(readability-identifier-naming): OpenSSL calls them so
struct ssl_ctx_st;  // NOLINT(readability-identifier-naming)

namespace vortex::net {

using TlsContextPtr = std::shared_ptr<ssl_ctx_st>;

class TlsChannel {
 public:
  enum class Side : std::uint8_t { kServer, kClient };
  // Throws std::bad_alloc.
  TlsChannel(TlsContextPtr context, int fd, Side side);
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  enum class Step : std::uint8_t {
    kDone,
    kWantsRead,   // again when the socket can be read
    kWantsWrite,  // again when it can be written
    kEnded,       // the other end has closed
    kBroken,      // trouble() says why
  };
  Step handshake();
  // kDone: `count` bytes, at least one.
  Step read(std::span<char> room, std::size_t& count);
  // How many bytes it took; like the same function of a socket, `would_block` when that is full.
  std::size_t write_some(std::span<const boost::asio::const_buffer> buffers,
                         boost::system::error_code& ec);
  bool unsent() const { return sent_ < out_.size(); }
  // Tells the other end that nothing more comes; best effort.
  void say_goodbye();

  const std::string& trouble() const { return trouble_; }
  // Common name of the other end's certificate if that was verified; empty otherwise.
  std::string peer_name() const;
  ssl_st* native() { return ssl_; }

 private:
  friend struct TlsPipe;  // what OpenSSL reads from and writes to

  Step judge(int result);
  Step flush();

  TlsContextPtr context_;
  ssl_st* ssl_ = nullptr;
  int fd_;
  std::string out_;  // encrypted
  std::size_t sent_ = 0;
  std::string trouble_;
  bool ready_ = false;  // the handshake is over
};

// Whether a client that begins with this byte speaks TLS.
constexpr bool begins_tls(unsigned char first) { return first == 0x16; }

}  // namespace vortex::net
