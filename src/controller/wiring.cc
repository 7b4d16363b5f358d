#include "controller/wiring.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/vault/rewrap.h"
#include "base/clock.h"
#include "base/networks.h"
#include "base/rng.h"
#include "base/time.h"
#include "base/zone_files.h"
#include "codec/event_json.h"
#include "controller/advertise.h"
#include "core/command.h"
#include "net/client.h"
#include "net/socket.h"
#include "store/open.h"

namespace vortex::controller {
namespace {

// Asks a worker's own health endpoint whether anybody is there (CONTRACT A05).
//
// Three answers only: it answered (whatever it said), the host refused (up, nobody listening), or
// nothing came in time. Runs on an I/O thread; one connection per probe.

namespace asio = boost::asio;

constexpr std::uint64_t kProbeAnswerBytesMax = 16 * 1024;  // nobody reads it

// An address was judged when the worker registered; a name is judged by what it resolves to.
std::function<bool(const IpAddress&)> reach_of_probes(const Settings& settings) {
  return [allowed = Networks::parse(settings.controller.worker_networks)](const IpAddress& ip) {
    return allowed && allowed->contains(ip);
  };
}

asio::awaitable<core::ProbeOutcome> probe_worker(std::string address, const Settings& settings) {
  const Duration limit = settings.worker.heartbeat_interval;
  const auto endpoint = net::parse_endpoint(address, 80);
  if (!endpoint) co_return core::ProbeOutcome::kTimedOut;
  net::ClientConfig config;
  config.endpoint = *endpoint;
  config.connect_limit = limit;
  config.body_bytes_max = kProbeAnswerBytesMax;
  if (!parse_ip(endpoint->host)) config.may_reach = reach_of_probes(settings);
  net::Client client(co_await asio::this_coro::executor, config);
  net::Call call;
  call.target = "/health";
  call.limit = limit;
  const auto answer = co_await client.send(std::move(call));
  if (answer) co_return core::ProbeOutcome::kAnswered;
  const bool refused = answer.error().fault == net::CallFault::kRefused;
  co_return refused ? core::ProbeOutcome::kRefused : core::ProbeOutcome::kTimedOut;
}

constexpr Duration kSpaceCheckInterval = seconds(2);
constexpr Duration kCertificateCheckInterval = seconds(3);
constexpr std::uint32_t kFillBytes = 1 << 20;
constexpr Duration kSelfCheckLimit = seconds(5);
constexpr Duration kLastAuditLimit = seconds(2);

std::string own_name() {
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  return fmt::format("{}-{}", host, ::getpid());
}

std::string beside_database(const Settings& settings, std::string_view name) {
  const std::string& path = settings.database.path;
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  return folder + std::string(name);
}

std::string monitor_path(const Settings& settings) {
  if (settings.monitoring.monitor_log == "off") return {};
  if (settings.monitoring.monitor_log != "auto") return settings.monitoring.monitor_log;
  return beside_database(settings, "monitor.log");
}

constexpr std::uint64_t mib(std::uint32_t count) { return std::uint64_t{count} << 20U; }

EngineShellConfig engine_config(const Settings& settings, const ControllerId& me,
                                store::Store& store) {
  EngineShellConfig config;
  const bool alone = store.is_ours_alone();
  config.open_reader = [&store] { return store.reader(); };
  config.engine.me = me;
  config.engine.policy = core::make_policy(settings);
  config.engine.policy.dag_limits.zones = &system_zones();
  // A lease that nobody else could take needs no haste: loading millions of tasks takes a while.
  config.engine.leader_lease = alone ? hours(24) : settings.controller.leader_lease;
  config.engine.leader_pace = settings.controller.leader_lease;
  config.engine.commit_stalled = std::min(seconds(1), settings.database.io_timeout / 2);
  config.retention.runs_for = hours(24) * settings.database.retain_runs_days;
  config.retention.runs_max = settings.database.retain_runs_max;
  config.retention.events_for = hours(24) * settings.database.retain_events_days;
  config.retention.recoveries_for = hours(24) * settings.database.retain_recoveries_days;
  config.retention.audit_for = hours(24) * settings.database.retain_audit_days;
  config.engine.write_event = codec::write_event;
  config.inbox_max = settings.controller.inbox_max;
  config.engine.seed = static_cast<std::uint64_t>(wall_clock_now().us) ^
                       static_cast<std::uint64_t>(::getpid()) << 40U;
  return config;
}

// Some descriptors are kept for the database, the logs and the seats of vital requests.
std::uint32_t within_descriptors(std::uint32_t wanted) {
  constexpr rlim_t kKeptBack = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t rest = std::max<rlim_t>(limit.rlim_cur, 2 * kKeptBack) - kKeptBack;
  return static_cast<std::uint32_t>(std::min<rlim_t>(wanted, rest));
}

net::ServerConfig server_config(const Settings& settings, const net::Endpoint& at) {
  net::ServerConfig config;
  config.address = at.host;
  config.port = at.port;
  config.connections_max = within_descriptors(settings.controller.max_connections);
  config.connections_per_address_max = settings.controller.max_connections_per_address;
  config.vital_targets = {"/livez"};
  config.bodies = net::Bodies::kOnDemand;
  config.default_headers = api::default_headers();
  config.body_bytes_max = mib(settings.controller.max_body_mib);
  config.user_timeout = settings.worker.tcp_user_timeout;
  return config;
}

}  // namespace

Wiring::Wiring(ControllerParts parts)
    : parts_(std::move(parts)),
      started_(boot_clock_now()),
      id_(parts_.id.empty() ? own_name() : parts_.id),
      monitor_log_(monitor_path(parts_.settings.settings),
                   mib(parts_.settings.settings.monitoring.monitor_log_mib)),
      metrics_(parts_.settings.settings.monitoring.metrics_enabled),
      reserve_(reserve_of(parts_.settings.settings)),
      committer_(parts_.store->writer()),
      engine_(engine_config(parts_.settings.settings, id_, *parts_.store), committer_, waiters_,
              *this),
      reads_(*parts_.store, parts_.settings.settings.database.pool_size),
      peers_({.id = id_, .is_alone = parts_.store->is_ours_alone(), .trust = parts_.trust}, engine_,
             committer_, reads_),
      documents_(parts_.settings.settings.controller.document_threads,
                 parts_.settings.settings.controller.document_queue_max),
      key_source_(parts_.settings.settings.secrets),
      webhooks_(*this, parts_.settings.settings,
                [this](LogLevel level, std::string what) { say(level, std::move(what)); }),
      work_(asio::make_work_guard(io_)) {}

Wiring::~Wiring() { stop(); }

std::expected<void, std::string> Wiring::open() {
  const Settings& settings = parts_.settings.settings;
  const auto at = net::parse_listener(settings.controller.listen, 8080);
  if (!at) {
    return std::unexpected(fmt::format("controller.listen = {} is not a valid address and port",
                                       settings.controller.listen));
  }
  auto tls = open_tls(settings.controller);
  if (!tls) return std::unexpected(std::move(tls.error()));
  tls_ = *std::move(tls);
  const bool loopback = net::is_loopback(at->host);
  const auto policy = access_policy(loopback);
  if (!policy) return std::unexpected(policy.error());
  if (auto opened = open_vault(); !opened) return opened;
  api_ = std::make_unique<api::Api>(*this, *policy, api::serve_pages(api::dashboard()));
  net::ServerConfig door = server_config(settings, *at);
  door.tls = tls_;
  auto server = net::Server::listen(io_, std::move(door), api_->handler(), api_->complain());
  if (!server) return std::unexpected(server.error());
  server_ = std::move(*server);
  parts_.listening(server_->port());
  if (!loopback && !tls_) {
    say(LogLevel::kWarn,
        fmt::format("serving plain HTTP on {}: tokens and data can be read on the network; set "
                    "controller.tls_cert_file and controller.tls_key_file (`vortex tls init` makes "
                    "them)",
                    settings.controller.listen));
  }
  const bool alone = parts_.store->is_ours_alone();
  const auto advertised =
      advertised_url(settings.controller.advertise_url, {at->host, port(), tls_ != nullptr}, alone);
  if (!advertised) return std::unexpected(advertised.error());
  if (!advertised->notice.empty()) say(LogLevel::kInfo, advertised->notice);
  advertised_ = advertised->url;
  if (!reserve_.hold()) engine_.set_low_space(true);
  parts_.store->watch([this] { engine_.hint_free(); });
  engine_.start(advertised_);
  for (std::uint32_t i = 0; i < settings.controller.io_threads; ++i) {
    threads_.emplace_back([this] { io_.run(); });
  }
  webhooks_.start(io_);
  spawn("controller watch", peers_.run(advertised_));
  spawn("vault", keep_vault());
  spawn("disk watch", watch_space());
  spawn("audit log", keep_audit());
  if (tls_) spawn("certificate watch", watch_certificate());
  return {};
}

std::expected<std::shared_ptr<net::ServerTls>, std::string> open_tls(
    const ControllerSettings& settings) {
  net::ServerTlsFiles files{settings.tls_cert_file, settings.tls_key_file,
                            settings.tls_client_ca_file,
                            settings.tls_require_client_cert == ClientCertificates::kAll};
  if (files.certificate.empty() != files.key.empty()) {
    return std::unexpected(
        fmt::format("controller.tls_{0}_file is set, but controller.tls_{1}_file is not: TLS needs "
                    "both",
                    files.key.empty() ? "cert" : "key", files.key.empty() ? "key" : "cert"));
  }
  if (files.certificate.empty() && !files.client_ca.empty()) {
    return std::unexpected(
        "controller.tls_client_ca_file needs controller.tls_cert_file and controller.tls_key_file");
  }
  if (files.client_ca.empty() && settings.tls_require_client_cert != ClientCertificates::kNo) {
    return std::unexpected(
        "controller.tls_require_client_cert needs controller.tls_client_ca_file: the CA that signs "
        "client certificates");
  }
  if (files.certificate.empty()) return nullptr;
  auto opened = net::ServerTls::open(std::move(files));
  if (!opened) return std::unexpected("TLS: " + opened.error());
  return opened;
}

void Wiring::reload() {
  if (!tls_) return;
  const net::ServerTls::Looked looked = tls_->look_again();
  if (looked.look == net::ServerTls::Look::kReloaded) {
    say(LogLevel::kInfo,
        fmt::format("the certificate was reloaded: {}", tls_->certificate().fingerprint));
  } else if (looked.look == net::ServerTls::Look::kRefused) {
    say(LogLevel::kError,
        fmt::format("the new certificate is not used, the old one stays: {}", looked.trouble));
  }
}

asio::awaitable<void> Wiring::watch_certificate() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (true) {
    timer.expires_after(std::chrono::microseconds(kCertificateCheckInterval.us));
    co_await timer.async_wait(asio::use_awaitable);
    reload();
  }
}

// Who can be reached by other machines asks for tokens, and so needs one to begin with.
std::expected<api::AccessPolicy, std::string> Wiring::access_policy(bool loopback) {
  api::AccessPolicy policy;
  policy.loopback = loopback;
  policy.worker_certificates =
      parts_.settings.settings.controller.tls_require_client_cert != ClientCertificates::kNo;
  const bool wanted = parts_.settings.settings.controller.require_tokens || !loopback;
  policy.mode = wanted ? api::AccessPolicy::Mode::kTokens : api::AccessPolicy::Mode::kOpen;
  if (!wanted) return policy;
  policy.fixed = parts_.tokens;
  if (loopback && !policy.fixed.empty()) return policy;
  auto reader = parts_.store->reader();
  if (!reader) return std::unexpected(reader.error().detail);
  const auto tokens = (*reader)->tokens();
  if (!tokens) return std::unexpected(tokens.error().detail);
  if (tokens->empty()) {
    return std::unexpected(fmt::format(
        "controller.listen = {} requires tokens, but there are none: create the first one with "
        "`vortex tokens create NAME --role admin --offline {}`",
        parts_.settings.settings.controller.listen,
        store::flag_of_store(parts_.settings.settings.database)));
  }
  return policy;
}

std::expected<vault::Keys, std::string> Wiring::read_keys() {
  const std::scoped_lock lock(keys_guard_);
  return key_source_.read();
}

// A key that does not open what is in the database is refused before anything is served: with it,
// new secrets would be sealed with one key and old ones with another that nobody has.
std::expected<void, std::string> Wiring::open_vault() {
  auto keys = read_keys();
  if (!keys) return std::unexpected(std::move(keys.error()));
  auto reader = parts_.store->reader();
  if (!reader) return std::unexpected(reader.error().detail);
  const auto found = api::find_sealed(**reader);
  if (!found) return std::unexpected(found.error().detail);
  vault_.use(keys->current, keys->previous);
  if (!keys->current) {
    if (!found->key_ids.empty()) {
      say(LogLevel::kWarn,
          "there is no master key: secrets cannot be used; set "
          "secrets.master_key_file");
    }
    return {};
  }
  for (const std::string& id : found->key_ids) {
    if (vault_.has(id)) continue;
    return std::unexpected(fmt::format(
        "the master key does not match the database: {} is key {}, but secrets are sealed with key "
        "{}. Configure that key; if it was replaced, set secrets.master_key_file to the new key "
        "and secrets.previous_master_key_file to the old one",
        keys->from, keys->current->id(), id));
  }
  say(LogLevel::kInfo, fmt::format("secrets are sealed with master key {} from {}",
                                   keys->current->id(), keys->from));
  return {};
}

// Once in each term: what an earlier master key sealed, and what was never sealed, is brought under
// the current one. Goes on where a crash ended it.
asio::awaitable<void> Wiring::keep_vault() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  Term done;
  while (true) {
    const Term term = engine_.term();
    if (engine_.serves() && term != done) {
      const auto report = co_await api::rewrap_all(*this);
      if (report) {
        done = term;
        if (report->versions + report->webhooks > 0) {
          say(LogLevel::kInfo,
              fmt::format("sealed with the current master key: versions of secrets {}, "
                          "webhooks {}",
                          report->versions, report->webhooks));
          webhooks_.look_again();
        }
      }
    }
    const bool settled = engine_.serves() && done == engine_.term();
    timer.expires_after(std::chrono::milliseconds(settled ? 2'000 : 100));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

std::uint16_t Wiring::port() const { return server_ ? server_->port() : 0; }

std::string Wiring::url() const {
  const auto at = net::parse_listener(parts_.settings.settings.controller.listen, 8080);
  const bool v6 = at && at->host.contains(':');
  return fmt::format("{}://{}:{}", tls_ ? "https" : "http", v6 ? "[" + at->host + "]" : at->host,
                     port());
}

void Wiring::stop() {
  if (stopped_.exchange(true)) return;
  if (server_) asio::co_spawn(asio::make_strand(io_), server_->stop(), asio::use_future).wait();
  if (api_ && engine_.serves()) {
    // Bounded: a store that does not answer must not keep us from ending.
    asio::co_spawn(asio::make_strand(io_), api_->audit().flush(api::AuditLog::Which::kAll),
                   asio::use_future)
        .wait_for(std::chrono::microseconds(kLastAuditLimit.us));
  }
  parts_.store->watch({});
  engine_.stop();
  committer_.stop();
  work_.reset();
  io_.stop();
  for (std::thread& thread : threads_) thread.join();
  webhooks_.stop();
  peers_.stop();
  documents_.stop();
  reads_.stop();
}

void Wiring::probe(const core::Probe& probe) { spawn("probe", run_probe(probe)); }

asio::awaitable<void> Wiring::run_probe(core::Probe probe) {
  const core::ProbeOutcome outcome = co_await probe_worker(probe.address, parts_.settings.settings);
  submit(core::Command{core::ProbeResult{probe.worker, probe.incarnation, outcome}});
}

void Wiring::self_check() { spawn("self-check", run_self_check()); }

// Is it us? The store must take a write and our own door must answer. One that speaks TLS answers
// plain HTTP as well, if only with where to go.
asio::awaitable<void> Wiring::run_self_check() {
  net::ClientConfig config;
  config.endpoint = {"127.0.0.1", port(), false};
  if (const auto at = net::parse_endpoint(url(), port())) config.endpoint.host = at->host;
  net::Client client(co_await asio::this_coro::executor, config);
  net::Call call;
  call.target = "/livez";
  call.limit = kSelfCheckLimit;
  const auto answer = co_await client.send(std::move(call));
  const bool door = answer && answer->status == (tls_ ? 400 : 200);
  committer_.post([this, door](store::Writer& writer) {
    const bool writable = writer.check_writable().has_value();
    submit(core::Command{core::SelfCheckResult{door && writable}});
  });
}

void Wiring::committed(const engine::Batch& batch, Duration took) {
  const EventBlock& events = batch.commit().events;
  if (events.first_seq > 0) {
    hub_.publish(events.first_seq, events.last_seq, events.lines);
    const auto wrote = monitor_log_.append({events.first_seq, events.last_seq, events.lines});
    if (wrote == MonitorLog::Wrote::kFailed) note_monitor_failed();
    if (wrote == MonitorLog::Wrote::kBehind && !monitor_failed_) fill_monitor_log();
  }
  for (const Event& event : batch.events) tell_of(event);
  metrics_.count(batch, took);
}

void Wiring::loaded(std::uint64_t last_event) {
  hub_.begin_at(last_event);
  monitor_log_.begin_at(last_event);
  if (monitor_log_.is_behind()) fill_monitor_log();
}

void Wiring::note_monitor_failed() {
  if (!monitor_failed_.exchange(true)) {
    say(LogLevel::kError,
        "cannot write the monitor log; missing lines will be added from the database later");
  }
}

void Wiring::fill_monitor_log() { spawn("completing the monitor log", run_fill()); }

// Lines that a full disk or a crash kept out of the monitor log come from the store. One at a time.
asio::awaitable<void> Wiring::run_fill() {
  if (monitor_fills_.exchange(true)) co_return;
  auto wrote = MonitorLog::Wrote::kBehind;
  while (wrote == MonitorLog::Wrote::kBehind && monitor_log_.is_behind()) {
    wrote = MonitorLog::Wrote::kFailed;
    co_await reads_.run([&](store::Reader& reader) {
      const MonitorLog::Missing missing = monitor_log_.missing();
      const auto lines = reader.events_after(missing.after, kFillBytes);
      if (lines) wrote = monitor_log_.fill(missing, lines->lines);
    });
  }
  monitor_fills_ = false;
  if (wrote == MonitorLog::Wrote::kFailed) co_return note_monitor_failed();
  if (monitor_failed_.exchange(false)) {
    say(LogLevel::kInfo, "the monitor log is complete again");
  }
}

// Losses belong into the controller's own log, one line each.
void Wiring::tell_of(const Event& event) {
  const auto text_of = [&event](std::string_view key) {
    for (const auto& [name, value] : event.data) {
      if (key != name) continue;
      if (const auto* text = std::get_if<std::string>(&value)) return *text;
      return std::to_string(std::get<std::int64_t>(value));
    }
    return std::string{};
  };
  if (event.kind == EventKind::kWorkerOffline) {
    const std::string tasks = text_of("tasks_requeued");
    say(LogLevel::kWarn, fmt::format("worker {} lost; {} {} requeued", event.worker.text, tasks,
                                     tasks == "1" ? "task" : "tasks"));
  } else if (event.kind == EventKind::kStateReconcileFix) {
    std::string what = event.run ? to_text(*event.run) + ": " : "";
    if (event.task) what = to_text(*event.task) + ": ";
    say(LogLevel::kWarn, fmt::format("repaired: {}{}", what, text_of("what")));
  } else if (event.kind == EventKind::kBrakeEngaged) {
    say(LogLevel::kWarn,
        "brake engaged: most workers went silent at once; silence does not count until this "
        "controller has checked itself");
  }
}

bool Wiring::make_space() {
  engine_.set_low_space(true);
  const bool given = reserve_.give_up();
  say(LogLevel::kError,
      given ? "the disk is full: the space reserve was released, new runs are refused"
            : "the disk is full and the space reserve is used up: waiting for space");
  return given;
}

asio::awaitable<void> Wiring::watch_space() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (true) {
    timer.expires_after(std::chrono::microseconds(kSpaceCheckInterval.us));
    co_await timer.async_wait(asio::use_awaitable);
    if (monitor_log_.is_behind()) co_await run_fill();
    const bool enough = reserve_.hold();
    if (enough != engine_.low_space()) continue;
    engine_.set_low_space(!enough);
    say(enough ? LogLevel::kInfo : LogLevel::kWarn,
        enough ? "there is disk space again: new runs are accepted"
               : "the disk is almost full: new runs are refused");
  }
}

asio::awaitable<void> Wiring::keep_audit() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (true) {
    timer.expires_after(std::chrono::microseconds(api::Api::kAuditPace.us));
    co_await timer.async_wait(asio::use_awaitable);
    if (engine_.serves()) co_await api_->audit().flush(api::AuditLog::Which::kDue);
  }
}

// Always on a strand: a time limit must not close a socket on one thread while its read ends on
// another, and a result must not be handed over while its taker looks.
void Wiring::spawn(const char* what, asio::awaitable<void> work) {
  asio::co_spawn(
      asio::make_strand(io_), std::move(work),
      [this, what](const std::exception_ptr& error) { report_own_trouble(what, error); });
}

void Wiring::report_own_trouble(const char* what, const std::exception_ptr& error) {
  if (!error || stopped_) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    say(LogLevel::kError, fmt::format("{} failed: {}", what, e.what()));
  }
}

void Wiring::say(LogLevel level, std::string what) {
  const std::scoped_lock lock(log_guard_);
  parts_.log(level, what);
}

std::expected<std::unique_ptr<Controller>, std::string> Controller::start(ControllerParts parts) {
  auto wiring = std::make_unique<Wiring>(std::move(parts));
  if (auto opened = wiring->open(); !opened) return std::unexpected(opened.error());
  return wiring;
}

}  // namespace vortex::controller
