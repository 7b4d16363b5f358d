#include "cli/local/postgres/server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vortex::cli::local {
namespace {

namespace fs = std::filesystem;

constexpr auto kReadyLimit = std::chrono::seconds(60);
constexpr auto kLook = std::chrono::milliseconds(10);
constexpr int kCouldNotExec = 126;
constexpr std::size_t kLastWords = 2'000;

struct ServerUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

// Who it runs as instead of root; unset: as we do.
std::expected<std::optional<ServerUser>, std::string> server_user() {
  if (::geteuid() != 0) return std::nullopt;
  const passwd* user = ::getpwnam("postgres");
  if (user == nullptr) {
    return std::unexpected(
        "PostgreSQL does not run as root, and there is no user postgres: run this as another user, "
        "or install the server with `apt-get install postgresql-15`");
  }
  return ServerUser{user->pw_name, user->pw_uid, user->pw_gid};
}

std::string text_of(const fs::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_words(const fs::path& path) {
  const std::string all = text_of(path);
  return all.size() > kLastWords ? all.substr(all.size() - kLastWords) : all;
}

// The programs of the version that wrote the data, or of the newest one that is installed.
std::expected<std::string, std::string> server_programs(const fs::path& data) {
  const fs::path root = "/usr/lib/postgresql";
  std::string version = text_of(data / "PG_VERSION");
  version.erase(std::ranges::find(version, '\n'), version.end());
  int newest = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    if (fs::exists(entry.path() / "bin/initdb", ignored)) {
      newest = std::max(newest, std::atoi(entry.path().filename().c_str()));
    }
  }
  const std::string wanted = version.empty() ? std::to_string(newest) : version;
  const fs::path programs = root / wanted / "bin";
  if (fs::exists(programs / "postgres", ignored)) return programs.string();
  if (version.empty()) {
    return std::unexpected(
        "PostgreSQL is not installed: install it with `apt-get install postgresql-15`");
  }
  return std::unexpected(
      fmt::format("{} was written by PostgreSQL {}, which is not installed: install it with "
                  "`apt-get install postgresql-{}`, or remove that directory",
                  data.string(), version, version));
}

// The server's user must get there; the folder above the data is ours to open for passing.
std::expected<void, std::string> open_the_way(const fs::path& folder, const ServerUser& user) {
  std::error_code fault;
  fs::permissions(folder.parent_path(), fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add, fault);
  for (fs::path above = folder.parent_path(); above != above.root_path();
       above = above.parent_path()) {
    struct stat seen = {};
    if (::stat(above.c_str(), &seen) != 0 || (seen.st_mode & S_IXOTH) != 0) continue;
    return std::unexpected(fmt::format(
        "PostgreSQL runs as the user {} and cannot enter {}: use a directory that everybody can "
        "enter, such as one below /srv, or run this as another user than root",
        user.name, above.string()));
  }
  if (::chown(folder.c_str(), user.uid, user.gid) == 0) return {};
  return std::unexpected(
      fmt::format("{} cannot be given to {}: {}", folder.string(), user.name, strerror(errno)));
}

std::uint16_t port_of_system() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      fd >= 0 && ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  if (fd >= 0) ::close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

struct Start {
  std::vector<std::string> command;
  std::string log;
  std::optional<ServerUser> user;
};

// In the child: as the server's user, ended with its parent, its words in a file.
[[noreturn]] void become(const Start& start, char* const* arguments) {
  const int fd = ::open(start.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  ::setpgid(0, 0);
  if (start.user && (::initgroups(start.user->name.c_str(), start.user->gid) != 0 ||
                     ::setgid(start.user->gid) != 0 || ::setuid(start.user->uid) != 0)) {
    ::_exit(kCouldNotExec);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // after the change of user, which forgets it
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::chdir("/") == 0) ::execv(arguments[0], arguments);
  ::_exit(kCouldNotExec);
}

pid_t spawn(const Start& start) {
  std::vector<char*> arguments;
  for (const std::string& word : start.command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) become(start, arguments.data());
  return child;
}

}  // namespace

std::expected<std::unique_ptr<PostgresServer>, std::string> PostgresServer::start(
    PostgresConfig config) {
  std::unique_ptr<PostgresServer> server(new PostgresServer(std::move(config)));
  if (auto done = server->prepare(); !done) return std::unexpected(done.error());
  if (auto done = server->make_data(); !done) return std::unexpected(done.error());
  if (auto done = server->start_again(); !done) return std::unexpected(done.error());
  return server;
}

PostgresServer::~PostgresServer() {
  stop();
  std::error_code ignored;
  if (owns_sockets_) fs::remove_all(config_.sockets, ignored);
}

std::expected<void, std::string> PostgresServer::prepare() {
  const auto user = server_user();
  if (!user) return std::unexpected(user.error());
  auto programs = server_programs(fs::path(config_.folder) / "data");
  if (!programs) return std::unexpected(programs.error());
  programs_ = *std::move(programs);
  std::error_code fault;
  fs::create_directories(config_.folder, fault);
  if (fault) {
    return std::unexpected(fmt::format("cannot create {}: {}", config_.folder, fault.message()));
  }
  if (*user) {
    if (auto open = open_the_way(config_.folder, **user); !open) return open;
  }
  port_ = port_of_system();
  if (!config_.sockets.empty()) return {};
  std::string made = "/tmp/vortex-pg-XXXXXX";
  if (::mkdtemp(made.data()) == nullptr ||
      (*user && ::chown(made.c_str(), (*user)->uid, (*user)->gid) != 0)) {
    return std::unexpected(fmt::format("cannot create {}: {}", made, strerror(errno)));
  }
  config_.sockets = made;
  owns_sockets_ = true;
  return {};
}

std::expected<void, std::string> PostgresServer::make_data() {
  const fs::path data = fs::path(config_.folder) / "data";
  if (fs::exists(data / "PG_VERSION")) return {};
  const std::string said = config_.folder + "/initdb.log";
  const pid_t maker = spawn({{programs_ + "/initdb", "-D", data.string(), "-U", "vortex", "-A",
                              "trust", "--encoding=UTF8", "--locale=C", "--no-sync"},
                             said,
                             *server_user()});
  int status = -1;
  ::waitpid(maker, &status, 0);
  if (status == 0) return {};
  return std::unexpected("initdb failed:\n" + last_words(said));
}

std::expected<void, std::string> PostgresServer::start_again() {
  std::vector<std::string> settings{"max_connections=200", "shared_buffers=64MB"};
  if (!config_.durable) {
    settings.insert(settings.end(),
                    {"fsync=off", "full_page_writes=off", "synchronous_commit=off"});
  }
  settings.insert(settings.end(), config_.settings.begin(), config_.settings.end());
  std::vector<std::string> command{
      programs_ + "/postgres",        "-D", config_.folder + "/data", "-k", config_.sockets, "-h",
      config_.tcp ? "127.0.0.1" : "", "-p", std::to_string(port_)};
  for (const std::string& setting : settings) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  server_ = spawn({std::move(command), log(), *server_user()});
  return wait_until_ready();
}

std::expected<void, std::string> PostgresServer::wait_until_ready() {
  const auto end = std::chrono::steady_clock::now() + kReadyLimit;
  while (PQping(url().c_str()) != PQPING_OK) {
    if (!is_alive() || std::chrono::steady_clock::now() > end) {
      return std::unexpected("PostgreSQL does not start:\n" + last_words(log()));
    }
    std::this_thread::sleep_for(kLook);
  }
  return {};
}

bool PostgresServer::is_alive() {
  if (server_ > 0 && ::waitpid(server_, nullptr, WNOHANG) != 0) server_ = -1;
  return server_ > 0;
}

void PostgresServer::stop(Stop how) {
  if (server_ <= 0) return;
  ::kill(server_, how == Stop::kFast ? SIGINT : SIGQUIT);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

std::string PostgresServer::url() const {
  return fmt::format("host={} port={} user=vortex dbname=postgres", config_.sockets, port_);
}

}  // namespace vortex::cli::local
