#pragma once
// A controller in one thread for the tests of the interface: the real core and a real store, driven
// by hand. Commands are stepped and committed one by one; time stands still unless told.
//
// It stands behind the same interface as the real one. Nothing in it decides anything.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/backend.h"
#include "base/settings.h"
#include "core/state/state.h"
#include "store/store.h"

namespace vortex::api {

// The newest few blocks of events in memory; what is older must be read from the store.
class DeskFeed : public EventFeed {
 public:
  explicit DeskFeed(boost::asio::io_context& io) : io_(io) {}

  boost::asio::awaitable<Next> next(std::uint64_t after, Duration wait) override;
  std::uint64_t last_seq() const override { return last_; }
  Duration beat() const override { return silence_max; }

  void add(const EventBlock& block);
  std::size_t blocks_max = 1'000;
  Duration silence_max = seconds(15);

 private:
  boost::asio::io_context& io_;
  std::deque<Lines> blocks_;
  std::uint64_t last_ = 0;
  std::vector<std::shared_ptr<boost::asio::steady_timer>> waiting_;
};

class Desk : public Backend {
 public:
  explicit Desk(boost::asio::io_context& io);

  boost::asio::awaitable<Asked<core::ReplyBody>> ask(core::Command command) override;
  boost::asio::awaitable<std::vector<Asked<core::ReplyBody>>> ask_all(
      std::vector<core::Command> commands) override;
  boost::asio::awaitable<Asked<core::ReplyBody>> ask_sync(
      core::Sync sync, std::function<boost::asio::awaitable<void>()> closed) override;
  boost::asio::awaitable<Asked<void>> write(SideWrite side) override;
  boost::asio::awaitable<Delivery> try_webhook(WebhookRow webhook) override;
  boost::asio::awaitable<Asked<core::Explanation>> explain(TaskId task) override;
  boost::asio::awaitable<Asked<Standstills>> standstills(std::optional<RunId> run) override;
  boost::asio::awaitable<Asked<std::vector<QueueDepth>>> queues() override;
  boost::asio::awaitable<Asked<std::vector<core::LimitInfo>>> limits() override;
  boost::asio::awaitable<Asked<Approvals>> approvals(std::size_t most) override;
  boost::asio::awaitable<Asked<ReconcileReport>> reconcile() override;
  boost::asio::awaitable<store::Result<void>> read(Read read) override;
  boost::asio::awaitable<bool> digest(Turn turn, std::function<void()> work) override;
  vault::Vault& vault() override { return vault_; }
  std::expected<vault::Keys, std::string> read_keys() override { return keys; }
  EventFeed& events() override { return feed; }
  Health health() const override;
  Instant now() const override { return clock; }
  const LoadedSettings& settings() const override { return settings_; }
  ControllerSettings& edit_settings() { return settings_.settings.controller; }
  boost::asio::awaitable<std::string> metrics() override;

  // Time passes, with a tick at least every sweep.
  void advance(Duration duration);
  // The store keeps none of the events there were; the feed may.
  void forget_events();
  // Steps one command that nobody waits for.
  void step(const core::Command& command);

  Instant clock;
  DeskFeed feed;
  std::optional<UnservedError> unserved;  // every command gets this
  Delivery delivery{.taken = true, .status = 204, .trouble = {}, .retry_after = {}, .took = {}};
  bool store_up = true;  // false: reads fail
  bool documents_full = false;
  std::vector<Turn> turns;         // of the documents it was given
  vault::Keys keys;                // as they are configured
  std::optional<int> writes_left;  // so many more, then the store refuses them
  std::string metrics_text = "vortex_leader 1\n";
  std::optional<core::State> state;

 private:
  struct Waiting {
    std::shared_ptr<boost::asio::steady_timer> bell;
    std::optional<core::ReplyBody> reply;
  };

  // The reply to this request, if it came in this step.
  std::optional<core::ReplyBody> run(core::Command command, RequestId request);
  void commit(Commit commit);
  Commit commit_of(core::Effects& effects);

  boost::asio::io_context& io_;
  LoadedSettings settings_;
  vault::Vault vault_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Reader> reader_;
  RequestId next_request_{1};
  std::map<RequestId, Waiting> waiting_;
};

}  // namespace vortex::api
