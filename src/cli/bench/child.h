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

namespace vortex::cli::bench {

struct ChildConfig {
  std::string program;  // empty: this very program
  std::string folder;
  std::uint16_t port = 0;  // 0: a free one is chosen
  std::vector<std::string> flags;
  std::vector<std::string> environment;  // NAME=value, besides our own
};

struct ProcessUse {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t resident_bytes_max = 0;
};

class Child {
 public:
  // Returns when it answers /readyz, or tells why it does not.
  static std::expected<std::unique_ptr<Child>, std::string> start(ChildConfig config,
                                                                  Duration limit = seconds(60));
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::uint16_t port() const { return config_.port; }
  const std::string& folder() const { return config_.folder; }
  std::string database() const { return config_.folder + "/vortex.db"; }
  pid_t pid() const { return pid_; }
  ProcessUse use() const;
  bool is_alive();
  void kill_now();  // SIGKILL, and waits for its end
  int stop();       // SIGTERM; its exit code, or 128 + signal

 private:
  explicit Child(ChildConfig config) : config_(std::move(config)) {}
  std::expected<void, std::string> spawn();
  std::expected<void, std::string> wait_ready(Duration limit);
  int reap();

  ChildConfig config_;
  pid_t pid_ = -1;
  int status_ = 0;
};

// A port on loopback that is free now.
std::uint16_t free_port();
// A new folder below the system's temporary one; removed with the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace vortex::cli::bench
