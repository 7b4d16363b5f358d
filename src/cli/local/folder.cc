#include "cli/local/folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace vortex::cli::local {
namespace {

// The port that was bound for a moment; 0: it could not be.
std::uint16_t try_port(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;  // one that only waits for its last connections to be forgotten is free
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&at), size) == 0;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  ::close(fd);
  return bound ? ntohs(at.sin_port) : 0;
}

}  // namespace

// Not the one that the system would choose: it gives the same ports to outgoing connections, and
// one of those could take it while what listened there is being started again.
std::uint16_t free_port() {
  constexpr std::uint16_t kFirst = 10'000;
  constexpr std::uint16_t kLast = 32'000;
  std::random_device chance;
  std::uniform_int_distribution<std::uint16_t> any(kFirst, kLast);
  for (int tries = 0; tries < 100; ++tries) {
    const std::uint16_t port = any(chance);
    if (try_port(port) == port) return port;
  }
  return try_port(0);
}

bool is_free(std::uint16_t port) { return try_port(port) == port; }

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vortex-XXXXXX").string();
  if (const char* made = ::mkdtemp(pattern.data())) path_ = made;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

namespace {

constexpr std::string_view kListening = "0A";

// Links of descriptors to sockets that listen on the port, as /proc shows them.
std::set<std::string> listeners(std::uint16_t port) {
  std::set<std::string> links;
  const std::string ending = fmt::format(":{:04X}", port);
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // the names of the columns
    while (std::getline(file, line)) {
      std::istringstream columns(line);
      std::string slot, local, remote, state, queues, timer, retries, user, timeout, inode;
      columns >> slot >> local >> remote >> state >> queues >> timer >> retries >> user >>
          timeout >> inode;
      if (state == kListening && local.ends_with(ending)) {
        links.insert(fmt::format("socket:[{}]", inode));
      }
    }
  }
  return links;
}

bool holds_one(const std::filesystem::path& process, const std::set<std::string>& links) {
  std::error_code fault;
  std::filesystem::directory_iterator entry(process / "fd", fault);
  for (const std::filesystem::directory_iterator end; !fault && entry != end;
       entry.increment(fault)) {
    std::error_code closed;
    const auto link = std::filesystem::read_symlink(entry->path(), closed);
    if (!closed && links.contains(link.string())) return true;
  }
  return false;
}

}  // namespace

std::string port_holder(std::uint16_t port) {
  const std::set<std::string> links = listeners(port);
  if (links.empty()) return {};
  std::error_code fault;
  std::filesystem::directory_iterator entry("/proc", fault);
  for (const std::filesystem::directory_iterator end; !fault && entry != end;
       entry.increment(fault)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (!holds_one(entry->path(), links)) continue;
    std::string program;
    std::ifstream comm(entry->path() / "comm");
    std::getline(comm, program);
    return fmt::format("{} (process {})", program, name);
  }
  return {};
}

}  // namespace vortex::cli::local
