#include "controller/webhooks.h"

#include <chrono>
#include <exception>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "api/call.h"
#include "api/vault/hand_over.h"
#include "base/assert.h"
#include "base/networks.h"

namespace vortex::controller {

namespace asio = boost::asio;

namespace {

constexpr auto kLookEvery = std::chrono::seconds(5);
constexpr const char* kUnopened =
    "its signing secret is sealed with a master key that is not configured";
constexpr auto kLookForLead = std::chrono::milliseconds(100);

void report(const Courier::Say& say, const std::exception_ptr& error) {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    say(LogLevel::kError, fmt::format("webhooks failed: {}", e.what()));
  }
}

// Public addresses, and those that the operator names.
MayReach reach_of(const Settings& settings) {
  const auto networks = Networks::parse(settings.controller.webhook_networks);
  VX_ASSERT(networks.has_value());  // the settings were checked
  return [allowed = *networks](const IpAddress& address) {
    return is_public(address) || allowed.contains(address);
  };
}

}  // namespace

Webhooks::Webhooks(api::Backend& backend, const Settings& settings, Courier::Say say)
    : backend_(backend), say_(std::move(say)), may_reach_(reach_of(settings)) {}

void Webhooks::start(asio::io_context& io) {
  strand_.emplace(asio::make_strand(io));
  auto bell = std::make_shared<Bell>(*strand_);
  bell_ = bell;
  asio::co_spawn(*strand_, watch(std::move(bell)),
                 [this](const std::exception_ptr& error) { report(say_, error); });
}

void Webhooks::look_again() {
  if (!strand_) return;
  asio::post(*strand_, [bell = bell_] {
    if (const auto held = bell.lock()) held->timer.cancel();
  });
}

void Webhooks::stop() { strand_.reset(); }

asio::awaitable<void> Webhooks::watch(std::shared_ptr<Bell> bell) {
  while (true) {
    const bool leads = backend_.health().leads;
    if (leads) {
      co_await match_rows();
    } else {
      end_all();
    }
    bell->timer.expires_after(leads ? std::chrono::milliseconds(kLookEvery) : kLookForLead);
    co_await bell->timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<void> Webhooks::match_rows() {
  const auto rows =
      co_await api::fetch(backend_, [](store::Reader& reader) { return reader.webhooks(); });
  if (!rows) co_return;
  std::map<std::string, const WebhookRow*> wanted;
  for (const WebhookRow& row : *rows) wanted.emplace(row.name, &row);
  for (auto at = couriers_.begin(); at != couriers_.end();) {
    const auto courier = at->second.lock();
    const auto row = wanted.find(at->first);
    const bool same =
        courier && row != wanted.end() && courier->row().created_at == row->second->created_at;
    if (same) {
      ++at;
      continue;
    }
    if (courier) courier->stop();
    at = couriers_.erase(at);
  }
  for (const auto& [name, row] : wanted) {
    if (!couriers_.contains(name)) begin(*row);
  }
}

void Webhooks::begin(WebhookRow row) {
  const auto secret = backend_.vault().open_text(api::place_of(row), row.secret);
  if (!secret) {
    if (!unopened_.insert(row.name).second) return;  // said already
    return say_(LogLevel::kError, fmt::format("webhook {} sends nothing: {}", row.name, kUnopened));
  }
  unopened_.erase(row.name);
  row.secret = secret->view();
  auto courier = std::make_shared<Courier>(
      Courier::Parts{asio::any_io_executor(*strand_), backend_, say_, {}, may_reach_}, row);
  couriers_[row.name] = courier;
  asio::co_spawn(*strand_, Courier::run(std::move(courier)),
                 [this](const std::exception_ptr& error) { report(say_, error); });
}

void Webhooks::end_all() {
  for (const auto& [name, held] : couriers_) {
    if (const auto courier = held.lock()) courier->stop();
  }
  couriers_.clear();
}

asio::awaitable<api::Delivery> Webhooks::try_out(WebhookRow row, Instant now) {
  const auto address = net::parse_web_address(row.url);
  if (!address) {
    api::Delivery none;
    none.trouble = "its URL is invalid";
    co_return none;
  }
  const auto secret = backend_.vault().open_text(api::place_of(row), row.secret);
  if (!secret) {
    api::Delivery none;
    none.trouble = kUnopened;
    co_return none;
  }
  const Receiver receiver{*address, std::string(secret->view()), may_reach_};
  net::Client client(co_await asio::this_coro::executor, client_config(receiver));
  const WebhookMessage message = make_trial(row.name, now);
  co_return co_await deliver(client, receiver, message);
}

}  // namespace vortex::controller
