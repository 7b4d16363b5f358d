#pragma once
// Tells one webhook its events, in their order, each at least once.
//
//   events --wanted?--> message --deliver--> taken: progress is written   (at most every
//   kSaveEvery)
//                          ^        |
//                          +--wait--+ not taken: the same again, later and later
//
// The events are the outbox: they are durable before anybody sees them, and `after` in the row says
// how far this one has come. So nothing is written when an event happens, and a controller that
// dies repeats at most what it told since the last write. A receiver that is away holds up its own
// events alone, for as long as events are kept. All of it runs on one strand.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/backend.h"
#include "api/event_lines.h"
#include "base/networks.h"
#include "base/rng.h"
#include "base/time.h"
#include "model/commit.h"
#include "net/client.h"
#include "store/reader.h"

namespace vortex::controller {

// What a webhook is told: one event of the monitor log as a CloudEvent (1.0, structured, JSON).
//
// The id is the event's for ever: whoever is told twice can tell by it. Pure functions.

struct WebhookMessage {
  std::string id;
  std::string body;
};

// The run that the event is of, as it is now; unset: it is of none, or the run is forgotten.
using RunNow = std::optional<store::RunView>;

WebhookMessage make_message(const std::string& webhook, const api::EventLine& event,
                            const RunNow& run);
// Says nothing but that it can be heard.
WebhookMessage make_trial(const std::string& webhook, Instant now);

// Of the event; unset: it is of no run.
std::optional<RunId> run_of(const api::EventLine& event);

// One try to tell a receiver one message: signed, within a limit, redirects not followed.
//
// Taken is what was answered with 2xx; everything else is trouble in words for people. Runs on the
// executor of the client that it is given.

using MayReach = std::function<bool(const IpAddress&)>;

struct Receiver {
  net::WebAddress address;
  std::string secret;
  MayReach may_reach = {};  // empty: anybody
};

net::ClientConfig client_config(const Receiver& receiver);

boost::asio::awaitable<api::Delivery> deliver(net::Client& client, const Receiver& receiver,
                                              const WebhookMessage& message);

// Sending the same again would be answered in the same way: it is the message that is not wanted.
bool refuses_message(const api::Delivery& delivery);

// How long it waits after a try that failed: longer and longer, up to a limit.
struct CourierPace {
  Duration first_wait = seconds(1);
  Duration longest_wait = seconds(300);
  std::uint32_t refusals_max = 10;  // of one message: about ten minutes
};

class Courier : public std::enable_shared_from_this<Courier> {
 public:
  using Say = std::function<void(LogLevel, std::string)>;
  struct Parts {
    boost::asio::any_io_executor strand;
    api::Backend& backend;
    Say say;
    CourierPace pace = {};
    MayReach may_reach = {};
  };
  Courier(Parts parts, WebhookRow row);

  // Until stop().
  static boost::asio::awaitable<void> run(std::shared_ptr<Courier> self);
  void stop();

  const WebhookRow& row() const { return row_; }

 private:
  boost::asio::awaitable<void> catch_up(std::uint64_t read_to);
  boost::asio::awaitable<void> tell_lines(std::string_view lines);
  boost::asio::awaitable<void> tell(const api::EventLine& event);
  boost::asio::awaitable<bool> is_ours(const api::EventLine& event, RunNow& run);
  boost::asio::awaitable<void> deliver_until_done(const WebhookMessage& message);
  void count(const api::Delivery& delivery);
  boost::asio::awaitable<void> pause(Duration wait);
  boost::asio::awaitable<void> save();
  Duration backoff(std::uint32_t tries, Duration asked);

  const Parts parts_;
  const WebhookRow row_;
  const api::EventFilter filter_;
  const Receiver receiver_;
  net::Client client_;
  boost::asio::steady_timer timer_;
  Rng rng_;
  WebhookProgress progress_;
  WebhookProgress saved_;
  Instant saved_at_;  // boot clock
  bool stopped_ = false;
};

}  // namespace vortex::controller
