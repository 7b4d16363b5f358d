#include "net/body_read.h"

#include <algorithm>

#include "base/text.h"

namespace vortex::net {
namespace {

constexpr std::size_t kSkippedBytesMax = 8 * 1024;
constexpr int kSizeDigitsMax = 15;  // no overflow, and no room for a flood of zeros

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F; }

}  // namespace

BodyReader::BodyReader(const Frame& frame)
    : framing_(frame.framing),
      step_(frame.framing == Framing::kChunked ? Step::kSize : Step::kData),
      left_(frame.framing == Framing::kLength ? frame.length : UINT64_MAX),
      allowed_(frame.bytes_max) {
  if (framing_ != Framing::kLength) return;
  if (left_ > allowed_) state_ = State::kTooLarge;
  if (left_ == 0) state_ = State::kDone;
}

std::size_t BodyReader::feed(std::string_view bytes, std::string& out) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ == State::kMore) {
    if (step_ == Step::kData) {
      used += take_data(bytes.substr(used), out);
    } else {
      take_line_byte(bytes[used++]);
    }
  }
  return used;
}

std::size_t BodyReader::take_data(std::string_view bytes, std::string& out) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  if (size > allowed_) {
    state_ = State::kTooLarge;
    return 0;
  }
  out.append(bytes.substr(0, size));
  allowed_ -= size;
  if (framing_ == Framing::kToEnd) return size;
  left_ -= size;
  if (left_ > 0) return size;
  if (framing_ == Framing::kLength) state_ = State::kDone;
  step_ = Step::kDataReturn;
  return size;
}

void BodyReader::expect(char got, char wanted, Step next) {
  if (got != wanted) state_ = State::kMalformed;
  step_ = next;
}

void BodyReader::take_size(char c) {
  const int digit = hex_value(c);
  if (digit >= 0 && digits_ < kSizeDigitsMax) {
    size_ = size_ * 16 + static_cast<std::uint64_t>(digit);
    ++digits_;
    return;
  }
  const bool ends = c == '\r' || c == ';';
  if (digits_ == 0 || digit >= 0 || !ends) {
    state_ = State::kMalformed;
    return;
  }
  step_ = c == '\r' ? Step::kSizeEnd : Step::kExtension;
}

void BodyReader::end_size_line() {
  if (size_ > allowed_) {
    state_ = State::kTooLarge;
    return;
  }
  left_ = size_;
  step_ = size_ == 0 ? Step::kTrailerLine : Step::kData;
  size_ = 0;
  digits_ = 0;
}

void BodyReader::take_line_byte(char c) {
  switch (step_) {
    case Step::kSize:
      return take_size(c);
    case Step::kExtension:
    case Step::kTrailer:
    case Step::kTrailerLine:
      if (c == '\r') {
        step_ = step_ == Step::kExtension ? Step::kSizeEnd
                : step_ == Step::kTrailer ? Step::kTrailerEnd
                                          : Step::kLastEnd;
        return;
      }
      if (is_control(c) || ++skipped_ > kSkippedBytesMax) state_ = State::kMalformed;
      if (step_ == Step::kTrailerLine) step_ = Step::kTrailer;
      return;
    case Step::kSizeEnd:
      if (c != '\n') {
        state_ = State::kMalformed;
        return;
      }
      return end_size_line();
    case Step::kDataReturn:
      return expect(c, '\r', Step::kDataEnd);
    case Step::kDataEnd:
      return expect(c, '\n', Step::kSize);
    case Step::kTrailerEnd:
      return expect(c, '\n', Step::kTrailerLine);
    case Step::kLastEnd:
      expect(c, '\n', Step::kSize);
      if (state_ == State::kMore) state_ = State::kDone;
      return;
    case Step::kData:
      return;
  }
}

}  // namespace vortex::net
