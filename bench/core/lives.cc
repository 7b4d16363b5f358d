#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "bench/core/fleet.h"
#include "bench/core/measures.h"
#include "bench/core/shapes.h"

namespace vortex::bench {

namespace {

constexpr double kAimLifeUs = 10;
constexpr double kAimMapBytes = 400;
constexpr std::uint32_t kLapsMax = 400;

std::uint32_t laps_for(std::uint32_t tasks, const Scale& scale) {
  return std::clamp(scale.lives_per_size / tasks, 4U, kLapsMax);
}

struct Lives {
  std::vector<double> submit_us;  // per task, one for each lap
  std::vector<double> work_us;
  std::vector<double> life_us;
  std::vector<double> wall_us;
  double bytes_queued = 0;  // per task
  double tasks_per_call = 0;

  void add(Cost submit, Cost work, double tasks) {
    submit_us.push_back(submit.cpu_ns / tasks / 1000);
    work_us.push_back(work.cpu_ns / tasks / 1000);
    life_us.push_back(submit_us.back() + work_us.back());
    wall_us.push_back((submit.wall_ns + work.wall_ns) / tasks / 1000);
  }
};

// Laps on one core, each of fresh runs; the first one only warms up and is weighed.
void run_laps(const Shape& shape, FleetSize size, std::uint32_t laps, Lives& lives) {
  MeasuredCore core;
  Fleet fleet(core, size);
  const auto tasks = static_cast<double>(shape.tasks);
  for (std::uint32_t lap = 0; lap <= laps; ++lap) {
    const std::int64_t bytes_before = lap == 0 ? heap_bytes() : 0;
    core.watch().begin_lap();
    submit(core, shape);
    const Cost submit_cost = core.watch().lap();
    if (core.state().tasks.live() != shape.tasks) give_up("not all submitted tasks are live");
    if (lap == 0) lives.bytes_queued = static_cast<double>(heap_bytes() - bytes_before) / tasks;
    const std::uint64_t calls_before = fleet.calls();
    core.watch().begin_lap();
    fleet.work_off(shape.tasks);
    core.finish_bulk();
    const Cost work_cost = core.watch().lap();
    if (core.state().tasks.live() != 0) give_up("completed tasks are still live");
    lives.tasks_per_call = tasks / static_cast<double>(fleet.calls() - calls_before);
    fleet.rest();
    if (lap > 0) lives.add(submit_cost, work_cost, tasks);
  }
}

void show(Sheet& sheet, const std::string& label, const std::string& key, const Lives& lives) {
  sheet.row({label, short_number(undisturbed(lives.submit_us)),
             short_number(undisturbed(lives.work_us)),
             sheet.figure("life_us_" + key, undisturbed(lives.life_us), kAimLifeUs),
             short_number(median(lives.wall_us)), short_number(lives.tasks_per_call),
             short_number(lives.bytes_queued)});
}

void show_columns(Sheet& sheet, const std::string& first) {
  sheet.columns({first, "submit", "assign to end", "life", "wall, median", "tasks per call",
                 "bytes per task"});
}

}  // namespace

void measure_lives(Sheet& sheet, const Scale& scale) {
  sheet.title("A task's life in the core, microseconds of processor time per task");
  show_columns(sheet, "shape, live tasks");
  for (const ShapeKind kind : kShapes) {
    const std::string name(to_text(kind));
    for (const std::uint32_t tasks : scale.live_tasks) {
      Lives lives;
      run_laps(make_shape(kind, tasks), fleet_for(kind), laps_for(tasks, scale), lives);
      if (tasks == scale.live_tasks.back()) {
        const auto aim = kind == ShapeKind::kMap ? std::optional(kAimMapBytes) : std::nullopt;
        sheet.figure("bytes_per_live_task_" + name, lives.bytes_queued, aim);
      }
      show(sheet, fmt::format("{} {}", name, tasks), fmt::format("{}_{}", name, tasks), lives);
    }
  }
}

void measure_single_reports(Sheet& sheet, const Scale& scale) {
  const std::uint32_t tasks = scale.live_tasks[1];
  sheet.title(fmt::format("A life in a map of {}, one start and one end per call", tasks));
  show_columns(sheet, "tasks held by each worker");
  for (const std::uint32_t slots : {1U, 16U, 64U, 256U}) {
    Lives lives;
    run_laps(make_shape(ShapeKind::kMap, tasks), {16, slots, 1}, 3, lives);
    show(sheet, std::to_string(slots), fmt::format("single_report_{}_held", slots), lives);
  }
}

}  // namespace vortex::bench
