#pragma once
// A private PostgreSQL for tests: a new cluster in a temporary folder, on a socket there and on a
// free port of the loopback, ended with the program however it ends.
//
// The server does not run as root: then it runs as the user `postgres`. Nothing is synced unless
// asked for. One thread at a time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "cli/local/postgres/server.h"

namespace vortex::testing {

struct ClusterOptions {
  bool durable = false;               // with fsync
  std::vector<std::string> settings;  // more of them, each as name=value
};

class PostgresCluster {
 public:
  explicit PostgresCluster(ClusterOptions options = {});
  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;
  PostgresCluster(PostgresCluster&&) = delete;
  PostgresCluster& operator=(PostgresCluster&&) = delete;

  // One for the whole program; started at the first call.
  static PostgresCluster& shared();

  // A connection string for a new schema; a database is one schema to vortex.
  std::string new_schema();
  // The same, and its TCP port instead of the socket.
  std::string url(const std::string& schema, std::uint16_t port) const;
  std::string url() const;  // of the database as a whole

  std::uint16_t port() const { return server_->port(); }
  pid_t pid() const { return server_->pid(); }

  void start();
  using Stop = cli::local::PostgresServer::Stop;
  void stop(Stop how = Stop::kFast) { server_->stop(how); }

  // Runs a statement as a superuser; the first column of its first row.
  std::string ask(const std::string& sql) const;

 private:
  std::filesystem::path folder_;
  std::unique_ptr<cli::local::PostgresServer> server_;
  int schemas_ = 0;
};

}  // namespace vortex::testing
