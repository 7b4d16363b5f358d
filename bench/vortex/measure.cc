#include "bench/vortex/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

namespace vortex::cli::bench {

void Samples::add(Duration sample) {
  const std::scoped_lock lock(guard_);
  samples_.push_back(sample);
}

std::size_t Samples::size() const {
  const std::scoped_lock lock(guard_);
  return samples_.size();
}

Duration Samples::percentile(std::uint32_t permille) const {
  const std::scoped_lock lock(guard_);
  if (samples_.empty()) return {};
  std::ranges::sort(samples_);
  const std::size_t at = std::min(samples_.size() - 1, samples_.size() * permille / 1000);
  return samples_[at];
}

void rest(Duration time) { std::this_thread::sleep_for(std::chrono::microseconds(time.us)); }

double seconds_of(Duration time) { return static_cast<double>(time.us) / 1e6; }

double own_cpu_seconds() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

MachineTime machine_time() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, stolen = 0;
  file >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> stolen;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {.busy_seconds = (user + nice + system + irq + softirq) / ticks,
          .idle_seconds = (idle + waiting) / ticks,
          .stolen_seconds = stolen / ticks};
}

MachineTime operator-(const MachineTime& later, const MachineTime& earlier) {
  return {.busy_seconds = later.busy_seconds - earlier.busy_seconds,
          .idle_seconds = later.idle_seconds - earlier.idle_seconds,
          .stolen_seconds = later.stolen_seconds - earlier.stolen_seconds};
}

double metric(std::string_view text, std::string_view name) {
  std::size_t at = 0;
  while ((at = text.find(name, at)) != std::string_view::npos) {
    const bool line_start = at == 0 || text[at - 1] == '\n';
    const std::size_t end = at + name.size();
    if (line_start && end < text.size() && text[end] == ' ') {
      return std::strtod(std::string(text.substr(end + 1, 32)).c_str(), nullptr);
    }
    at = end;
  }
  return 0;
}

}  // namespace vortex::cli::bench
