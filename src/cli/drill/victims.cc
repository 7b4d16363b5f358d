#include "cli/drill/victims.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "codec/dag_json.h"

namespace vortex::cli::drill {

namespace {

constexpr auto kLook = std::chrono::milliseconds(1);

}  // namespace

const char* const kStartLine =
    "now=$(date +%s%N)\n"
    "file=\"$STARTS/$VORTEX_TASK_ID\"\n"
    "old=$(tail -n 1 \"$file\" 2>/dev/null | cut -d ' ' -f 2)\n"
    "found=gone\n"
    "if [ -n \"$old\" ] && kill -0 \"$old\" 2>/dev/null; then found=alive; fi\n"
    "echo \"$VORTEX_EPOCH $$ $VORTEX_WORKER_PID $now $found $VORTEX_WORKER\" >> \"$file\"\n";

std::string victims_dag(const std::string& folder, std::uint32_t tasks) {
  NodeSpec node;
  node.name = "victim";
  node.command.shell = {"sh", "-c"};
  node.command.argv = {std::string(kStartLine) + "exec sleep 100000\n"};
  node.command.env = {{"STARTS", folder}};
  MapSpec map;
  map.over = MapRange{1, tasks, 1};
  node.map = map;
  DagSpec dag;
  dag.name = "drill";
  dag.nodes.push_back(std::move(node));
  return codec::write_dag(dag);
}

Victims::Victims(std::string folder, std::string run, std::uint32_t tasks)
    : folder_(std::move(folder)), run_(std::move(run)), tasks_(tasks) {}

std::vector<TaskStart> Victims::starts(std::uint32_t task) const {
  std::ifstream file(fmt::format("{}/{}-L0-{}", folder_, run_, task));
  std::vector<TaskStart> all;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    TaskStart start;
    std::int64_t nanos = 0;
    std::string found;
    // A line that is being written is not there yet.
    if (!(fields >> start.epoch >> start.pid >> start.worker_pid >> nanos >> found >>
          start.worker)) {
      break;
    }
    start.at = Instant{nanos / 1'000};
    start.overlapped = found == "alive";
    all.push_back(std::move(start));
  }
  return all;
}

std::optional<TaskStart> Victims::newest(std::uint32_t task) const {
  auto all = starts(task);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

std::optional<TaskStart> Victims::wait_for_later(std::uint32_t task, std::uint64_t epoch,
                                                 Duration limit) const {
  const Instant until = boot_clock_now() + limit;
  do {
    auto last = newest(task);
    if (last && last->epoch > epoch) return last;
    std::this_thread::sleep_for(kLook);
  } while (boot_clock_now() < until);
  return std::nullopt;
}

}  // namespace vortex::cli::drill
