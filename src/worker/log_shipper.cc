#include "worker/log_shipper.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "worker/answers.h"

namespace vortex::worker {

void LogBuffer::write(std::string_view bytes) {
  waiting_.append(bytes.substr(bytes.size() - std::min(bytes.size(), bytes_max_)));
  std::uint64_t cut = bytes.size() - std::min(bytes.size(), bytes_max_);
  if (waiting_.size() > bytes_max_) {
    // By half and not by what is too much: a flood would move the whole buffer for every write.
    const std::size_t drop = waiting_.size() - bytes_max_ / 2;
    waiting_.erase(0, drop);
    cut += drop;
  }
  left_out_ += cut;
  left_out_in_all_ += cut;
}

LogBuffer::Piece LogBuffer::take(std::size_t bytes_max) {
  if (flying_.empty()) {
    if (left_out_ > 0) {
      flying_ = fmt::format("\n[vortex: {} bytes of output dropped here]\n", left_out_);
      left_out_ = 0;
    }
    const std::size_t size = std::min(bytes_max, waiting_.size());
    flying_.append(waiting_, 0, size);
    waiting_.erase(0, size);
  }
  return {offset_, flying_};
}

void LogBuffer::arrived() {
  offset_ += flying_.size();
  flying_.clear();
}

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPieceBytesMax = 256 * 1024;
constexpr Duration kOutputCallLimit = seconds(10);
constexpr Duration kOutputRetryMin = millis(50);
constexpr Duration kOutputRetryMax = seconds(2);
constexpr int kAnsweredOk = 2;

}  // namespace

class LogShipper::Impl : public std::enable_shared_from_this<LogShipper::Impl> {
 public:
  Impl(asio::io_context& io, ShipperConfig config)
      : io_(io), timer_(io), config_(std::move(config)) {}

  void write(Attempt attempt, std::string_view bytes) {
    const Instant now = boot_clock_now();
    auto [it, is_new] = outputs_.try_emplace(attempt, config_.buffer_bytes_max);
    Output& output = it->second;
    if (output.refused) return;
    if (is_new) output.allowed_at = now;
    if (output.buffer.empty()) output.due_at = now + config_.gather;
    output.buffer.write(bytes);
    pump(now);
  }

  void close(Attempt attempt, std::function<void()> flushed) {
    const auto it = outputs_.find(attempt);
    if (it == outputs_.end()) return flushed();  // it wrote nothing
    const Instant now = boot_clock_now();
    it->second.closed = true;
    it->second.flushed = std::move(flushed);
    it->second.release_at = now + config_.flush_limit;
    it->second.give_up_at = now + config_.keep_for;
    pump(now);
  }

  void shut() {
    shut_ = true;
    timer_.cancel();
    if (client_) client_->close();
  }

 private:
  struct Output {
    explicit Output(std::size_t bytes_max) : buffer(bytes_max) {}
    LogBuffer buffer;
    Instant due_at;                 // a small piece waits until then for more
    Instant allowed_at;             // the rate lets the next piece go
    bool closed = false;            // no more will come
    std::function<void()> flushed;  // set: the end of its task waits for it
    Instant release_at = kNever;    // but not longer than this
    Instant give_up_at = kNever;
    bool refused = false;  // what else it writes is not wanted
  };
  using Outputs = std::map<Attempt, Output>;

  Instant ready_at(const Output& output) const {
    if (output.buffer.empty()) return kNever;
    const bool hurry = output.closed || output.buffer.size() >= kPieceBytesMax;
    const Instant gathered = hurry ? Instant{} : output.due_at;
    // What is left of a closed attempt goes out at once: a slot waits for it.
    return output.closed ? gathered : std::max(gathered, output.allowed_at);
  }

  void pump(Instant now) {
    settle(now);
    if (shut_ || in_flight_ || now < not_before_) return arm(now);
    // In turn, beginning behind the one that was served last: a flood does not starve the others.
    auto it = outputs_.upper_bound(last_);
    for (std::size_t i = 0; i < outputs_.size(); ++i, ++it) {
      if (it == outputs_.end()) it = outputs_.begin();
      if (ready_at(it->second) <= now) {
        send(it->first, it->second, now);
        break;
      }
    }
    arm(now);
  }

  // Lets tasks go that have waited long enough, forgets what is done and what has had its time.
  void settle(Instant now) {
    std::size_t kept = 0;
    for (const auto& [attempt, output] : outputs_) {
      if (output.closed) kept += output.buffer.size();
    }
    for (auto it = outputs_.begin(); it != outputs_.end();) {
      Output& output = it->second;
      const bool done = output.closed && output.buffer.empty();
      const bool released = done || now >= output.release_at;
      if (output.flushed && released) done_.push_back(std::exchange(output.flushed, nullptr));
      const bool too_much = released && kept > config_.kept_bytes_max;
      if (!done && now < output.give_up_at && !too_much) {
        ++it;
        continue;
      }
      if (!done) {
        kept -= output.buffer.size();
        config_.log(LogLevel::kWarn, fmt::format("{}: could not deliver {} bytes of output",
                                                 to_text(it->first.task), output.buffer.size()));
      }
      it = outputs_.erase(it);
    }
    // The callbacks may come back here, so the table is in order before the first of them.
    while (!done_.empty()) {
      const auto flushed = std::move(done_.front());
      done_.pop_front();
      flushed();
    }
  }

  void send(Attempt attempt, Output& output, Instant now) {
    const LogBuffer::Piece piece = output.buffer.take(kPieceBytesMax);
    net::Call call;
    call.method = net::Method::kPost;
    call.target = fmt::format("/api/tasks/{}/logs?epoch={}&offset={}", to_text(attempt.task),
                              attempt.epoch.value, piece.offset);
    call.headers.emplace_back("Content-Type", "application/octet-stream");
    add_session(call, config_.session());
    call.body = piece.data;
    call.limit = kOutputCallLimit;
    const auto size = static_cast<std::int64_t>(piece.data.size());
    output.allowed_at =
        std::max(output.allowed_at, now) +
        micros(size * 1'000'000 / static_cast<std::int64_t>(config_.bytes_per_second));
    last_ = attempt;
    in_flight_ = true;
    if (!client_) {
      client_ = std::make_unique<net::Client>(io_.get_executor(), config_.controllers->at(turn_));
    }
    asio::co_spawn(io_, client_->send(std::move(call)),
                   [self = shared_from_this(), attempt](const std::exception_ptr& error,
                                                        const CallResult& result) {
                     if (!self->shut_) self->over(attempt, error ? CallResult{} : result);
                   });
  }

  void over(Attempt attempt, const CallResult& result) {
    in_flight_ = false;
    const Instant now = boot_clock_now();
    const auto it = outputs_.find(attempt);
    if (result && result->status / 100 == kAnsweredOk) {
      wait_ = {};
      if (it != outputs_.end()) it->second.buffer.arrived();
    } else if (result && result->status / 100 == 4) {
      drop(it, result);
    } else {
      wait_ = std::clamp(wait_ * 2, kOutputRetryMin, kOutputRetryMax);
      not_before_ = now + wait_;
      client_.reset();
      ++turn_;
    }
    pump(now);
  }

  // It is not this worker's any more, or the controller does not want it: asking again is no use.
  void drop(Outputs::iterator it, const CallResult& result) {
    if (it == outputs_.end()) return;
    config_.log(LogLevel::kWarn, fmt::format("{}: the output was rejected: {}",
                                             to_text(it->first.task), trouble_of(result)));
    LogBuffer none(config_.buffer_bytes_max);
    it->second.buffer = std::move(none);
    it->second.refused = true;
  }

  void arm(Instant now) {
    Instant wake = kNever;
    for (const auto& [attempt, output] : outputs_) {
      if (!in_flight_) wake = std::min(wake, std::max(ready_at(output), not_before_));
      if (output.flushed) wake = std::min(wake, output.release_at);
      if (output.closed) wake = std::min(wake, output.give_up_at);
    }
    if (wake >= kNever || shut_) return;
    const Duration wait = std::max(wake - now, micros(0));
    timer_.expires_after(std::chrono::microseconds(wait.us));
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->pump(boot_clock_now());
    });
  }

  asio::io_context& io_;
  asio::steady_timer timer_;
  ShipperConfig config_;
  std::unique_ptr<net::Client> client_;  // of the controller whose turn it is; null: not called yet
  std::size_t turn_ = 0;
  Outputs outputs_;
  Attempt last_;
  bool in_flight_ = false;
  bool shut_ = false;
  Duration wait_;
  Instant not_before_;
  std::deque<std::function<void()>> done_;
};

LogShipper::LogShipper(asio::io_context& io, ShipperConfig config)
    : impl_(std::make_shared<Impl>(io, std::move(config))) {}
LogShipper::~LogShipper() { impl_->shut(); }

void LogShipper::write(Attempt attempt, std::string_view bytes) { impl_->write(attempt, bytes); }
void LogShipper::close(Attempt attempt, std::function<void()> flushed) {
  impl_->close(attempt, std::move(flushed));
}

}  // namespace vortex::worker
