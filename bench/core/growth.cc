#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "bench/core/fleet.h"
#include "bench/core/measures.h"
#include "bench/core/shapes.h"

namespace vortex::bench {

namespace {

constexpr double kAimGrowth = 2;
constexpr std::uint32_t kLaps = 3;

class Side {
 public:
  Side(ShapeKind kind, std::uint32_t tasks)
      : shape_(make_shape(kind, tasks)), fleet_(core_, fleet_for(kind)) {}

  std::uint32_t tasks() const { return shape_.tasks; }

  // Microseconds per task.
  double submit_all() {
    left_ = shape_.tasks;
    core_.watch().begin_lap();
    submit(core_, shape_);
    return core_.watch().lap().cpu_ns / shape_.tasks / 1000;
  }
  double work_off(std::uint32_t tasks) {
    core_.watch().begin_lap();
    const std::uint32_t done = fleet_.work_off(tasks);
    const double us = core_.watch().lap().cpu_ns / done / 1000;
    left_ -= std::min(done, left_);
    if (left_ == 0) fleet_.rest();
    return us;
  }
  std::uint32_t left() const { return left_; }
  double whole_life() { return submit_all() + work_off(shape_.tasks); }

 private:
  Shape shape_;
  MeasuredCore core_;
  Fleet fleet_;
  std::uint32_t left_ = 0;  // of the submitted tasks
};

// The first lap only brings the side back into the caches.
template <class Lap>
double median_lap(const Lap& lap) {
  lap();
  std::vector<double> laps;
  for (std::uint32_t i = 0; i < kLaps; ++i) laps.push_back(lap());
  return median(laps);
}

// A shared machine changes its pace from second to second. So lives among few and among many tasks
// are measured in turns, in laps of the same number of tasks, and the growth is the median over all
// pairs of neighbours.
double growth_of(ShapeKind kind, const Scale& scale) {
  Side few(kind, scale.live_tasks.front());
  Side many(kind, scale.live_tasks.back());
  many.whole_life();
  const double submit_us = many.submit_all();
  std::vector<double> ratios;
  while (many.left() > (kLaps + 1) * few.tasks() * 2) {
    const double among_few = median_lap([&] { return few.whole_life(); });
    const double work = median_lap([&] { return many.work_off(few.tasks()); });
    ratios.push_back((submit_us + work) / among_few);
  }
  return median(ratios);
}

}  // namespace

void measure_growth(Sheet& sheet, const Scale& scale) {
  sheet.title(fmt::format("Growth of a life from {} to {} live tasks, measured in turns",
                          scale.live_tasks.front(), scale.live_tasks.back()));
  sheet.columns({"shape", "growth"});
  for (const ShapeKind kind : kShapes) {
    const std::string name(to_text(kind));
    sheet.row({name, sheet.figure("growth_" + name, growth_of(kind, scale), kAimGrowth)});
  }
}

}  // namespace vortex::bench
