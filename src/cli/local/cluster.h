#pragma once
// A whole vortex on this machine in a folder of its own: one controller and supervised workers.
//
// For `dev`, `drill` and the benches with real processes. Stops in order: workers first, so that
// they can say goodbye, then the controller. What the parts say goes into files in the folder.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/local/controller_process.h"
#include "cli/local/process.h"
#include "net/client.h"

namespace vortex::cli::local {

struct ClusterConfig {
  std::string program;     // empty: this very program
  std::string folder;      // database, logs, files of tasks
  std::uint16_t port = 0;  // 0: a free one is chosen
  std::uint32_t supervisors = 1;
  std::uint32_t workers = 2;              // of each supervisor
  std::uint32_t slots = 4;                // of each worker
  std::string workdir;                    // in which tasks run; empty: ours
  std::vector<std::string> settings;      // --section.key=value, for all parts
  std::vector<std::string> worker_flags;  // for the workers alone
};

class Cluster {
 public:
  // Returns when the controller serves and all workers are registered. The error is for people.
  static std::expected<std::unique_ptr<Cluster>, std::string> start(ClusterConfig config);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::string url() const;
  net::Endpoint endpoint() const;
  const std::string& folder() const { return config_.folder; }
  ControllerProcess& controller() { return *controller_; }
  Process& supervisor(std::size_t index) { return *supervisors_[index]; }
  std::size_t supervisors() const { return supervisors_.size(); }
  std::expected<void, std::string> start_supervisor(std::size_t index);
  // What ended although nobody asked; empty: all is well.
  std::string trouble();
  void stop();

 private:
  explicit Cluster(ClusterConfig config) : config_(std::move(config)) {}
  std::expected<void, std::string> start_controller();
  std::expected<void, std::string> wait_for_workers();
  std::string supervisor_log(std::size_t index) const;

  ClusterConfig config_;
  std::unique_ptr<ControllerProcess> controller_;
  std::vector<std::unique_ptr<Process>> supervisors_;
};

}  // namespace vortex::cli::local
