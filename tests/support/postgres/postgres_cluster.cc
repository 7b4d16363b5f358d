#include "tests/support/postgres/postgres_cluster.h"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

namespace vortex::testing {
namespace {

[[noreturn]] void cluster_fails(const std::string& why) {
  throw std::runtime_error("PostgreSQL for tests: " + why);
}

std::filesystem::path quick_root() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

}  // namespace

PostgresCluster::PostgresCluster(ClusterOptions options) {
  const auto root = options.durable ? std::filesystem::temp_directory_path() : quick_root();
  std::string form = (root / "vortex-test-pg-XXXXXX").string();
  if (::mkdtemp(form.data()) == nullptr) cluster_fails("no temporary folder");
  folder_ = form;
  auto server = cli::local::PostgresServer::start({.folder = form + "/server",
                                                   .sockets = {},
                                                   .tcp = true,
                                                   .durable = options.durable,
                                                   .settings = std::move(options.settings)});
  if (!server) cluster_fails(server.error());
  server_ = *std::move(server);
}

PostgresCluster::~PostgresCluster() {
  stop(Stop::kImmediate);
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

PostgresCluster& PostgresCluster::shared() {
  static PostgresCluster cluster;
  return cluster;
}

void PostgresCluster::start() {
  if (auto started = server_->start_again(); !started) cluster_fails(started.error());
}

std::string PostgresCluster::url() const { return server_->url(); }

std::string PostgresCluster::new_schema() {
  const std::string schema = fmt::format("t{}", ++schemas_);
  ask("CREATE SCHEMA " + schema);
  return fmt::format("{} options=-csearch_path={}", url(), schema);
}

std::string PostgresCluster::url(const std::string& schema, std::uint16_t port) const {
  return fmt::format("postgresql://vortex@127.0.0.1:{}/postgres?options=-csearch_path%3D{}", port,
                     schema);
}

std::string PostgresCluster::ask(const std::string& sql) const {
  PGconn* db = PQconnectdb(url().c_str());
  PGresult* result = PQexec(db, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  const std::string failure = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
                                  ? std::string{}
                                  : std::string(PQerrorMessage(db));
  std::string answer;
  if (PQntuples(result) > 0 && PQnfields(result) > 0) answer = PQgetvalue(result, 0, 0);
  PQclear(result);
  PQfinish(db);
  if (!failure.empty()) cluster_fails(failure);
  return answer;
}

}  // namespace vortex::testing
