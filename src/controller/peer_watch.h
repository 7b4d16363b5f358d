#pragma once
// Keeps track of the controllers of this database: announces this one, and looks up who leads and
// who is there.
//
// A standby looks often, so that calls to a leader that lost its lease are given up soon, and
// checks that the leader answers. A controller that is alone announces itself once. start() spawns
// a coroutine on the given loop; everything else is safe from any thread.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "api/peers/peers.h"
#include "base/time.h"
#include "controller/engine_shell.h"
#include "controller/reads.h"
#include "net/client.h"

namespace vortex::controller {

class PeerWatch final : public api::Peers {
 public:
  struct Config {
    ControllerId id;
    bool is_alone = true;
    std::shared_ptr<net::ClientTrust> trust = {};
    Duration look = millis(200);       // how often a standby looks who leads
    Duration announce = seconds(2);    // far below store::kControllersKept
    Duration ask_leader = seconds(2);  // how often a standby asks the leader whether it answers
  };
  PeerWatch(Config config, EngineShell& engine, Committer& committer, Reads& reads)
      : config_(std::move(config)), engine_(engine), committer_(committer), reads_(reads) {}

  // Its life, on a strand: ends with its loop.
  boost::asio::awaitable<void> run(std::string own_url);

  // Once its loop has stopped, and before it is gone.
  void stop() { asks_.reset(); }

  // Peers.
  const ControllerId& own_id() const override { return config_.id; }
  bool is_alone() const override { return config_.is_alone; }
  bool leads() const override { return engine_.serves(); }
  boost::asio::awaitable<store::Result<std::optional<store::Leader>>> find_leader(
      Look look) override;
  boost::asio::awaitable<void> ended(Term term) override;
  std::vector<ControllerRow> all() const override;
  std::shared_ptr<net::ClientTrust> trust() const override { return config_.trust; }

  // As last read.
  std::optional<store::Leader> leader() const;
  bool reads_store() const;
  // Why a standby cannot pass anything on; empty: it can.
  std::string trouble() const;

 private:
  using Found = store::Result<std::optional<store::Leader>>;
  using Bell = std::weak_ptr<boost::asio::steady_timer>;  // owned by who waits

  void announce(const std::string& own_url);
  boost::asio::awaitable<void> look();
  boost::asio::awaitable<void> ask_leader();
  void note(const Found& found);

  const Config config_;
  EngineShell& engine_;
  Committer& committer_;
  Reads& reads_;
  // Of run() alone.
  Instant next_announcement_;
  Instant next_question_;
  std::string asked_url_;
  std::unique_ptr<net::Client> asks_;

  mutable std::mutex guard_;
  std::optional<store::Leader> leader_;
  Instant looked_at_;  // boot clock; of the last look that succeeded
  std::string store_trouble_ = "the database was not read yet";
  std::string leader_trouble_ = "the leader was not asked yet";
  std::vector<ControllerRow> all_;
  std::vector<Bell> waiting_;
};

}  // namespace vortex::controller
