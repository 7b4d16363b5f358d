#include "controller/controller.h"

#include <csignal>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/logger.h"
#include "controller/space_reserve.h"
#include "store/sqlite/open.h"

namespace vortex::cli {
namespace {

constexpr long kStopLookNs = 20'000'000;

// Tells the service manager once work is taken; loading millions of tasks takes a while.
int wait_for_end(controller::Controller& controller, const sigset_t& signals) {
  const timespec look{0, kStopLookNs};
  while (!controller.serves()) {
    const int signal = sigtimedwait(&signals, nullptr, &look);
    if (signal > 0) return signal;
  }
  sd_notify(0, "READY=1");
  int signal = 0;
  sigwait(&signals, &signal);
  return signal;
}

void complain_about_store(const store::Error& error, const std::string& path) {
  switch (error.fault) {
    case store::Fault::kLocked:
      return complain(error.detail,
                      "stop the other controller, or give this one its own file "
                      "with --database.path");
    case store::Fault::kNewer:
      return complain(error.detail, "use the version of vortex that wrote it, or a newer one");
    case store::Fault::kDamaged:
      return complain(error.detail, fmt::format("run `vortex db check --database.path={}`", path));
    case store::Fault::kFull:
      return complain(error.detail, "the disk is full: free some space and restart");
    default:
      return complain(error.detail, "check that the directory exists and is writable");
  }
}

// A controller must also start on a full disk, or what is running could not be finished: the space
// reserve that an earlier one has left is given up for it.
store::Result<std::unique_ptr<store::Store>> open_store(const store::SqliteOptions& options,
                                                        const Settings& settings,
                                                        spdlog::logger& logger) {
  auto store = store::open_sqlite(options);
  if (store || store.error().fault != store::Fault::kFull) return store;
  controller::SpaceReserve reserve = controller::reserve_of(settings);
  if (!reserve.give_up()) return store;
  logger.warn(
      "the disk is full: the space reserve was released to be able to start; new runs are refused "
      "until you free some space");
  return store::open_sqlite(options);
}

ExitCode serve(Context& context) {
  auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const sigset_t signals = block_stop_signals();
  const auto logger = make_logger(loaded->settings.monitoring.log_level);
  for (const std::string& notice : loaded->notices) logger->warn(notice);
  const std::string path = loaded->settings.database.path;
  store::SqliteOptions options;
  options.path = path;
  options.logs.head_bytes = std::uint64_t{loaded->settings.database.log_head_kib} << 10U;
  options.logs.tail_bytes = std::uint64_t{loaded->settings.database.log_tail_kib} << 10U;
  options.notice = [&logger](const std::string& notice) { logger->error(notice); };
  auto store = open_store(options, loaded->settings, *logger);
  if (!store) {
    complain_about_store(store.error(), path);
    return ExitCode::kFailed;
  }
  controller::ControllerParts parts;
  parts.settings = std::move(*loaded);
  parts.store = std::move(*store);
  parts.log = lines_to(logger);
  auto controller = controller::Controller::start(std::move(parts));
  if (!controller) {
    complain(controller.error());
    return ExitCode::kFailed;
  }
  logger->info("listening on {}, database {}", (*controller)->url(), path);
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
  command.example(
      "vortex controller --database.path=/var/lib/vortex/vortex.db\n"
      "vortex controller --controller.listen=127.0.0.1:9090 --tuning=lan");
  command.on_chosen(chosen, serve);
}

}  // namespace vortex::cli
