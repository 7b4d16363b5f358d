#include "tests/support/postgres/postgres_cluster.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vortex::testing {
namespace {

[[noreturn]] void cluster_fails(const std::string& why) {
  throw std::runtime_error("PostgreSQL for tests: " + why);
}

// The newest server that is installed.
std::filesystem::path server_programs() {
  std::vector<std::filesystem::path> found;
  const std::filesystem::path root = "/usr/lib/postgresql";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root, ignored)) {
    if (std::filesystem::exists(entry.path() / "bin/initdb")) found.push_back(entry.path() / "bin");
  }
  if (found.empty()) cluster_fails("install postgresql-15, or run scripts/setup");
  return *std::ranges::max_element(found);
}

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      fd >= 0 && ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  if (fd >= 0) ::close(fd);
  if (!bound) cluster_fails("no free port");
  return ntohs(address.sin_port);
}

const passwd* server_user() { return ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr; }

// In the child: as the server's user, ended with its parent, its words in a file.
[[noreturn]] void become(const std::vector<std::string>& command, const std::string& log) {
  if (const passwd* user = server_user()) {
    if (::initgroups(user->pw_name, user->pw_gid) != 0 || ::setgid(user->pw_gid) != 0 ||
        ::setuid(user->pw_uid) != 0) {
      ::_exit(125);
    }
  }
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  ::setpgid(0, 0);
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(fd, 1);
  ::dup2(fd, 2);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (::chdir("/") == 0) ::execv(arguments[0], arguments.data());
  ::_exit(126);
}

pid_t spawn(const std::vector<std::string>& command, const std::string& log) {
  const pid_t child = ::fork();
  if (child < 0) cluster_fails("cannot fork");
  if (child == 0) become(command, log);
  return child;
}

std::filesystem::path quick_root() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

}  // namespace

PostgresCluster::PostgresCluster(ClusterOptions options) : options_(std::move(options)) {
  const auto root = options_.durable ? std::filesystem::temp_directory_path() : quick_root();
  std::string form = (root / "vortex-pg-XXXXXX").string();
  if (::mkdtemp(form.data()) == nullptr) cluster_fails("no temporary folder");
  folder_ = form;
  if (const passwd* user = server_user()) {
    if (::chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) cluster_fails("cannot chown");
  } else if (::geteuid() == 0) {
    cluster_fails("there is no user postgres");
  }
  const pid_t maker =
      spawn({(server_programs() / "initdb").string(), "-D", (folder_ / "data").string(), "-U",
             "vortex", "-A", "trust", "--encoding=UTF8", "--locale=C", "--no-sync"},
            (folder_ / "initdb.log").string());
  int status = 0;
  ::waitpid(maker, &status, 0);
  if (status != 0) cluster_fails("initdb failed, see " + (folder_ / "initdb.log").string());
  port_ = free_port();
  start();
}

PostgresCluster::~PostgresCluster() {
  stop(Stop::kImmediate);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

PostgresCluster& PostgresCluster::shared() {
  static PostgresCluster cluster;
  return cluster;
}

void PostgresCluster::start() {
  std::vector<std::string> command{(server_programs() / "postgres").string(),
                                   "-D",
                                   (folder_ / "data").string(),
                                   "-k",
                                   folder_.string(),
                                   "-h",
                                   "127.0.0.1",
                                   "-p",
                                   std::to_string(port_)};
  std::vector<std::string> settings{"max_connections=200", "shared_buffers=64MB"};
  if (!options_.durable) {
    settings.insert(settings.end(),
                    {"fsync=off", "full_page_writes=off", "synchronous_commit=off"});
  }
  settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
  for (const std::string& setting : settings) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  server_ = spawn(command, (folder_ / "server.log").string());
  wait_until_ready();
}

void PostgresCluster::wait_until_ready() const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (PQping(url().c_str()) != PQPING_OK) {
    if (::waitpid(server_, nullptr, WNOHANG) == server_ || std::chrono::steady_clock::now() > end) {
      cluster_fails("the server does not start, see " + (folder_ / "server.log").string());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void PostgresCluster::stop(Stop how) {
  if (server_ <= 0) return;
  ::kill(server_, how == Stop::kFast ? SIGINT : SIGQUIT);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

std::string PostgresCluster::url() const {
  return fmt::format("host={} port={} user=vortex dbname=postgres", folder_.string(), port_);
}

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
