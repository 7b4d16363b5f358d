// How a connection writes: whole answers, pieces of streamed ones, and "100 Continue".

#include <algorithm>
#include <iterator>
#include <string_view>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "base/wiped.h"
#include "net/connection.h"
#include "net/http.h"

namespace vortex::net {

namespace asio = boost::asio;

namespace {

// Copied behind the head; a larger body is sent from where it lies.
constexpr std::size_t kSmallAnswerBody = 4 * 1024;
// A reader that takes less than this within write_limit is cut off.
constexpr std::size_t kProgressBytes = 256 * 1024;
constexpr std::size_t kOutKept = 64 * 1024;

template <class Buffers>
void drop_front(Buffers& buffers, std::size_t count) {
  for (auto& buffer : buffers) {
    const std::size_t part = std::min(count, buffer.size());
    buffer += part;
    count -= part;
  }
}

bool asks_to_close(const Headers& headers) {
  const auto value = find_header(headers, "Connection");
  return value && same_ignoring_case(*value, "close");
}

}  // namespace

// Tries at once, without a turn through the event loop; waits only when the socket is full.
asio::awaitable<bool> Connection::write_all(Buffers buffers) {
  std::size_t progress = 0;
  bool waited = false;
  while (asio::buffer_size(buffers) > 0 || (tls_ && tls_->unsent())) {
    boost::system::error_code ec;
    const std::size_t count =
        tls_ ? tls_->write_some(buffers, ec) : socket_.write_some(buffers, ec);
    drop_front(buffers, count);
    progress += count;
    if (!ec) continue;
    if (ec != asio::error::would_block && ec != asio::error::try_again) co_return false;
    if (!waited || progress >= kProgressBytes) {
      set_deadline(Phase::kWrite, state_->config.write_limit);
      progress = 0;
    }
    waited = true;
    const auto [fault] =
        co_await socket_.async_wait(Socket::wait_write, asio::as_tuple(asio::deferred));
    if (fault) co_return false;
  }
  if (waited) clear_deadline(Phase::kHandler);
  co_return true;
}

asio::awaitable<bool> Connection::send_continue() {
  if (!parser_.wants_continue() || !in_.empty() || !parser_.request().body.empty()) co_return true;
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const Buffers buffers{asio::buffer(kContinue.data(), kContinue.size())};
  const bool sent = co_await write_all(buffers);
  set_deadline(Phase::kBody, state_->config.body_limit);
  co_return sent;
}

asio::awaitable<bool> Connection::send(const Response& response) {
  if (stopping_ || asks_to_close(response.headers)) keep_alive_ = false;
  AnswerHead head;
  head.status = response.status;
  head.content_type = response.content_type;
  head.headers = &response.headers;
  head.defaults = &state_->config.default_headers;
  head.length = response.body.size();
  head.keep_alive = keep_alive_;
  head.http11 = parser_.is_http11();
  out_.clear();
  append_answer_head(out_, head);
  const bool with_body =
      may_have_body(response.status) && parser_.request().method != Method::kHead;
  const std::string_view body = with_body ? std::string_view(response.body) : std::string_view();
  const bool small = body.size() <= kSmallAnswerBody;
  if (small) out_ += body;
  Buffers buffers{asio::buffer(out_)};
  if (!small) buffers[1] = asio::buffer(body.data(), body.size());
  const bool sent = co_await write_all(buffers);
  if (response.wiped) wipe(out_);
  co_return sent&& keep_alive_;
}

asio::awaitable<Stream*> Connection::begin_stream(int status, std::string content_type,
                                                  Headers headers) {
  const bool http11 = parser_.is_http11();
  if (stopping_ || !http11 || !has_body() || asks_to_close(headers)) keep_alive_ = false;
  AnswerHead head;
  head.status = status;
  head.content_type = content_type;
  head.headers = &headers;
  head.defaults = &state_->config.default_headers;
  head.frame = http11 ? BodyFrame::kChunked : BodyFrame::kUntilClose;
  head.keep_alive = keep_alive_;
  head.http11 = http11;
  out_.clear();
  append_answer_head(out_, head);
  const bool head_only = parser_.request().method == Method::kHead || !may_have_body(status);
  streaming_ = head_only ? Streaming::kHeadOnly : http11 ? Streaming::kChunks : Streaming::kRaw;
  const Buffers buffers{asio::buffer(out_)};
  const bool sent = co_await write_all(buffers);
  if (!sent) streaming_ = Streaming::kBroken;
  co_return this;
}

asio::awaitable<bool> Connection::write(std::string_view piece) {
  if (streaming_ != Streaming::kChunks && streaming_ != Streaming::kRaw) co_return false;
  if (piece.empty()) co_return true;  // an empty chunk would end the stream
  Buffers buffers{};
  buffers[1] = asio::buffer(piece.data(), piece.size());
  if (streaming_ == Streaming::kChunks) {
    out_.clear();
    fmt::format_to(std::back_inserter(out_), "{:x}\r\n", piece.size());
    buffers[0] = asio::buffer(out_);
    buffers[2] = asio::buffer("\r\n", 2);
  }
  const bool sent = co_await write_all(buffers);
  if (!sent) streaming_ = Streaming::kBroken;
  co_return sent;
}

asio::awaitable<bool> Connection::end_stream() {
  if (out_.capacity() > kOutKept) out_ = {};
  if (streaming_ == Streaming::kChunks) {
    constexpr std::string_view kEnd = "0\r\n\r\n";
    const Buffers buffers{asio::buffer(kEnd.data(), kEnd.size())};
    const bool sent = co_await write_all(buffers);
    co_return sent&& keep_alive_;
  }
  co_return streaming_ == Streaming::kHeadOnly&& keep_alive_;
}

}  // namespace vortex::net
