#pragma once
// A PostgreSQL server of our own on this machine, in a folder that keeps its data: for `dev`,
// `drill` and tests.
//
// It does not run as root: then it runs as the user `postgres`. Its socket is in a folder that only
// that user can enter, and without `tcp` there is no other way in, so it needs no passwords. The
// server ends with the object and with this program, however that ends. One thread at a time.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace vortex::cli::local {

struct PostgresConfig {
  std::string folder;   // `data` and `server.log` in it; made if it does not exist
  std::string sockets;  // empty: a new folder below /tmp, since their paths must be short
  bool tcp = false;     // also on a free port of the loopback, to everybody on this machine
  bool durable = true;  // false: nothing is synced; for tests
  std::vector<std::string> settings;  // more of them, each as name=value
};

class PostgresServer {
 public:
  // Returns when it accepts connections. The error is for people.
  static std::expected<std::unique_ptr<PostgresServer>, std::string> start(PostgresConfig config);
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  std::string url() const;  // for database.url, by the socket
  const std::string& sockets() const { return config_.sockets; }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return server_; }
  std::string log() const { return config_.folder + "/server.log"; }
  bool is_alive();

  enum class Stop : std::uint8_t { kFast, kImmediate };
  void stop(Stop how = Stop::kFast);
  std::expected<void, std::string> start_again();

 private:
  explicit PostgresServer(PostgresConfig config) : config_(std::move(config)) {}
  std::expected<void, std::string> prepare();
  std::expected<void, std::string> make_data();
  std::expected<void, std::string> wait_until_ready();

  PostgresConfig config_;
  std::string programs_;
  std::uint16_t port_ = 0;
  pid_t server_ = -1;
  bool owns_sockets_ = false;
};

}  // namespace vortex::cli::local
