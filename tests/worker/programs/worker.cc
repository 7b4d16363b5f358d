// A worker process that runs one command on each of its slots until it is killed.
//
// worker <runner> <work_dir> <state_dir or -> <auto|tree> <slots> <command...>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "worker/executor.h"
#include "worker/leftovers.h"
#include "worker/own_folder.h"

namespace vortex::worker {
namespace {

class NoSink : public LogSink {
 public:
  void write(Attempt, std::string_view bytes) override {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    std::fflush(stdout);
  }
  void close(Attempt, std::function<void()> flushed) override { flushed(); }
};

int run(int argc, char** argv) {
  if (argc < 7) return 2;
  ExecutorConfig config;
  config.runner = {argv[1]};
  config.work_dir = argv[2];
  config.containment =
      std::string_view(argv[4]) == "tree" ? Containment::kTreeOnly : Containment::kAuto;
  config.slots = static_cast<std::uint32_t>(std::atoi(argv[5]));
  config.group = {.supervisor = "test-helper", .worker = "w"};
  std::optional<SupervisorFolder> folder;
  if (std::string_view(argv[3]) != "-") {
    auto opened = SupervisorFolder::open(
        {.state_dir = argv[3], .name = "test-helper", .containment = config.containment});
    if (!opened) return 3;
    folder.emplace(std::move(*opened));
    config.record_path = folder->record_path("w");
    config.group.supervisor = work_folder_name(config.group.supervisor, folder->life());
  }
  boost::asio::io_context io;
  NoSink sink;
  Executor executor(io, config, sink, [](const agent::Input&) {});
  for (std::uint32_t i = 0; i < config.slots; ++i) {
    Launch launch;
    launch.attempt = {.task = {.run = {1}, .index = i}, .epoch = {1}};
    launch.argv.assign(argv + 6, argv + argc);
    executor.start(std::move(launch));
  }
  for (const pid_t pid : executor.runner_pids()) std::printf("runner %d\n", pid);
  std::fflush(stdout);
  io.run();
  return 0;
}

}  // namespace
}  // namespace vortex::worker

int main(int argc, char** argv) { return vortex::worker::run(argc, argv); }
