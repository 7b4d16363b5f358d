#include "worker/checkpoints.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/json_writer.h"
#include "codec/reading.h"
#include "worker/answers.h"
#include "worker/own_folder.h"

namespace vortex::worker {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPieceBytes = 1U << 20;
constexpr Duration kPieceCallLimit = seconds(20);
constexpr Duration kPieceRetryMin = millis(50);
constexpr Duration kPieceRetryMax = seconds(2);

std::uint64_t upload_in(const CallResult& result) {
  struct Begun {
    std::uint64_t upload = 0;
  };
  constexpr codec::Field<Begun> kFields[] = {
      {"upload", [](codec::Reading& in, codec::NodeIx node, Begun& out) {
         codec::read_number(in, node, out.upload);
       }}};
  const auto begun = codec::decode<Begun>(result->body, codec::UnknownKeys::kIgnored,
                                          [&](codec::Reading& in, codec::NodeIx root, Begun& out) {
                                            codec::read_object(in, root, {}, kFields, out);
                                          });
  return begun ? begun->upload : 0;
}

bool is_ok(const CallResult& result) { return result && result->status / 100 == 2; }

// What the controller makes of it: nobody answered, not ours any more, or not taken.
Saved not_saved(const CallResult& result) {
  const bool refused = result && (result->status == 413 || result->status == 404);
  return {refused ? Saved::How::kRefused : Saved::How::kFailed, trouble_of(result)};
}

}  // namespace

class CheckpointCarrier::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& io, CarrierConfig config) : io_(io), config_(std::move(config)) {}

  void save(Upload upload) {
    auto done = upload.done;
    asio::co_spawn(io_, send(shared_from_this(), std::move(upload)),
                   [self = shared_from_this(), done](const std::exception_ptr& error, Saved saved) {
                     if (self->shut_) return;
                     if (error) saved = {Saved::How::kFailed, "internal client error"};
                     done(std::move(saved));
                   });
  }

  void fetch(Download download) {
    auto done = download.done;
    asio::co_spawn(
        io_, receive(shared_from_this(), std::move(download)),
        [self = shared_from_this(), done](const std::exception_ptr& error, std::string trouble) {
          if (self->shut_) return;
          done(error ? "internal client error" : std::move(trouble));
        });
  }

  void shut() {
    shut_ = true;
    for (net::Client* client : clients_) client->close();
  }

 private:
  // The connections of one carriage, and how long nobody answered it.
  struct Line {
    explicit Line(Impl& impl) : owner(impl) {}
    ~Line() { drop(); }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void connect() {
      client = std::make_unique<net::Client>(owner.io_.get_executor(),
                                             owner.config_.controllers->at(turn));
      owner.clients_.push_back(client.get());
    }
    void drop() {
      if (client) std::erase(owner.clients_, client.get());
      client.reset();
    }

    Impl& owner;
    std::unique_ptr<net::Client> client;
    std::size_t turn = 0;
    Duration patience;
    Instant answered = boot_clock_now();
    Duration wait = kPieceRetryMin;
  };

  std::string target(const Attempt& attempt, std::string_view what, std::string_view rest) const {
    return fmt::format("/api/tasks/{}/checkpoint{}?epoch={}&worker={}&incarnation={}{}",
                       to_text(attempt.task), what, attempt.epoch.value, config_.worker.text,
                       config_.life().value, rest);
  }

  // Until it is answered with anything but "not now", or patience is over.
  asio::awaitable<CallResult> ask(Line& line, net::Call call) {
    call.limit = kPieceCallLimit;
    add_session(call, config_.session());
    for (;;) {
      if (!line.client) line.connect();
      CallResult result = co_await line.client->send(call);
      const bool answered = result.has_value();
      if (answered) line.answered = boot_clock_now();
      if (answered && result->status < 500) {
        line.wait = kPieceRetryMin;
        co_return result;
      }
      if (shut_ || boot_clock_now() - line.answered > line.patience) co_return result;
      if (!answered) {
        line.drop();
        ++line.turn;
      }
      asio::steady_timer timer(io_, std::chrono::microseconds(line.wait.us));
      co_await timer.async_wait(asio::use_awaitable);
      line.wait = std::min(line.wait * 2, kPieceRetryMax);
      if (shut_) co_return result;
    }
  }

  static asio::awaitable<Saved> send(std::shared_ptr<Impl> self, Upload upload) {
    Line line(*self);
    line.patience = upload.patience;
    net::Call begin;
    begin.method = net::Method::kPost;
    std::string refused = upload.reason;
    std::ranges::replace(refused, ' ', '+');
    begin.target = self->target(
        upload.attempt, "",
        fmt::format("&bytes={}{}{}", upload.bytes, refused.empty() ? "" : "&refused=", refused));
    const CallResult begun = co_await self->ask(line, std::move(begin));
    if (!upload.reason.empty()) co_return Saved{Saved::How::kRefused, upload.reason};
    if (!is_ok(begun)) co_return not_saved(begun);
    const std::uint64_t number = upload_in(begun);
    const std::string named = fmt::format("&upload={}&bytes={}", number, upload.bytes);
    std::string piece;
    for (std::uint64_t offset = 0; offset < upload.bytes; offset += piece.size()) {
      piece.resize(std::min<std::uint64_t>(kPieceBytes, upload.bytes - offset));
      const ssize_t got =
          ::pread(upload.file.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
      if (got != static_cast<ssize_t>(piece.size()) || !upload.is_same()) {
        co_return Saved{Saved::How::kChanged, "it changed while it was being sent"};
      }
      net::Call call;
      call.method = net::Method::kPut;
      call.target = self->target(upload.attempt, "", fmt::format("{}&offset={}", named, offset));
      call.headers.emplace_back("Content-Type", "application/octet-stream");
      call.body = piece;
      const CallResult taken = co_await self->ask(line, std::move(call));
      if (!is_ok(taken)) co_return not_saved(taken);
    }
    if (!upload.is_same()) {
      co_return Saved{Saved::How::kChanged, "it changed while it was being sent"};
    }
    net::Call keep;
    keep.method = net::Method::kPost;
    keep.target = self->target(upload.attempt, "/keep", named);
    const CallResult kept = co_await self->ask(line, std::move(keep));
    if (!is_ok(kept)) co_return not_saved(kept);
    co_return Saved{Saved::How::kKept, {}};
  }

  static asio::awaitable<std::string> receive(std::shared_ptr<Impl> self, Download download) {
    Line line(*self);
    line.patience = seconds(60);
    const Fd file = open_own_file(download.path, O_WRONLY | O_TRUNC);
    if (!file) co_return fmt::format("{}: {}", download.path, std::strerror(errno));
    std::uint64_t have = 0;
    while (have < download.uploaded.bytes) {
      net::Call call;
      call.target = fmt::format("/api/tasks/{}/checkpoint?upload={}&offset={}",
                                to_text(download.attempt.task), download.uploaded.number, have);
      const CallResult piece = co_await self->ask(line, std::move(call));
      if (!is_ok(piece)) co_return trouble_of(piece);
      const std::string& bytes = piece->body;
      if (bytes.empty() || bytes.size() > download.uploaded.bytes - have) {
        co_return std::string("a piece has an unexpected size");
      }
      const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
      if (written != static_cast<ssize_t>(bytes.size())) {
        co_return fmt::format("{}: {}", download.path, std::strerror(errno));
      }
      have += bytes.size();
    }
    co_return std::string();
  }

  asio::io_context& io_;
  CarrierConfig config_;
  std::vector<net::Client*> clients_;  // of the lines that are open
  bool shut_ = false;
};

CheckpointCarrier::CheckpointCarrier(asio::io_context& io, CarrierConfig config)
    : impl_(std::make_shared<Impl>(io, std::move(config))) {}
CheckpointCarrier::~CheckpointCarrier() { impl_->shut(); }

void CheckpointCarrier::save(Upload upload) { impl_->save(std::move(upload)); }
void CheckpointCarrier::fetch(Download download) { impl_->fetch(std::move(download)); }

}  // namespace vortex::worker
