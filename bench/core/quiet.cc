#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "bench/core/fleet.h"
#include "bench/core/measures.h"
#include "bench/core/shapes.h"

namespace vortex::bench {

namespace {

constexpr std::uint32_t kFewWorkers = 16;
constexpr double kAimTickRatio = 1.5;  // what is left is noise
constexpr int kTickLaps = 21;
constexpr int kTicksPerLap = 2'000;
constexpr int kHeartbeatLaps = 5;
constexpr std::uint32_t kHeldEach = 10;

double idle_tick_ns(MeasuredCore& core) {
  std::vector<double> laps;
  for (int lap = 0; lap < kTickLaps; ++lap) {
    core.watch().begin_lap();
    for (int i = 0; i < kTicksPerLap; ++i) core.apply(core::Tick{});
    laps.push_back(core.watch().lap().cpu_ns / kTicksPerLap);
  }
  return *std::min_element(laps.begin(), laps.end());
}

struct TickResult {
  double tick_ns = 0;
  double bytes_running = 0;  // per task
};

// All tasks are running, so each has a deadline that must not be looked at.
TickResult tick_with(std::uint32_t tasks, std::uint32_t workers) {
  MeasuredCore core;
  Fleet fleet(core, {workers, (tasks + workers - 1) / workers});
  const Shape shape = make_shape(ShapeKind::kMap, tasks);
  const std::int64_t before = heap_bytes();
  submit(core, shape);
  fleet.start_tasks(tasks);
  const double ns = idle_tick_ns(core);
  return {ns, static_cast<double>(heap_bytes() - before) / tasks};
}

void tick_row(Sheet& sheet, std::uint32_t tasks, std::uint32_t workers, double ns,
              const std::string& key) {
  sheet.row({fmt::format("{} running", tasks), std::to_string(workers), sheet.figure(key, ns)});
}

struct Beat {
  std::string name;
  std::string key;
  Duration wait;
  std::uint32_t held = 0;  // by each worker
};

// One round: every worker calls once, and the polls that are held back come due.
double heartbeat_ns(const Beat& beat, std::uint32_t workers) {
  MeasuredCore core;
  Fleet fleet(core, {workers, std::max(beat.held, 1U)});
  if (beat.held > 0) {
    const Shape shape = make_shape(ShapeKind::kMap, workers * beat.held);
    submit(core, shape);
    fleet.start_tasks(shape.tasks);
  }
  core.let_pass(seconds(11));
  std::vector<double> laps;
  for (int lap = 0; lap <= kHeartbeatLaps; ++lap) {
    core.watch().begin_lap();
    for (std::uint32_t worker = 0; worker < workers; ++worker) fleet.heartbeat(worker, beat.wait);
    core.let_pass(seconds(10));
    if (lap > 0) laps.push_back(core.watch().lap().cpu_ns / workers);
  }
  return undisturbed(laps);
}

}  // namespace

void measure_idle_ticks(Sheet& sheet, const Scale& scale) {
  sheet.title("A tick with nothing due, nanoseconds");
  sheet.columns({"tasks", "workers", "tick"});
  double first = 0;
  double worst = 0;
  double bytes = 0;
  for (const std::uint32_t tasks : scale.live_tasks) {
    const TickResult result = tick_with(tasks, kFewWorkers);
    if (first == 0) first = result.tick_ns;
    worst = std::max(worst, result.tick_ns);
    bytes = result.bytes_running;
    tick_row(sheet, tasks, kFewWorkers, result.tick_ns, fmt::format("tick_idle_ns_{}", tasks));
  }
  const TickResult many = tick_with(scale.live_tasks.back(), scale.workers);
  worst = std::max(worst, many.tick_ns);
  tick_row(sheet, scale.live_tasks.back(), scale.workers, many.tick_ns,
           fmt::format("tick_idle_ns_{}_workers", scale.workers));
  sheet.row(
      {"slowest over smallest", "", sheet.figure("tick_idle_ratio", worst / first, kAimTickRatio)});
  sheet.row({"bytes per running task", "", sheet.figure("bytes_per_running_task_map", bytes)});
}

void measure_heartbeats(Sheet& sheet, const Scale& scale) {
  sheet.title(fmt::format("Heartbeats of {} workers, nanoseconds each", scale.workers));
  sheet.columns({"call", "heartbeat"});
  const std::vector<Beat> beats{
      {"answered at once", "heartbeat_ns_plain", Duration{}, 0},
      {"poll held back, then due", "heartbeat_ns_parked", seconds(9), 0},
      {"the same, 10 tasks held", "heartbeat_ns_parked_holding_10", seconds(9), kHeldEach},
  };
  for (const Beat& beat : beats) {
    sheet.row({beat.name, sheet.figure(beat.key, heartbeat_ns(beat, scale.workers))});
  }
}

}  // namespace vortex::bench
