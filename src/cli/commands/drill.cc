// vortex drill: kills workers on purpose and prints how long their work was
// away.
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
#include "cli/screen/human.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

struct DrillFlags {
  std::uint32_t workers = 50;
  std::uint32_t hosts = 10;
  std::uint32_t freezes = 1;
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

ExitCode run(const Context& context, const DrillFlags& flags) {
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
      "drill", "Kill workers of a throw-away cluster and measure how long recovery takes");
  command.group(kOperate);
  auto flags = std::make_shared<DrillFlags>();
  command.option("--workers", flags->workers, "Worker processes to kill (0: none)").shows_default();
  command.option("--hosts", flags->hosts, "Supervisors to kill together with their workers")
      .shows_default();
  command.option("--freezes", flags->freezes, "Workers to freeze; each takes a full lease")
      .shows_default();
  command.example(
      "vortex drill\n"
      "vortex drill --workers 20 --hosts 0 --freezes 3 --tuning=testing");
  command.on_chosen(chosen, [flags](Context& context) { return run(context, *flags); });
}

}  // namespace vortex::cli
