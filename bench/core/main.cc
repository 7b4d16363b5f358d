// bench_core [--quick]: what the pure core costs, from 1,000 to 1,000,000 live tasks.
//
// Prints tables and closes with one line of JSON. Figures that miss an aim are marked; the exit
// status tells only whether the measurement itself worked.
// Proves: V12

#include <cstdio>
#include <string_view>

#include <fmt/core.h>

#include "bench/core/measures.h"

namespace {

constexpr std::string_view kUsage =
    "bench_core [--quick]\n"
    "  --quick   sizes up to 10,000: shows that everything works, in seconds\n";

vortex::bench::Scale full_scale() { return {{1'000, 100'000, 1'000'000}, 10'000, 2'000'000}; }
vortex::bench::Scale quick_scale() { return {{1'000, 10'000}, 500, 40'000}; }

}  // namespace

int main(int argc, char** argv) {
  auto scale = full_scale();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      scale = quick_scale();
      continue;
    }
    const bool help = argument == "-h" || argument == "--help";
    fmt::print(help ? stdout : stderr, "{}", kUsage);
    return help ? 0 : 2;
  }
  vortex::bench::Sheet sheet;
  measure_lives(sheet, scale);
  measure_growth(sheet, scale);
  measure_single_reports(sheet, scale);
  measure_idle_ticks(sheet, scale);
  measure_heartbeats(sheet, scale);
  measure_reclaim(sheet, scale);
  measure_awkward(sheet, scale);
  sheet.print_json();
  return 0;
}
