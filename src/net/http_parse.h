#pragma once
// Bytes of one connection into requests, or into the reason why one is refused.
//
// The server's only reader of requests, and free of sockets, so that a fuzzer can drive it. What
// could be understood in two ways is refused, never repaired: bare line feeds, folded lines,
// control characters, two lengths, a length beside a transfer coding, several Host lines.
// One parser belongs to one connection; it is not shared between threads.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "net/http.h"
#include "net/target.h"

namespace vortex::net {

struct ParseLimits {
  std::uint32_t header_bytes_max = 16 * 1024;
  std::uint64_t body_bytes_max = 64ULL * 1024 * 1024;
};

class RequestParser {
 public:
  enum class State : std::uint8_t { kHead, kBody, kDone, kRefused };

  explicit RequestParser(ParseLimits limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes what it can use from the front and says how much that was. What it left is shown again,
  // with what has arrived since behind it.
  std::size_t feed(std::string_view bytes);
  State state() const;
  const Refusal& refusal() const;  // when refused

  Request& request();  // complete when done; without the body from kBody on
  const Request& request() const;
  bool keep_alive() const;      // from kBody on: the sender wants the connection kept
  bool is_http11() const;       // from kBody on
  bool wants_continue() const;  // from kBody on: waits for "100 Continue" with its body
  void reset();                 // for the next request

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What the server would make of these bytes if nothing else came: for tests and the fuzzer.
struct ParseOutcome {
  RequestParser::State state = RequestParser::State::kHead;  // kHead, kBody: not complete
  Request request;                                           // when done
  Refusal refusal;                                           // when refused
  std::size_t used = 0;
};
ParseOutcome parse_request(std::string_view bytes, const ParseLimits& limits = {});

}  // namespace vortex::net
