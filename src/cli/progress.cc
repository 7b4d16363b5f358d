#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/run_summary.h"
#include "cli/run_watch.h"

namespace vortex::cli {
namespace {

// Above this many tasks each read of all of them would take too long: one bar for everything.
constexpr std::uint32_t kTasksByNodeMax = 20'000;

void say_it_goes_on(const std::string& run, ExitCode why) {
  if (why == ExitCode::kInterrupted) {
    return talk(fmt::format("The run continues. Watch it again with:  vortex runs watch {}", run));
  }
  complain(fmt::format("run {} has not ended in time and continues", run),
           fmt::format("watch it again with `vortex runs watch {}`", run));
}

}  // namespace

ExitCode watch_run(const Context& context, ApiClient& api, const std::string& run,
                   const WatchOptions& options) {
  const auto plan = fetch_plan(api, run);
  if (!plan) return report(plan.error());
  const auto detail = (*plan)->tasks > kTasksByNodeMax ? ProgressModel::Detail::kWhole
                                                       : ProgressModel::Detail::kByNode;
  ProgressModel model(*plan, detail);
  ProgressScreen screen = ProgressScreen::for_context(context);
  if (options.view == WatchView::kSilent) {
    screen = ProgressScreen(ProgressScreen::Kind::kNone, screen.look());
  }
  RunWatch watch(api, screen, run, options.limit);
  const ExitCode code = watch.watch(model);
  if (watch.failure()) return report(*watch.failure());
  screen.finish(model, wall_clock_now());
  const bool stays = code == ExitCode::kInterrupted || code == ExitCode::kWaitTimedOut;
  if (stays) {
    say_it_goes_on(run, code);
  } else if (!context.quiet && options.view == WatchView::kShown) {
    fmt::print(stderr, "{}", run_summary(api, watch.run(), **plan, screen.look()));
  }
  return code;
}

}  // namespace vortex::cli
