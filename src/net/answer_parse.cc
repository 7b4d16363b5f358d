#include "net/answer_parse.h"

#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/assert.h"
#include "base/text.h"
#include "net/http.h"
#include "net/http_parse.h"

namespace vortex::net {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::beast::error_code;
using BeastView = boost::beast::string_view;

constexpr std::uint32_t kHeadBytesMax = 64 * 1024;

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

// Grammar of the head only; see http_parse.cc.
class AnswerHeadReader final : public http::basic_parser<false> {
 public:
  explicit AnswerHeadReader(Response& response) : response_(response) {
    header_limit(kHeadBytesMax + 1024);
    skip(true);
  }
  int lengths() const { return lengths_; }
  int codings() const { return codings_; }

 private:
  void on_response_impl(int status, BeastView, int, ErrorCode&) override {
    response_.status = status;
  }
  void on_field_impl(http::field field, BeastView name, BeastView value, ErrorCode& ec) override {
    if (field == http::field::content_type) response_.content_type = view(value);
    if (field == http::field::content_length) ++lengths_;
    if (field == http::field::transfer_encoding) {
      ++codings_;
      if (!same_ignoring_case(view(value), "chunked")) ec = http::error::bad_transfer_encoding;
    }
    response_.headers.emplace_back(view(name), view(value));
  }
  void on_header_impl(ErrorCode& ec) override {
    if (lengths_ + codings_ > 1) ec = http::error::bad_content_length;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(BeastView, ErrorCode&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, BeastView, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView, ErrorCode&) override { return 0; }
  void on_finish_impl(ErrorCode&) override {}
  void on_request_impl(http::verb, BeastView, BeastView, int, ErrorCode&) override {
    VX_ASSERT(false);
  }

  Response& response_;
  int lengths_ = 0;
  int codings_ = 0;
};

}  // namespace

struct AnswerParser::Impl {
  std::uint64_t body_bytes_max = 0;
  Method method = Method::kGet;
  Response response{};
  std::optional<AnswerHeadReader> head{};
  std::optional<BodyReader> body{};
  HeadCheck check{};
  std::string fault{};
  State state = State::kHead;

  void begin(Method asked) {
    method = asked;
    response = Response{};
    response.content_type.clear();
    head.reset();
    body.reset();
    check = {};
    state = State::kHead;
  }
  void refuse(std::string why) {
    fault = std::move(why);
    state = State::kRefused;
  }
  BodyReader::Frame frame() const;
  void read_head(std::string_view bytes);
  void judge_body();
};

BodyReader::Frame AnswerParser::Impl::frame() const {
  BodyReader::Frame frame;
  frame.bytes_max = body_bytes_max;
  if (method == Method::kHead || !may_have_body(response.status)) return frame;
  if (head->codings() > 0) {
    frame.framing = BodyReader::Framing::kChunked;
  } else if (head->lengths() > 0) {
    const auto length = head->content_length();
    frame.length = length ? *length : 0;
  } else {
    frame.framing = BodyReader::Framing::kToEnd;
  }
  return frame;
}

void AnswerParser::Impl::read_head(std::string_view bytes) {
  head.emplace(response);
  ErrorCode ec;
  head->put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  if (ec || !head->is_done()) return refuse("malformed headers: " + ec.message());
  if (response.status < 200) return begin(method);  // "100 Continue": the answer is still to come
  body.emplace(frame());
  state = State::kBody;
  judge_body();
}

void AnswerParser::Impl::judge_body() {
  switch (body->state()) {
    case BodyReader::State::kMore:
      return;
    case BodyReader::State::kDone:
      state = State::kDone;
      return;
    case BodyReader::State::kTooLarge:
      return refuse("the response body is too large");
    case BodyReader::State::kMalformed:
      return refuse("malformed chunks in the response");
  }
}

AnswerParser::AnswerParser(std::uint64_t body_bytes_max) : impl_(std::make_unique<Impl>()) {
  reset(Method::kGet, body_bytes_max);
}
AnswerParser::~AnswerParser() = default;

void AnswerParser::reset(Method method, std::uint64_t body_bytes_max) {
  impl_->body_bytes_max = body_bytes_max;
  impl_->begin(method);
}

std::size_t AnswerParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (impl_->state == State::kHead) {
    const auto end = impl_->check.find_end(bytes.substr(used), kHeadBytesMax);
    if (!end) impl_->refuse(end.error().detail);
    if (!end || *end == 0) return used;
    impl_->read_head(bytes.substr(used, *end));
    used += *end;
  }
  if (impl_->state == State::kBody && used < bytes.size()) {
    used += impl_->body->feed(bytes.substr(used), impl_->response.body);
    impl_->judge_body();
  }
  return used;
}

void AnswerParser::end_of_stream() {
  const bool ends_so =
      impl_->state == State::kBody && impl_->head->codings() == 0 && impl_->head->lengths() == 0;
  if (ends_so) impl_->state = State::kDone;
}

AnswerParser::State AnswerParser::state() const { return impl_->state; }
const std::string& AnswerParser::fault() const { return impl_->fault; }
Response& AnswerParser::response() { return impl_->response; }

bool AnswerParser::keep_alive() const {
  if (!impl_->body || impl_->state != State::kDone) return false;
  const bool framed = impl_->head->codings() + impl_->head->lengths() > 0 ||
                      impl_->method == Method::kHead || !may_have_body(impl_->response.status);
  return framed && impl_->head->keep_alive();
}

}  // namespace vortex::net
