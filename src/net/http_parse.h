#pragma once
// Bytes of one connection into requests, or into the reason why one is refused.
//
// The server's only reader of requests, and free of sockets, so that a fuzzer can drive it. What
// could be understood in two ways is refused, never repaired: bare line feeds, folded lines,
// control characters, two lengths, a length beside a transfer coding, several Host lines.
// One parser belongs to one connection; it is not shared between threads.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace vortex::net {

// Finds where the head of a message ends, and refuses on the way what a strict reader must refuse.
//
// Looks at every byte once however it arrives, so that garbage is answered as it comes and not when
// a deadline ends. Its state belongs to one head of one connection.

class HeadCheck {
 public:
  // Length of the head with its empty line, 0 while it is not complete. `bytes` starts at the head
  // each time and only grows between calls.
  std::expected<std::size_t, Refusal> find_end(std::string_view bytes, std::size_t bytes_max);

 private:
  std::size_t checked_ = 0;      // so far all is well
  std::size_t line_begins_ = 0;  // of the line that `checked_` is in
};

// The body of a message taken out of its framing: by length, in chunks, or up to the end.
//
// Takes every byte that belongs to the body as it comes and keeps nothing lying, so its memory does
// not depend on what the sender does. Extensions of chunks and trailers are skipped up to a limit.

class BodyReader {
 public:
  enum class Framing : std::uint8_t { kLength, kChunked, kToEnd };
  enum class State : std::uint8_t { kMore, kDone, kTooLarge, kMalformed };

  struct Frame {
    Framing framing = Framing::kLength;
    std::uint64_t length = 0;     // for kLength
    std::uint64_t bytes_max = 0;  // of the body
  };
  explicit BodyReader(const Frame& frame);

  // Appends what belongs to the body to `out`; returns how many bytes of the framing were used.
  // Fewer than all: done, or a fault.
  std::size_t feed(std::string_view bytes, std::string& out);
  State state() const { return state_; }
  // While it takes more: at most this many bytes still to come.
  void allow(std::uint64_t bytes);

 private:
  enum class Step : std::uint8_t {
    kSize,         // hex digits of a chunk's size
    kExtension,    // up to the end of that line
    kSizeEnd,      // its line feed
    kData,         // left_ bytes
    kDataReturn,   // the line end behind them
    kDataEnd,      //
    kTrailerLine,  // the first byte of a line after the last chunk
    kTrailer,      // the rest of it
    kTrailerEnd,   // its line feed
    kLastEnd,      // the line feed of the empty line
  };
  void take_line_byte(char c);
  void take_size(char c);
  void end_size_line();
  void expect(char got, char wanted, Step next);
  std::size_t take_data(std::string_view bytes, std::string& out);

  Framing framing_;
  State state_ = State::kMore;
  Step step_;
  std::uint64_t left_;      // of the body or the chunk
  std::uint64_t allowed_;   // of the whole body, still
  std::uint64_t size_ = 0;  // of the chunk whose line is read
  int digits_ = 0;
  std::size_t skipped_ = 0;  // bytes of extensions and trailers
};

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
  // In kBody: it may have at most this many bytes. Refused at once when more are announced.
  void limit_body(std::uint64_t bytes_max);
  std::uint64_t announced_bytes() const;  // from kBody on: Content-Length; 0: none, or in chunks
  void reset();                           // for the next request

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
