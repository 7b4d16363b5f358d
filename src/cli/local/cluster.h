#pragma once
// A whole vortex on this machine in a folder of its own: controllers, supervised workers and, for
// several controllers, a PostgreSQL server.
//
// For `dev`, `drill` and the benches with real processes. Stops in order: workers first, so that
// they can say goodbye, then the controllers, then the database. What the parts say goes into files
// in the folder.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/time.h"
#include "cli/local/folder.h"
#include "cli/local/postgres/server.h"
#include "cli/local/process.h"
#include "net/client.h"

namespace vortex::cli::local {

// A controller in a process of its own, for measuring and for killing: started from this very
// program on a folder and a port of its own.
//
// The destructor ends it by its process id. What it says goes into its log.

struct ControllerConfig {
  std::string program;  // empty: this very program
  std::string folder;
  std::string log = "controller.log";  // in the folder
  std::uint16_t port = 0;              // 0: a free one is chosen
  std::vector<std::string> flags;
  std::vector<std::string> environment;  // NAME=value, besides our own
  bool tokens = false;                   // requires them, as it would by itself
  bool secured = false;                  // TLS with a CA of its own, and tokens
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
  // How to reach it: with its CA if it is secured, and an admin's token if it asks for one.
  const net::ClientConfig& client() const { return client_; }
  const std::string& folder() const { return config_.folder; }
  std::string database() const { return config_.folder + "/vortex.db"; }
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  ProcessUse use() const { return use_of(pid()); }
  bool is_alive() { return process_ && process_->is_alive(); }
  void signal(int number) { process_->signal(number); }
  void kill_now() { process_->kill_now(); }  // SIGKILL, and waits for its end
  int stop() { return process_->stop(); }    // SIGTERM; its exit code, or 128 + signal
  std::string log() const { return config_.folder + "/" + config_.log; }

 private:
  explicit ControllerProcess(ControllerConfig config) : config_(std::move(config)) {}
  std::expected<void, std::string> secure();
  std::expected<void, std::string> spawn();
  std::expected<void, std::string> wait_ready(Duration limit);

  ControllerConfig config_;
  net::ClientConfig client_;
  std::unique_ptr<Process> process_;
};

struct ClusterConfig {
  std::string program;     // empty: this very program
  std::string folder;      // database, logs, files of tasks
  std::uint16_t port = 0;  // of the first controller; 0: free ones are chosen
  std::uint32_t controllers = 1;
  bool postgres = false;  // a server of its own instead of a file; several controllers need it
  std::uint32_t supervisors = 1;
  std::uint32_t workers = 2;              // of each supervisor
  std::uint32_t slots = 4;                // of each worker
  std::string workdir;                    // in which tasks run; empty: ours
  std::vector<std::string> settings;      // --section.key=value, for all parts
  std::vector<std::string> worker_flags;  // for the workers alone
  bool tokens = true;                     // false: everybody on this machine may use it
  bool secured = false;                   // TLS and tokens everywhere
};

class Cluster {
 public:
  // Returns when all controllers serve and all workers are registered. The error is for people.
  static std::expected<std::unique_ptr<Cluster>, std::string> start(ClusterConfig config);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::string url() const;   // of the first controller
  std::string urls() const;  // of all, separated by commas
  net::Endpoint endpoint() const;
  const net::ClientConfig& client() const { return controllers_.front()->client(); }
  const std::string& folder() const { return config_.folder; }
  ControllerProcess& controller(std::size_t index = 0) { return *controllers_[index]; }
  std::size_t controllers() const { return controllers_.size(); }
  // On the port of the one that was there; returns when it is ready.
  std::expected<void, std::string> start_controller_again(std::size_t index);
  PostgresServer* postgres() { return postgres_.get(); }  // null: a file
  Process& supervisor(std::size_t index) { return *supervisors_[index]; }
  std::size_t supervisors() const { return supervisors_.size(); }
  std::expected<void, std::string> start_supervisor(std::size_t index);
  // Starts a database that ended by itself again; what happened, for people; empty: nothing. The
  // error: it does not start any more, or ends again and again.
  std::expected<std::string, std::string> revive_postgres();
  // What ended although nobody asked; empty: all is well.
  std::string trouble();
  void stop();

 private:
  explicit Cluster(ClusterConfig config) : config_(std::move(config)) {}
  std::expected<void, std::string> start_postgres();
  std::expected<std::unique_ptr<ControllerProcess>, std::string> start_controller(
      std::size_t index, std::uint16_t port) const;
  std::expected<void, std::string> start_controllers();
  std::expected<void, std::string> wait_for_workers();
  std::string supervisor_log(std::size_t index) const;

  ClusterConfig config_;
  std::unique_ptr<PostgresServer> postgres_;
  std::vector<Instant> revivals_;  // of late
  std::vector<std::unique_ptr<ControllerProcess>> controllers_;
  std::vector<std::unique_ptr<Process>> supervisors_;
};

}  // namespace vortex::cli::local
