#include "cli/local/own_tokens.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/secrets.h"
#include "worker/files.h"
#include "worker/own_folder.h"

namespace vortex::cli::local {
namespace {

using worker::Fd;

constexpr std::string_view kPrefix = "vx_";
constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;

std::string_view line_of(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\r\n"));
}

std::string because(const std::string& path, int error) {
  return fmt::format("{}: {}", path, std::strerror(error));
}

bool write_line(const Fd& file, const std::string& line) {
  const std::string text = line + "\n";
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::fsync(file.get()) == 0;
}

// What others could read or have written is no secret of ours.
std::expected<std::string, std::string> read_kept(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::string();
  if (!file && errno == ELOOP) {
    return std::unexpected(fmt::format("{} is a symbolic link; remove it", path));
  }
  struct stat seen{};
  if (!file || ::fstat(file.get(), &seen) != 0) return std::unexpected(because(path, errno));
  if (!S_ISREG(seen.st_mode) || seen.st_uid != ::geteuid() || seen.st_nlink != 1) {
    return std::unexpected(
        fmt::format("{} is not a file of this user alone; remove it and start again", path));
  }
  if ((seen.st_mode & kOfOthers) != 0) {
    return std::unexpected(
        fmt::format("other users can read {} (mode {:04o}), so its token is not a secret any more; "
                    "remove the file and start again: a new token will be made",
                    path, seen.st_mode & 07777U));
  }
  const std::string text = worker::read_all(file);
  if (text.empty()) return std::string();  // left by a crash while it was made
  if (!text.starts_with(kPrefix)) {
    return std::unexpected(fmt::format("{} does not contain a token; remove it", path));
  }
  return std::string(line_of(text));
}

std::expected<std::string, std::string> keep_token(const std::string& path) {
  auto kept = read_kept(path);
  if (!kept || !kept->empty()) return kept;
  ::unlink(path.c_str());  // an empty one
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  std::string token = api::mint_token();
  if (!file || !write_line(file, token)) return std::unexpected(because(path, errno));
  return token;
}

std::string value_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Where controllers of this user may have put their tokens: what is set in a shell need not be set
// in a service. The first is the one to write to.
std::vector<std::string> state_dirs() {
  std::vector<std::string> found;
  if (::geteuid() == 0 && ::access("/run", W_OK) == 0) found.emplace_back("/run/vortex");
  const std::string runtime = value_of("XDG_RUNTIME_DIR");
  if (runtime.starts_with('/') && ::access(runtime.c_str(), W_OK) == 0) {
    found.push_back(runtime + "/vortex");
  }
  if (const std::string state = value_of("XDG_STATE_HOME"); state.starts_with('/')) {
    found.push_back(state + "/vortex");
  }
  if (const std::string home = value_of("HOME"); home.starts_with('/')) {
    found.push_back(home + "/.local/state/vortex");
  }
  return found;
}

// A port means something only within one network namespace, and several may share this folder.
std::string file_name(std::uint16_t port, TokenFor whom) {
  struct stat network{};
  if (::stat("/proc/self/ns/net", &network) != 0) network.st_ino = 0;
  return fmt::format("{}@{}{}", port, network.st_ino, whom == TokenFor::kWorkers ? ".worker" : "");
}

// Whole or not at all, also for whoever reads at the same time.
bool put(const std::string& folder, const std::string& name, const std::string& token) {
  const std::string path = worker::path_in(folder, name);
  const std::string fresh = fmt::format("{}.{}", path, ::getpid());
  ::unlink(fresh.c_str());
  {
    const Fd file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || !write_line(file, token)) return false;
  }
  return ::rename(fresh.c_str(), path.c_str()) == 0;
}

std::string take(const std::string& folder, const std::string& name) {
  struct stat seen{};
  if (::lstat(folder.c_str(), &seen) != 0 || !S_ISDIR(seen.st_mode)) return {};
  if (seen.st_uid != ::geteuid() || (seen.st_mode & kOfOthers) != 0) return {};
  const auto kept = read_kept(worker::path_in(folder, name));
  return kept ? *kept : std::string();
}

// Whether everybody who listens on the port of this machine is this user, and somebody does.
bool is_ours(std::uint16_t port) {
  constexpr std::string_view kListens = "0A";
  const std::string ending = fmt::format(":{:04X}", port);
  const std::string us = std::to_string(::geteuid());
  bool ours = false;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // the names of the columns
    while (std::getline(file, line)) {
      std::istringstream columns(line);
      std::string slot, local, remote, state, queues, timer, retries, user;
      columns >> slot >> local >> remote >> state >> queues >> timer >> retries >> user;
      if (state != kListens || !local.ends_with(ending)) continue;
      if (user != us) return false;
      ours = true;
    }
  }
  return ours;
}

}  // namespace

std::string default_state_dir() {
  const std::vector<std::string> dirs = state_dirs();
  return dirs.empty() ? fmt::format("/tmp/vortex-{}", ::geteuid()) : dirs.front();
}

std::string token_path(const std::string& database, TokenFor whom) {
  return database + (whom == TokenFor::kWorkers ? ".worker-token" : ".token");
}

std::expected<OwnTokens, std::string> own_tokens(const std::string& database) {
  auto admin = keep_token(token_path(database, TokenFor::kCommands));
  if (!admin) return std::unexpected(std::move(admin.error()));
  auto worker = keep_token(token_path(database, TokenFor::kWorkers));
  if (!worker) return std::unexpected(std::move(worker.error()));
  return OwnTokens{*std::move(admin), *std::move(worker)};
}

PublishedTokens::PublishedTokens(std::string folder, std::uint16_t port, OwnTokens tokens)
    : folder_(std::move(folder)), port_(port), tokens_(std::move(tokens)) {}

PublishedTokens::PublishedTokens(PublishedTokens&& other) noexcept
    : folder_(std::move(other.folder_)),
      port_(std::exchange(other.port_, std::uint16_t{0})),
      tokens_(std::move(other.tokens_)) {}

std::expected<PublishedTokens, std::string> PublishedTokens::publish(std::uint16_t port,
                                                                     OwnTokens tokens) {
  const std::vector<std::string> dirs = state_dirs();
  if (dirs.empty()) return std::unexpected(std::string("HOME is not set"));
  const std::string folder = worker::path_in(dirs.front(), "tokens");
  const auto opened = worker::open_own_folder(folder);
  if (!opened) return std::unexpected(opened.error());
  if (::fchmod(opened->get(), S_IRWXU) != 0 ||
      !put(folder, file_name(port, TokenFor::kCommands), tokens.admin) ||
      !put(folder, file_name(port, TokenFor::kWorkers), tokens.worker)) {
    return std::unexpected(because(folder, errno));
  }
  return PublishedTokens(folder, port, std::move(tokens));
}

PublishedTokens::~PublishedTokens() {
  if (port_ == 0) return;
  const auto withdraw = [this](TokenFor whom, const std::string& token) {
    const std::string name = file_name(port_, whom);
    if (take(folder_, name) == token) ::unlink(worker::path_in(folder_, name).c_str());
  };
  withdraw(TokenFor::kCommands, tokens_.admin);
  withdraw(TokenFor::kWorkers, tokens_.worker);
}

std::string find_token(std::uint16_t port, TokenFor whom) {
  for (const std::string& dir : state_dirs()) {
    std::string token = take(worker::path_in(dir, "tokens"), file_name(port, whom));
    if (!token.empty()) return is_ours(port) ? token : std::string();
  }
  return {};
}

}  // namespace vortex::cli::local
