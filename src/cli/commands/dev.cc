// vortex dev: a whole vortex on this machine, in one command.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/client/api_client.h"
#include "cli/client/submit.h"
#include "cli/commands/commands.h"
#include "cli/local/cluster.h"
#include "cli/local/folder.h"
#include "cli/local/own_tokens.h"
#include "cli/logger.h"
#include "cli/screen/human.h"
#include "cli/screen/run_watch.h"
#include "cli/screen/terminal.h"
#include "codec/dag_json.h"
#include "net/socket.h"

namespace vortex::cli {
namespace {

constexpr std::uint16_t kUsualPort = 8080;
constexpr long kClusterLookNs = 200'000'000;

struct DevFlags {
  std::string folder = ".";
  std::uint16_t port = 0;
  std::uint32_t controllers = 1;
  bool postgres = false;
  std::uint32_t workers = 2;
  std::uint32_t slots = 4;
  std::string file;
  bool once = false;
  bool stay = false;
  bool no_tokens = false;
};

// Without a link that logs in, the address alone: the page asks for a token.
std::string dashboard_of(const Context& context, const local::Cluster& cluster) {
  Context here = context;
  here.servers = {cluster.url()};
  const auto api = ApiClient::open(here);
  if (!api) return cluster.url();
  return dashboard_link(**api).value_or(cluster.url());
}

std::string database_text(local::Cluster& cluster) {
  if (cluster.postgres() == nullptr) return cluster.folder() + "/vortex.db";
  return fmt::format("{}/postgres (PostgreSQL; psql '{}')", cluster.folder(),
                     cluster.postgres()->url());
}

// All of them, one below the other.
std::string addresses_text(const local::Cluster& cluster) {
  std::string text = cluster.urls();
  for (std::size_t at = 0; (at = text.find(',', at)) != text.npos;) {
    text.replace(at, 1, "\n              ");
  }
  return text;
}

void greet(const Context& context, local::Cluster& cluster, const DevFlags& flags) {
  talk(
      fmt::format("vortex is up\n"
                  "  API         {}\n"
                  "  dashboard   {}\n"
                  "  workers     {} with {} each, supervised\n"
                  "  database    {}\n"
                  "  logs        {}/controller.log, workers.log, monitor.log",
                  addresses_text(cluster), dashboard_of(context, cluster), flags.workers,
                  counted(flags.slots, "slot"), database_text(cluster), cluster.folder()));
  const std::string token =
      local::token_path(cluster.folder() + "/vortex.db", local::TokenFor::kCommands);
  talk(
      flags.no_tokens
          ? std::string("  token       none: every process on this machine can run commands as you")
          : fmt::format("  token       {} (vortex finds it by itself)", token));
  const bool usual = cluster.endpoint().port == kUsualPort && cluster.controllers() == 1;
  const std::string server = usual ? "" : fmt::format(" --server {}", cluster.urls());
  talk(
      fmt::format("\nTry, in another terminal:\n"
                  "  vortex status{}\n"
                  "  vortex run{} FILE.yaml\n"
                  "  vortex workers list{}\n"
                  "  curl {}{}/api/runs\n",
                  server, server, server,
                  flags.no_tokens ? std::string()
                                  : fmt::format("-H \"Authorization: Bearer $(cat {})\" ", token),
                  cluster.url()));
}

// The example of `./run`, or whatever file was given: submitted and watched
// here.
ExitCode run_file(const Context& context, const local::Cluster& cluster, const DevFlags& flags) {
  Context here = context;
  here.servers = {cluster.urls()};
  const auto plan = load_dag_plan(here, flags.file);
  if (!plan) return plan.error();
  const auto params = params_from((*plan)->spec, {});
  if (!params) return params.error();
  auto api = ApiClient::open(here);
  if (!api) return api.error();
  SubmitRequest request;
  request.dag_json = codec::write_dag((*plan)->spec);
  request.params_json = *params;
  const auto run = submit_run(**api, std::move(request));
  if (!run) return run.error();
  const std::string id = text_at(*run, "id");
  talk(fmt::format("{} submitted as {}", flags.file, id));
  return watch_run(here, **api, id, {});
}

// Until somebody ends it, or a part of it ends by itself.
ExitCode wait_for_end(local::Cluster& cluster, const sigset_t& signals) {
  const timespec look{0, kClusterLookNs};
  for (;;) {
    if (sigtimedwait(&signals, nullptr, &look) > 0) return ExitCode::kOk;
    const auto revived = cluster.revive_postgres();
    if (!revived) {
      complain(revived.error());
      return ExitCode::kFailed;
    }
    if (!revived->empty()) talk(*revived);
    if (const std::string wrong = cluster.trouble(); !wrong.empty()) {
      complain(wrong);
      return ExitCode::kFailed;
    }
  }
}

// By --port, or by controller.listen where somebody has set it; 0: whatever is free.
std::uint16_t wanted_port(const DevFlags& flags, const LoadedSettings& loaded) {
  if (flags.port > 0) return flags.port;
  const auto listen =
      std::ranges::find(loaded.effective, "controller.listen", &EffectiveSetting::key);
  if (listen == loaded.effective.end() || listen->origin == "default") return 0;
  const std::string_view text = listen->value;
  std::uint16_t port = 0;
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  return port;
}

// Says who holds the port, if somebody does.
bool is_busy(const DevFlags& flags, std::uint16_t port) {
  if (port == 0 || local::is_free(port)) return false;
  const std::string holder = local::port_holder(port);
  complain(fmt::format("port {} is in use{}{}", port, holder.empty() ? "" : " by ", holder),
           fmt::format("choose another one with {}, or omit it",
                       flags.port > 0 ? "--port" : "--controller.listen"));
  return true;
}

ExitCode develop(const Context& context, const DevFlags& given) {
  if (given.controllers > 1 && !given.postgres) {
    complain("--controllers: several controllers cannot share a SQLite file",
             "add --postgres: it starts a PostgreSQL of its own in .vortex/postgres");
    return ExitCode::kUsage;
  }
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  DevFlags flags = given;
  flags.no_tokens = given.no_tokens || !loaded->settings.controller.require_tokens;
  const std::uint16_t port = wanted_port(flags, *loaded);
  if (is_busy(flags, port)) return ExitCode::kFailed;
  std::error_code error;
  const std::filesystem::path home = std::filesystem::absolute(flags.folder, error);
  const std::filesystem::path data = home / ".vortex";
  std::filesystem::create_directories(data, error);
  if (error) {
    complain(fmt::format("cannot create {}: {}", data.string(), error.message()));
    return ExitCode::kFailed;
  }
  // The database, the logs and the output of tasks are nobody else's.
  std::filesystem::permissions(data, std::filesystem::perms::owner_all, error);
  local::ClusterConfig config;
  config.folder = data.lexically_normal().string();
  config.workdir = home.lexically_normal().string();
  config.controllers = flags.controllers;
  config.postgres = flags.postgres;
  config.workers = flags.workers;
  config.slots = flags.slots;
  config.settings = context.setting_flags;
  config.tokens = !flags.no_tokens;
  if (!context.config.empty())
    config.settings.insert(config.settings.begin(), {"--config", context.config});
  const bool usual_is_free = local::is_free(kUsualPort);
  config.port = port > 0 ? port : usual_is_free ? kUsualPort : 0;
  if (port == 0 && !usual_is_free) talk("Port 8080 is in use; using another one");
  talk(flags.postgres ? fmt::format("Starting PostgreSQL, {} and the workers ...",
                                    counted(flags.controllers, "controller"))
                      : std::string("Starting a controller and its workers ..."));
  auto cluster = local::Cluster::start(std::move(config));
  if (!cluster) {
    complain(cluster.error());
    return ExitCode::kFailed;
  }
  greet(context, **cluster, flags);
  ExitCode end = ExitCode::kOk;
  if (!flags.file.empty()) end = run_file(context, **cluster, flags);
  const bool stays =
      flags.stay || (!flags.once && (flags.file.empty() || is_terminal(STDIN_FILENO)));
  if (stays && end != ExitCode::kInterrupted) {
    talk(fmt::format("\n{} keeps running; press Ctrl-C to stop it", (*cluster)->url()));
    if (!flags.no_tokens) talk("`vortex dashboard` prints another login link");
    const sigset_t signals = block_stop_signals();
    end = wait_for_end(**cluster, signals);
  }
  talk(flags.postgres ? "Stopping the workers, then the controllers, then PostgreSQL"
                      : "Stopping the workers, then the controller");
  (*cluster)->stop();
  return end;
}

}  // namespace

void add_dev(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command(
      "dev", "Run a controller and two workers on this machine, with all data in DIR/.vortex");
  command.group(kRunThings);
  auto flags = std::make_shared<DevFlags>();
  command.option("dir", flags->folder, "Working directory of tasks and location of .vortex")
      .shows_default();
  command.option("--port", flags->port, "Port of the API (default: 8080, or a free one)");
  command.flag("--postgres", flags->postgres,
               "Keep the data in a PostgreSQL server of its own, in .vortex/postgres");
  command
      .option("--controllers", flags->controllers,
              "Number of controllers, on ports next to each other; more than 1 needs --postgres")
      .between(1, 9)
      .shows_default();
  command.option("--workers", flags->workers, "Number of worker processes")
      .between(1, 100)
      .shows_default();
  command.option("--slots", flags->slots, "Concurrent tasks per worker")
      .between(1, 1'000)
      .shows_default();
  command.option("--run", flags->file, "Submit this DAG file and watch it").value_name("FILE");
  command.flag("--once", flags->once, "Stop when that run ends, with its exit code");
  command.flag("--stay", flags->stay, "Keep running afterwards, even without a terminal");
  command.flag("--no-tokens", flags->no_tokens,
               "Require no tokens: every process on this machine can run commands as you");
  command.example(
      "vortex dev\n"
      "vortex dev --run examples/hello.yaml --once\n"
      "vortex dev --postgres --controllers 3");
  command.on_chosen(chosen, [flags](Context& context) { return develop(context, *flags); });
}

}  // namespace vortex::cli
