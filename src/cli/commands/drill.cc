// vortex drill: kills workers, or leaders and their database, on purpose and prints how long their
// work was away.
#include "cli/local/drill.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/local/failover.h"
#include "cli/screen/human.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

struct DrillFlags {
  std::uint32_t workers = 50;
  std::uint32_t hosts = 10;
  std::uint32_t freezes = 1;
  std::uint32_t controllers = 0;  // 0: workers are killed
  std::uint32_t leader_kills = 30;
  std::uint32_t leader_freezes = 3;
  std::uint32_t database_restarts = 5;
};

constexpr std::array<const char*, 3> kNames{"worker process killed", "supervisor and worker killed",
                                            "worker frozen (SIGSTOP)"};
constexpr std::array<const char*, 3> kKeys{"worker", "host", "freeze"};
constexpr std::array<const char*, 3> kEvidence{"proof", "hint", "silence"};

Duration percentile(std::vector<Duration> all, std::size_t percent) {
  if (all.empty()) return {};
  std::ranges::sort(all);
  return all[std::min(all.size() - 1, all.size() * percent / 100)];
}

std::string row(const drill::Outcome& outcome) {
  const auto kind = static_cast<std::size_t>(outcome.kind);
  return fmt::format("{:<30} {:<9} {:>5} {:>6} {:>9} {:>9} {:>9} {:>9}\n", kNames[kind],
                     kEvidence[kind], outcome.kills, outcome.recoveries.size(),
                     human_duration(percentile(outcome.recoveries, 50)),
                     human_duration(percentile(outcome.recoveries, 99)),
                     human_duration(percentile(outcome.recoveries, 100)), outcome.overlaps);
}

std::string json(const drill::Outcome& outcome) {
  const auto kind = static_cast<std::size_t>(outcome.kind);
  const auto ms = [&](std::size_t percent) {
    return static_cast<double>(percentile(outcome.recoveries, percent).us) / 1e3;
  };
  return fmt::format(
      R"({{"kind":"{}","evidence":"{}","kills":{},"tasks":{},"p50_ms":{:.1f},"p99_ms":{:.1f},)"
      R"("max_ms":{:.1f},"overlaps":{},"lost":{}}})"
      "\n",
      kKeys[kind], kEvidence[kind], outcome.kills, outcome.recoveries.size(), ms(50), ms(99),
      ms(100), outcome.overlaps, outcome.lost);
}

constexpr std::array<const char*, 3> kBlowNames{"leader killed", "leader frozen (SIGSTOP)",
                                                "database restarted"};
constexpr std::array<const char*, 3> kBlowKeys{"leader_kill", "leader_freeze", "database_restart"};
constexpr const char* kFailoverColumns =
    "{:<24} {:>5} {:>11} {:>11} {:>9} {:>9} {:>5} {:>8} {:>10}\n";

std::string row(const drill::FailoverOutcome& outcome) {
  const auto text = [](const std::vector<Duration>& all, std::size_t percent) {
    return human_duration(percentile(all, percent));
  };
  return fmt::format(fmt::runtime(kFailoverColumns),
                     kBlowNames[static_cast<std::size_t>(outcome.blow)], outcome.blows,
                     text(outcome.commands, 50), text(outcome.commands, 99),
                     text(outcome.starts, 50), text(outcome.starts, 99), outcome.lost,
                     outcome.doubled, outcome.restarted);
}

std::string json(const drill::FailoverOutcome& outcome) {
  const auto ms = [](const std::vector<Duration>& all, std::size_t percent) {
    return static_cast<double>(percentile(all, percent).us) / 1e3;
  };
  return fmt::format(
      R"({{"kind":"{}","blows":{},"command_p50_ms":{:.1f},"command_p99_ms":{:.1f},)"
      R"("task_p50_ms":{:.1f},"task_p99_ms":{:.1f},"lost":{},"doubled":{},"restarted":{}}})"
      "\n",
      kBlowKeys[static_cast<std::size_t>(outcome.blow)], outcome.blows, ms(outcome.commands, 50),
      ms(outcome.commands, 99), ms(outcome.starts, 50), ms(outcome.starts, 99), outcome.lost,
      outcome.doubled, outcome.restarted);
}

ExitCode run_on_controllers(const Context& context, const DrillFlags& flags) {
  if (!load(context)) return ExitCode::kInvalid;
  drill::FailoverConfig config;
  config.settings = context.setting_flags;
  config.controllers = flags.controllers;
  const std::array<std::uint32_t, 3> blows{flags.leader_kills, flags.leader_freezes,
                                           flags.database_restarts};
  const bool live = is_terminal(STDERR_FILENO) && !context.quiet;
  if (context.output == Output::kTable) {
    print(fmt::format(fmt::runtime(kFailoverColumns), "KIND", "BLOWS", "COMMAND P50", "COMMAND P99",
                      "TASK P50", "TASK P99", "LOST", "DOUBLED", "RESTARTED"));
  }
  ExitCode end = ExitCode::kOk;
  for (std::size_t kind = 0; kind < blows.size(); ++kind) {
    if (blows[kind] == 0) continue;
    config.progress = [&](const std::string& at) {
      if (live) fmt::print(stderr, "\r\033[K{}: {}", kBlowNames[kind], at);
    };
    const auto outcome = drill::run_failovers(static_cast<drill::Blow>(kind), blows[kind], config);
    if (live) fmt::print(stderr, "\r\033[K");
    if (!outcome) {
      complain(fmt::format("{}: {}", kBlowNames[kind], outcome.error()));
      return ExitCode::kFailed;
    }
    print_now(wants_json(context) ? json(*outcome) : row(*outcome));
    if (outcome->lost + outcome->doubled + outcome->restarted > 0) end = ExitCode::kFailed;
  }
  return end;
}

ExitCode run(const Context& context, const DrillFlags& flags) {
  if (flags.controllers > 0) return run_on_controllers(context, flags);
  if (!load(context)) return ExitCode::kInvalid;
  drill::DrillConfig config;
  config.settings = context.setting_flags;
  // It kills by the ids that tasks and workers tell, and in a container these are other ones.
  config.settings.insert(config.settings.end(),
                         {"--worker.launcher=subprocess", "--worker.container-root="});
  const std::array<std::uint32_t, 3> kills{flags.workers, flags.hosts, flags.freezes};
  const bool live = is_terminal(STDERR_FILENO) && !context.quiet;
  if (context.output == Output::kTable) {
    print(fmt::format("{:<30} {:<9} {:>5} {:>6} {:>9} {:>9} {:>9} {:>9}\n", "KIND", "EVIDENCE",
                      "KILLS", "TASKS", "P50", "P99", "MAX", "OVERLAPS"));
  }
  ExitCode end = ExitCode::kOk;
  for (std::size_t kind = 0; kind < kills.size(); ++kind) {
    if (kills[kind] == 0) continue;
    config.progress = [&](const std::string& at) {
      if (live) fmt::print(stderr, "\r\033[K{}: {}", kNames[kind], at);
    };
    const auto outcome = drill::run_drill(static_cast<drill::Kind>(kind), kills[kind], config);
    if (live) fmt::print(stderr, "\r\033[K");
    if (!outcome) {
      complain(fmt::format("{}: {}", kNames[kind], outcome.error()));
      return ExitCode::kFailed;
    }
    print_now(wants_json(context) ? json(*outcome) : row(*outcome));
    if (outcome->lost + outcome->overlaps > 0) end = ExitCode::kFailed;
  }
  return end;
}

}  // namespace

void add_drill(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command(
      "drill",
      "Kill workers or leaders of a throw-away cluster and measure how long recovery takes");
  command.group(kOperate);
  auto flags = std::make_shared<DrillFlags>();
  command.option("--workers", flags->workers, "Worker processes to kill (0: none)").shows_default();
  command.option("--hosts", flags->hosts, "Supervisors to kill together with their workers")
      .shows_default();
  command.option("--freezes", flags->freezes, "Workers to freeze; each takes a full lease")
      .shows_default();
  command
      .option("--controllers", flags->controllers,
              "Instead of workers, kill and freeze the leader of this many controllers and restart "
              "their PostgreSQL")
      .between(2, 9);
  command.option("--leader-kills", flags->leader_kills, "With --controllers: leaders to kill")
      .shows_default();
  command
      .option("--leader-freezes", flags->leader_freezes,
              "With --controllers: leaders to freeze; each takes a full lease")
      .shows_default();
  command
      .option("--database-restarts", flags->database_restarts,
              "With --controllers: restarts of the database")
      .shows_default();
  command.example(
      "vortex drill\n"
      "vortex drill --workers 20 --hosts 0 --freezes 3 --tuning=testing\n"
      "vortex drill --controllers 3");
  command.on_chosen(chosen, [flags](Context& context) { return run(context, *flags); });
}

}  // namespace vortex::cli
