#pragma once
// All webhooks of a controller that leads: one courier for each row, begun and ended with it.
//
// Rows are read when the controller begins to lead, when one was written (look_again) and now and
// then. Everything runs on a strand of its own; start and look_again may be called from any thread.
// Lives longer than the I/O it is started on.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "api/backend.h"
#include "controller/webhook_courier.h"

namespace vortex::controller {

class Webhooks {
 public:
  Webhooks(api::Backend& backend, const Settings& settings, Courier::Say say);

  void start(boost::asio::io_context& io);
  void look_again();
  void stop();  // when nothing of the I/O runs any more, and before it goes

  // Once and now, apart from its courier.
  boost::asio::awaitable<api::Delivery> try_out(WebhookRow row, Instant now);

 private:
  using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
  // What belongs to the I/O, and goes before it does.
  struct Bell {
    explicit Bell(const Strand& strand) : timer(strand) {}
    boost::asio::steady_timer timer;
  };

  boost::asio::awaitable<void> watch(std::shared_ptr<Bell> bell);
  boost::asio::awaitable<void> match_rows();
  void begin(WebhookRow row);
  void end_all();

  api::Backend& backend_;
  const Courier::Say say_;
  const MayReach may_reach_;
  std::optional<Strand> strand_;
  std::weak_ptr<Bell> bell_;
  std::set<std::string> unopened_;                          // those whose secret cannot be opened
  std::map<std::string, std::weak_ptr<Courier>> couriers_;  // by name; owned by their coroutines
};

}  // namespace vortex::controller
