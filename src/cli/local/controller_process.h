#pragma once
// A controller in a process of its own, for measuring and for killing: started from this very
// program on a folder and a port of its own.
//
// The destructor ends it by its process id. What it says goes into `controller.log` in its folder.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"
#include "cli/local/folder.h"
#include "cli/local/process.h"

namespace vortex::cli::local {

struct ControllerConfig {
  std::string program;  // empty: this very program
  std::string folder;
  std::uint16_t port = 0;  // 0: a free one is chosen
  std::vector<std::string> flags;
  std::vector<std::string> environment;  // NAME=value, besides our own
};

class ControllerProcess {
 public:
  // Returns when it answers /readyz, or tells why it does not.
  static std::expected<std::unique_ptr<ControllerProcess>, std::string> start(
      ControllerConfig config, Duration limit = seconds(60));
  ~ControllerProcess() = default;
  ControllerProcess(const ControllerProcess&) = delete;
  ControllerProcess& operator=(const ControllerProcess&) = delete;

  std::uint16_t port() const { return config_.port; }
  const std::string& folder() const { return config_.folder; }
  std::string database() const { return config_.folder + "/vortex.db"; }
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  ProcessUse use() const { return use_of(pid()); }
  bool is_alive() { return process_ && process_->is_alive(); }
  void kill_now() { process_->kill_now(); }  // SIGKILL, and waits for its end
  int stop() { return process_->stop(); }    // SIGTERM; its exit code, or 128 + signal

 private:
  explicit ControllerProcess(ControllerConfig config) : config_(std::move(config)) {}
  std::expected<void, std::string> spawn();
  std::expected<void, std::string> wait_ready(Duration limit);

  ControllerConfig config_;
  std::unique_ptr<Process> process_;
};

}  // namespace vortex::cli::local
