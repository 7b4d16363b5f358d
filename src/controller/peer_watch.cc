#include "controller/peer_watch.h"

#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.h"

namespace vortex::controller {

namespace asio = boost::asio;

namespace {

constexpr Duration kLeaderLook = seconds(1);  // the leader knows by itself that it leads
constexpr Duration kLeaderAnswers = seconds(2);
constexpr std::uint64_t kAnswerBytesMax = 16 * 1024;  // nobody reads it

}  // namespace

asio::awaitable<void> PeerWatch::run(std::string own_url) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (true) {
    announce(own_url);
    co_await look();
    if (!leads() && !config_.is_alone) co_await ask_leader();
    // One that has just taken the lead is asked who leads before it has read that itself.
    const auto known = leader();
    const bool knows_itself = leads() && known && known->term == engine_.term();
    const Duration pause = knows_itself ? kLeaderLook : config_.look;
    timer.expires_after(std::chrono::microseconds(pause.us));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void PeerWatch::announce(const std::string& own_url) {
  const Instant now = boot_clock_now();
  if (now < next_announcement_ || (config_.is_alone && !leads())) return;
  next_announcement_ = config_.is_alone ? kNever : now + config_.announce;
  committer_.post([who = store::Candidate{config_.id, own_url}](store::Writer& writer) {
    // One that fails is repeated before anybody misses it.
    static_cast<void>(writer.announce(who));
  });
}

asio::awaitable<void> PeerWatch::look() {
  // Nobody else changes what a controller that is alone would read.
  const auto known = leader();
  if (config_.is_alone && known && known->term == engine_.term()) co_return;
  Found found;
  store::Result<std::vector<ControllerRow>> rows;
  const auto done = co_await reads_.run([&](store::Reader& reader) {
    found = reader.leader();
    rows = reader.controllers();
  });
  if (!done) found = std::unexpected(done.error());
  note(found);
  if (!done || !rows) co_return;
  const std::scoped_lock lock(guard_);
  all_ = *std::move(rows);
}

void PeerWatch::note(const Found& found) {
  std::vector<Bell> waiting;
  {
    const std::scoped_lock lock(guard_);
    store_trouble_ = found ? "" : found.error().detail;
    if (!found) return;  // who was known stays known
    looked_at_ = boot_clock_now();
    const bool same = leader_ && *found && leader_->term == (*found)->term;
    leader_ = *found;
    if (!same) waiting.swap(waiting_);
  }
  for (const Bell& one : waiting) {
    const auto bell = one.lock();
    if (bell) asio::post(bell->get_executor(), [bell] { bell->cancel(); });
  }
}

// Whether the leader could be reached just now, so that a standby that cannot says it is not ready.
asio::awaitable<void> PeerWatch::ask_leader() {
  const auto known = leader();
  const bool other = known && known->url != asked_url_;
  if (!other && boot_clock_now() < next_question_) co_return;
  next_question_ = boot_clock_now() + config_.ask_leader;
  std::string trouble = "no controller leads at the moment";
  const auto endpoint = known ? net::parse_endpoint(known->url, 0) : std::nullopt;
  if (known && !endpoint) trouble = "the leader has no valid URL";
  if (endpoint) {
    if (!asks_ || other) {
      net::ClientConfig config;
      config.endpoint = *endpoint;
      config.trust = config_.trust;
      config.connect_limit = kLeaderAnswers;
      config.body_bytes_max = kAnswerBytesMax;
      asks_ = std::make_unique<net::Client>(co_await asio::this_coro::executor, std::move(config));
      asked_url_ = known->url;
    }
    net::Call call;
    call.target = "/livez";
    call.limit = kLeaderAnswers;
    const auto answer = co_await asks_->send(std::move(call));
    trouble = answer ? "" : "the leader does not answer: " + answer.error().detail;
    if (!answer && answer.error().fault == net::CallFault::kUntrusted) {
      trouble += "; start this controller with --ca-file or VORTEX_CA_FILE";
    }
  }
  const std::scoped_lock lock(guard_);
  leader_trouble_ = std::move(trouble);
}

asio::awaitable<store::Result<std::optional<store::Leader>>> PeerWatch::find_leader(Look look) {
  {
    const std::scoped_lock lock(guard_);
    const bool recent = boot_clock_now() - looked_at_ < config_.look * 2;
    if (look == Look::kRecent && recent) co_return leader_;
  }
  Found found;
  const auto done =
      co_await reads_.run([&found](store::Reader& reader) { found = reader.leader(); });
  if (!done) found = std::unexpected(done.error());
  note(found);
  co_return found;
}

asio::awaitable<void> PeerWatch::ended(Term term) {
  const auto executor = co_await asio::this_coro::executor;
  while (true) {
    const auto bell = std::make_shared<asio::steady_timer>(executor);
    bell->expires_at(asio::steady_timer::time_point::max());
    {
      const std::scoped_lock lock(guard_);
      if (!leader_ || leader_->term != term) co_return;
      std::erase_if(waiting_, [](const Bell& other) { return other.expired(); });
      waiting_.push_back(bell);
    }
    co_await bell->async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

std::vector<ControllerRow> PeerWatch::all() const {
  const std::scoped_lock lock(guard_);
  return all_;
}

std::optional<store::Leader> PeerWatch::leader() const {
  const std::scoped_lock lock(guard_);
  return leader_;
}

bool PeerWatch::reads_store() const {
  const std::scoped_lock lock(guard_);
  return store_trouble_.empty();
}

std::string PeerWatch::trouble() const {
  const std::scoped_lock lock(guard_);
  return store_trouble_.empty() ? leader_trouble_ : store_trouble_;
}

}  // namespace vortex::controller
