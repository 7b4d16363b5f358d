#pragma once
// The parts of a running controller and what passes between them. Internal to this folder.
//
// The Backend half is called from I/O threads, the Outlet half from the engine's thread; neither
// blocks. Order of construction is the order of dependence, and the members are destroyed in the
// reverse order.

#include <atomic>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "api/api.h"
#include "api/backend.h"
#include "controller/controller.h"
#include "controller/documents.h"
#include "controller/engine_shell.h"
#include "controller/event_hub.h"
#include "controller/inbox.h"
#include "controller/metrics.h"
#include "controller/monitor_log.h"
#include "controller/peer_watch.h"
#include "controller/reads.h"
#include "controller/space_reserve.h"
#include "controller/webhooks.h"
#include "net/server.h"
#include "net/tls_files.h"
#include "vault/key_source.h"
#include "vault/vault.h"

namespace vortex::controller {

class Wiring : public Controller, public api::Backend, public Outlet {
 public:
  explicit Wiring(ControllerParts parts);
  ~Wiring() override;
  Wiring(const Wiring&) = delete;
  Wiring& operator=(const Wiring&) = delete;

  std::expected<void, std::string> open();

  // Controller.
  std::uint16_t port() const override;
  std::string url() const override;
  bool serves() const override { return engine_.serves(); }
  bool is_ready() const override { return health().ready; }
  void reload() override;
  void stop() override;

  // Backend.
  boost::asio::awaitable<api::Asked<core::ReplyBody>> ask(core::Command command) override;
  boost::asio::awaitable<std::vector<api::Asked<core::ReplyBody>>> ask_all(
      std::vector<core::Command> commands) override;
  boost::asio::awaitable<api::Asked<core::ReplyBody>> ask_sync(
      core::Sync sync, std::function<boost::asio::awaitable<void>()> closed) override;
  boost::asio::awaitable<api::Asked<void>> write(api::SideWrite side) override;
  boost::asio::awaitable<api::Delivery> try_webhook(WebhookRow webhook) override;
  boost::asio::awaitable<api::Asked<core::Explanation>> explain(TaskId task) override;
  boost::asio::awaitable<api::Asked<Standstills>> standstills(std::optional<RunId> run) override;
  boost::asio::awaitable<api::Asked<Approvals>> approvals(std::size_t most) override;
  boost::asio::awaitable<api::Asked<std::vector<api::QueueDepth>>> queues() override;
  boost::asio::awaitable<api::Asked<std::vector<core::LimitInfo>>> limits() override;
  boost::asio::awaitable<api::Asked<api::ReconcileReport>> reconcile() override;
  boost::asio::awaitable<store::Result<void>> read(Read read) override;
  boost::asio::awaitable<bool> digest(Turn turn, std::function<void()> work) override;
  vault::Vault& vault() override { return vault_; }
  std::expected<vault::Keys, std::string> read_keys() override;
  api::EventFeed& events() override { return hub_; }
  api::Peers* peers() override { return &peers_; }
  api::Health health() const override;
  Instant now() const override { return engine_.now(); }
  const LoadedSettings& settings() const override { return parts_.settings; }
  boost::asio::awaitable<std::string> metrics() override;

  // Outlet.
  void probe(const core::Probe& probe) override;
  void self_check() override;
  void loaded(std::uint64_t last_event) override;
  void committed(const engine::Batch& batch, Duration took) override;
  void passed_over_workers(Duration took) override { metrics_.count_health_pass(took); }
  bool make_space() override;
  void audited(const api::ReconcileReport& report) override { metrics_.count(report); }
  void say(LogLevel level, std::string what) override;

 private:
  boost::asio::awaitable<void> watch_certificate();
  std::expected<api::AccessPolicy, std::string> access_policy(bool loopback);
  std::expected<void, std::string> open_vault();
  boost::asio::awaitable<void> keep_vault();
  std::optional<api::UnservedError> submit(Asked asked);
  template <class T, class Make>
  boost::asio::awaitable<api::Asked<T>> look(Make make);
  boost::asio::awaitable<void> run_probe(core::Probe probe);
  boost::asio::awaitable<void> run_self_check();
  boost::asio::awaitable<void> watch_space();
  boost::asio::awaitable<void> keep_audit();
  boost::asio::awaitable<void> run_fill();
  void fill_monitor_log();
  void note_monitor_failed();
  void tell_of(const Event& event);
  void spawn(const char* what, boost::asio::awaitable<void> work);
  void report_own_trouble(const char* what, const std::exception_ptr& error);
  api::UnservedError unserved(EngineShell::Refused why) const;

  ControllerParts parts_;
  const Instant started_;
  ControllerId id_;
  std::string advertised_;  // where others reach this controller
  Waiters waiters_;
  EventHub hub_;
  MonitorLog monitor_log_;
  Metrics metrics_;
  SpaceReserve reserve_;
  Committer committer_;
  EngineShell engine_;
  Reads reads_;
  PeerWatch peers_;
  Documents documents_;
  std::mutex keys_guard_;
  vault::KeySource key_source_;
  vault::Vault vault_;
  Webhooks webhooks_;
  boost::asio::io_context io_;
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  std::shared_ptr<net::ServerTls> tls_;  // null: plain HTTP
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<net::Server> server_;
  std::vector<std::thread> threads_;
  std::mutex log_guard_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> monitor_failed_{false};
  std::atomic<bool> monitor_fills_{false};
};

}  // namespace vortex::controller
