#include "controller/controller.h"

#include <csignal>
#include <ctime>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include "api/secrets.h"
#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/commands/commands.h"
#include "cli/local/own_tokens.h"
#include "cli/logger.h"
#include "controller/outage_lines.h"
#include "controller/space_reserve.h"
#include "controller/waiting_room.h"
#include "net/client.h"
#include "net/socket.h"
#include "store/open.h"

namespace vortex::cli {
namespace {

constexpr long kStopLookNs = 20'000'000;
constexpr timespec kStoreLook{1, 0};

// Tells the service manager once work is taken; loading millions of tasks takes a while.
int wait_for_end(controller::Controller& controller, const sigset_t& signals) {
  const timespec look{0, kStopLookNs};
  bool told = false;
  for (;;) {
    if (!told && controller.is_ready()) {
      sd_notify(0, "READY=1");
      told = true;
    }
    const int signal =
        told ? sigwaitinfo(&signals, nullptr) : sigtimedwait(&signals, nullptr, &look);
    if (signal == SIGHUP) controller.reload();
    if (signal > 0 && signal != SIGHUP) return signal;
  }
}

// SIGTERM and SIGINT; with TLS also SIGHUP, which without it ends the program as ever.
sigset_t block_signals_of(const Settings& settings) {
  sigset_t signals = block_stop_signals();
  if (settings.controller.tls_cert_file.empty()) return signals;
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void complain_about_store(const store::Error& error, const DatabaseSettings& database) {
  switch (error.fault) {
    case store::Fault::kLocked:
      return complain(error.detail,
                      "stop the other controller, or give this one its own file "
                      "with --database.path");
    case store::Fault::kNewer:
      return complain(error.detail, "use the version of vortex that wrote it, or a newer one");
    case store::Fault::kDamaged:
      return complain(error.detail,
                      fmt::format("run `vortex db check {}`", store::flag_of_store(database)));
    case store::Fault::kBadRequest:
      return complain(error.detail);
    case store::Fault::kFull:
      return complain(error.detail, "the disk is full: free some space and restart");
    default:
      return complain(error.detail, database.url.empty()
                                        ? "check that the directory exists and is writable"
                                        : "check --database.url and that the server is up");
  }
}

// A controller must also start on a full disk, or what is running could not be finished: the space
// reserve that an earlier one has left is given up for it.
store::Result<std::unique_ptr<store::Store>> open_store(const Settings& settings,
                                                        spdlog::logger& logger) {
  const auto notice = [&logger](const std::string& told) { logger.error(told); };
  auto store = store::open_store(settings.database, notice);
  if (store || store.error().fault != store::Fault::kFull) return store;
  controller::SpaceReserve reserve = controller::reserve_of(settings);
  if (!reserve.give_up()) return store;
  logger.warn(
      "the disk is full: the space reserve was released to be able to start; new runs are refused "
      "until you free some space");
  return store::open_store(settings.database, notice);
}

// A database that is away is waited for; one that refuses what the settings say is not.
bool is_worth_waiting(const store::Error& error, const Settings& settings) {
  return error.fault == store::Fault::kUnavailable && !settings.database.url.empty();
}

// Answers health checks meanwhile. The error is how to end; what there is to tell is told.
std::expected<std::unique_ptr<store::Store>, ExitCode> wait_for_store(const Settings& settings,
                                                                      spdlog::logger& logger,
                                                                      store::Error error,
                                                                      const sigset_t& signals) {
  auto room = controller::WaitingRoom::open(settings);
  if (!room) {
    complain(room.error());
    return std::unexpected(ExitCode::kFailed);
  }
  controller::OutageLines lines("the database answers again");
  while (is_worth_waiting(error, settings)) {
    if (const auto line = lines.failed(boot_clock_now(), error.detail)) {
      logger.error("waiting for the database {}: {}", store::name_of_store(settings.database),
                   *line);
    }
    sd_notify(0, "STATUS=waiting for the database\nEXTEND_TIMEOUT_USEC=60000000");
    const int signal = sigtimedwait(&signals, nullptr, &kStoreLook);
    if (signal > 0 && signal != SIGHUP) {
      logger.info("stopped while waiting for the database");
      return std::unexpected(ExitCode::kOk);
    }
    auto store = open_store(settings, logger);
    if (store) {
      if (const auto line = lines.worked(boot_clock_now())) logger.info("{}", *line);
      sd_notify(0, "STATUS=");
      return *std::move(store);
    }
    error = std::move(store.error());
  }
  complain_about_store(error, settings.database);
  return std::unexpected(ExitCode::kFailed);
}

// Valid although they are in no database: whoever may read their files may use them. No token that
// is created can have these names.
std::vector<TokenRow> rows_of(const local::OwnTokens& own) {
  const Instant now = wall_clock_now();
  return {{"local:admin", Role::kAdmin, api::hash_token(own.admin), now, false},
          {"local:worker", Role::kWorker, api::hash_token(own.worker), now, false}};
}

// Where commands and workers of this user look, as long as what it returns lives.
std::optional<local::PublishedTokens> publish(std::uint16_t port, local::OwnTokens own,
                                              spdlog::logger& logger) {
  auto published = local::PublishedTokens::publish(port, std::move(own));
  if (published) return *std::move(published);
  logger.warn(
      "commands and workers on this machine will not find their token by themselves ({}): pass it "
      "with --token-file",
      published.error());
  return std::nullopt;
}

// Opens the way in for the user of this controller. False: told to the user.
bool add_own_tokens(const std::string& database, spdlog::logger& logger,
                    controller::ControllerParts& parts) {
  const ControllerSettings& settings = parts.settings.settings.controller;
  const auto at = net::parse_listener(settings.listen, 0);
  const bool loopback = at && net::is_loopback(at->host);  // elsewhere they always are required
  if (!settings.require_tokens && loopback) {
    logger.warn(
        "no tokens are required: every process on this machine can run commands as this user");
    return true;
  }
  auto own = local::own_tokens(database);
  if (!own) {
    complain(own.error());
    return false;
  }
  logger.info("the admin token of this user is in {}",
              local::token_path(database, local::TokenFor::kCommands));
  parts.tokens = rows_of(*own);
  auto published = std::make_shared<std::optional<local::PublishedTokens>>();
  parts.listening = [published, own = *std::move(own), &logger](std::uint16_t port) {
    if (auto done = publish(port, own, logger)) published->emplace(*std::move(done));
  };
  return true;
}

ExitCode serve(Context& context, bool no_tokens) {
  if (no_tokens) context.setting_flags.emplace_back("--controller.require_tokens=false");
  auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const sigset_t signals = block_signals_of(loaded->settings);
  const auto logger = make_logger(loaded->settings.monitoring.log_level);
  for (const std::string& notice : loaded->notices) logger->warn(notice);
  const std::string path = loaded->settings.database.path;
  const std::string database = store::name_of_store(loaded->settings.database);
  auto store = open_store(loaded->settings, *logger);
  if (!store && is_worth_waiting(store.error(), loaded->settings)) {
    auto waited = wait_for_store(loaded->settings, *logger, std::move(store.error()), signals);
    if (!waited) return waited.error();
    store = *std::move(waited);
  }
  if (!store) {
    complain_about_store(store.error(), loaded->settings.database);
    return ExitCode::kFailed;
  }
  controller::ControllerParts parts;
  parts.settings = std::move(*loaded);
  parts.store = std::move(*store);
  parts.log = lines_to(logger);
  const auto trust = trust_of(context);
  if (!trust) return trust.error();
  parts.trust = *trust;
  if (!add_own_tokens(path, *logger, parts)) return ExitCode::kFailed;
  auto controller = controller::Controller::start(std::move(parts));
  if (!controller) {
    complain(controller.error());
    return ExitCode::kFailed;
  }
  logger->info("listening on {}, database {}", (*controller)->url(), database);
  const int signal = wait_for_end(**controller, signals);
  logger->info("stopping: {}", signal == SIGTERM ? "SIGTERM" : "SIGINT");
  sd_notify(0, "STOPPING=1");
  (*controller)->stop();
  logger->info("stopped");
  return ExitCode::kOk;
}

}  // namespace

void add_controller(CommandSpec app, Command& chosen) {
  CommandSpec command =
      app.command("controller", "Run a controller with its database and API").group(kRunThings);
  auto no_tokens = std::make_shared<bool>(false);
  command.flag("--no-tokens", *no_tokens,
               "Require no tokens: every process on this machine can control this controller");
  command.example(
      "vortex controller --database.path=/var/lib/vortex/vortex.db\n"
      "vortex controller --controller.listen=127.0.0.1:9090 --tuning=lan\n"
      "vortex controller --controller.listen=0.0.0.0:8443 --controller.tls-cert-file=server.pem "
      "--controller.tls-key-file=server.key");
  command.on_chosen(chosen, [no_tokens](Context& c) { return serve(c, *no_tokens); });
}

}  // namespace vortex::cli
