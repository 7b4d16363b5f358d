#include "net/http_parse.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"

namespace vortex::net {
namespace {

std::unexpected<Refusal> malformed(std::string_view what) {
  return std::unexpected(Refusal{400, fmt::format("malformed headers: {}", what)});
}

std::unexpected<Refusal> too_large(bool in_request_line, std::size_t bytes_max) {
  if (in_request_line) {
    return std::unexpected(Refusal{414, "the request line is too long"});
  }
  return std::unexpected(
      Refusal{431, fmt::format("the headers are larger than {} bytes", bytes_max)});
}

}  // namespace

std::expected<std::size_t, Refusal> HeadCheck::find_end(std::string_view bytes,
                                                        std::size_t bytes_max) {
  for (; checked_ < bytes.size() && checked_ < bytes_max; ++checked_) {
    const auto c = static_cast<unsigned char>(bytes[checked_]);
    if (c > 0x20 && c != 0x7F) continue;
    if (c == ' ' || c == '\t') {
      if (checked_ == line_begins_) return malformed("a line that starts with a space");
      continue;
    }
    if (c == '\n') return malformed("a line feed without a carriage return");
    if (c != '\r') return malformed("a control character");
    if (checked_ + 1 == bytes.size()) break;  // its line feed may still come
    if (bytes[checked_ + 1] != '\n') return malformed("a carriage return without a line feed");
    if (checked_ == line_begins_) {
      if (checked_ == 0) return malformed("an empty request line");
      return checked_ + 2;
    }
    ++checked_;
    line_begins_ = checked_ + 1;
  }
  if (checked_ >= bytes_max) return too_large(line_begins_ == 0, bytes_max);
  return 0;
}

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

void BodyReader::allow(std::uint64_t bytes) {
  if (state_ != State::kMore) return;
  allowed_ = std::min(allowed_, bytes);
  if (framing_ == Framing::kLength && left_ > allowed_) state_ = State::kTooLarge;
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

namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::beast::error_code;
using BeastView = boost::beast::string_view;

constexpr std::size_t kHeadersMax = 100;
constexpr std::uint64_t kKeptMax = 64 * 1024;  // of a body's memory, for the next one

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::kGet;
    case http::verb::head:
      return Method::kHead;
    case http::verb::post:
      return Method::kPost;
    case http::verb::put:
      return Method::kPut;
    case http::verb::patch:
      return Method::kPatch;
    case http::verb::delete_:
      return Method::kDelete;
    case http::verb::options:
      return Method::kOptions;
    default:
      return Method::kOther;
  }
}

// Beast does the grammar of the head; what it is lenient about is checked in the callbacks. Bodies
// are not its business: its reader of chunks asserts on an input that a slow sender can produce
// (docs/adr/014).
class HeadReader final : public http::basic_parser<true> {
 public:
  HeadReader(const ParseLimits& limits, Request& request) : request_(request) {
    header_limit(limits.header_bytes_max + 1024);  // the head was measured before it comes here
    skip(true);
  }

  std::optional<Refusal>& objection() { return objection_; }
  bool is_http11() const { return version_ == 11; }
  bool wants_continue() const { return wants_continue_ && is_http11(); }

 private:
  void object(int status, std::string_view detail, ErrorCode& ec) {
    objection_ = Refusal{status, std::string(detail)};
    ec = http::error::bad_field;
  }

  void on_request_impl(http::verb verb, BeastView, BeastView target, int version,
                       ErrorCode& ec) override {
    request_.method = method_of(verb);
    version_ = version;
    objection_ = read_target(view(target), request_);
    if (objection_) ec = http::error::bad_target;
  }

  void on_field_impl(http::field field, BeastView name, BeastView value, ErrorCode& ec) override {
    if (request_.headers.size() == kHeadersMax) return object(431, "more than 100 headers", ec);
    request_.headers.emplace_back(view(name), view(value));
    switch (field) {
      case http::field::host:
        ++hosts_;
        break;
      case http::field::content_length:
        ++lengths_;
        if (!all_digits(view(value))) object(400, "Content-Length is not a number", ec);
        break;
      case http::field::transfer_encoding:
        ++codings_;
        if (!same_ignoring_case(view(value), "chunked")) {
          object(400, "the only supported Transfer-Encoding is chunked", ec);
        }
        break;
      case http::field::expect:
        if (!same_ignoring_case(view(value), "100-continue")) {
          object(417, "the only supported Expect is 100-continue", ec);
        }
        wants_continue_ = true;
        break;
      default:
        break;
    }
  }

  void on_header_impl(ErrorCode& ec) override {
    if (hosts_ > 1) return object(400, "several Host headers", ec);
    if (hosts_ == 0 && is_http11()) return object(400, "the Host header is missing", ec);
    if (lengths_ > 1) return object(400, "several Content-Length headers", ec);
    if (lengths_ + codings_ > 1) {
      return object(400, "Content-Length and Transfer-Encoding together", ec);
    }
    if (codings_ > 0 && !is_http11()) object(400, "Transfer-Encoding needs HTTP/1.1", ec);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(BeastView, ErrorCode&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, BeastView, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView, ErrorCode&) override { return 0; }
  void on_finish_impl(ErrorCode&) override {}
  void on_response_impl(int, BeastView, int, ErrorCode&) override { VX_ASSERT(false); }

  Request& request_;
  std::optional<Refusal> objection_;
  int version_ = 11;
  int hosts_ = 0;
  int lengths_ = 0;
  int codings_ = 0;
  bool wants_continue_ = false;
};

}  // namespace

struct RequestParser::Impl {
  ParseLimits limits;
  Request request{};
  std::optional<HeadReader> head{};
  std::optional<BodyReader> body{};
  HeadCheck check{};
  Refusal refusal{};
  std::uint64_t body_bytes_max = 0;  // of the present request
  std::uint64_t announced = 0;
  State state = State::kHead;
  bool blank_line_skipped = false;

  void refuse(Refusal why) {
    refusal = std::move(why);
    state = State::kRefused;
  }
  void read_head(std::string_view bytes);
  void begin_body();
  void judge_body();
  std::size_t feed_head(std::string_view bytes);
};

void RequestParser::Impl::read_head(std::string_view bytes) {
  head.emplace(limits, request);
  ErrorCode ec;
  head->put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  if (head->objection()) return refuse(std::move(*head->objection()));
  if (ec || !head->is_done()) {
    return refuse({400, fmt::format("malformed headers: {}", ec.message())});
  }
  begin_body();
}

void RequestParser::Impl::begin_body() {
  const auto length = head->content_length();
  BodyReader::Frame frame;
  frame.framing = head->chunked() ? BodyReader::Framing::kChunked : BodyReader::Framing::kLength;
  frame.length = length ? *length : 0;
  frame.bytes_max = limits.body_bytes_max;
  body.emplace(frame);
  state = State::kBody;
  body_bytes_max = limits.body_bytes_max;
  announced = frame.length;
  judge_body();
}

void RequestParser::Impl::judge_body() {
  switch (body->state()) {
    case BodyReader::State::kMore:
      return;
    case BodyReader::State::kDone:
      state = State::kDone;
      return;
    case BodyReader::State::kMalformed:
      return refuse({400, "malformed chunks in the body"});
    case BodyReader::State::kTooLarge:
      return refuse({413, fmt::format("the body is larger than {} bytes", body_bytes_max)});
  }
}

std::size_t RequestParser::Impl::feed_head(std::string_view bytes) {
  std::size_t skipped = 0;
  // Old clients send an empty line after a body; one is overlooked, as RFC 9112 advises.
  if (!blank_line_skipped && bytes.starts_with("\r\n")) {
    blank_line_skipped = true;
    bytes.remove_prefix(2);
    skipped = 2;
  }
  if (!blank_line_skipped && bytes == "\r") return 0;
  const auto end = check.find_end(bytes, limits.header_bytes_max);
  if (!end) {
    refuse(end.error());
    return skipped;
  }
  if (*end == 0) return skipped;
  read_head(bytes.substr(0, *end));
  return skipped + *end;
}

RequestParser::RequestParser(ParseLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  if (impl_->state == State::kHead) used = impl_->feed_head(bytes);
  if (impl_->state == State::kBody && used < bytes.size()) {
    used += impl_->body->feed(bytes.substr(used), impl_->request.body);
    impl_->judge_body();
  }
  return used;
}

RequestParser::State RequestParser::state() const { return impl_->state; }
const Refusal& RequestParser::refusal() const { return impl_->refusal; }
Request& RequestParser::request() { return impl_->request; }
const Request& RequestParser::request() const { return impl_->request; }
bool RequestParser::keep_alive() const { return impl_->body && impl_->head->keep_alive(); }
bool RequestParser::is_http11() const { return !impl_->head || impl_->head->is_http11(); }
bool RequestParser::wants_continue() const {
  return impl_->state == State::kBody && impl_->head->wants_continue();
}

std::uint64_t RequestParser::announced_bytes() const { return impl_->announced; }

void RequestParser::limit_body(std::uint64_t bytes_max) {
  VX_ASSERT(impl_->state == State::kBody);
  if (bytes_max >= impl_->body_bytes_max) return;
  impl_->body_bytes_max = bytes_max;
  const std::uint64_t have = impl_->request.body.size();
  if (have > bytes_max) {
    impl_->refuse({413, fmt::format("the body is larger than {} bytes", bytes_max)});
    return;
  }
  impl_->body->allow(bytes_max - have);
  impl_->judge_body();
}

void RequestParser::reset() {
  Request& request = impl_->request;
  request.headers.clear();
  request.body.clear();
  if (request.body.capacity() > kKeptMax) request.body = {};
  impl_->head.reset();
  impl_->body.reset();
  impl_->check = {};
  impl_->announced = 0;
  impl_->state = State::kHead;
  impl_->blank_line_skipped = false;
}

ParseOutcome parse_request(std::string_view bytes, const ParseLimits& limits) {
  RequestParser parser(limits);
  ParseOutcome outcome;
  outcome.used = parser.feed(bytes);
  outcome.state = parser.state();
  if (outcome.state == RequestParser::State::kDone) outcome.request = std::move(parser.request());
  if (outcome.state == RequestParser::State::kRefused) outcome.refusal = parser.refusal();
  return outcome;
}

}  // namespace vortex::net
