#pragma once
// The body of a message taken out of its framing: by length, in chunks, or up to the end.
//
// Takes every byte that belongs to the body as it comes and keeps nothing lying, so its memory does
// not depend on what the sender does. Extensions of chunks and trailers are skipped up to a limit.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vortex::net {

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

}  // namespace vortex::net
