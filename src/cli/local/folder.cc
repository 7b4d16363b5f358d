#include "cli/local/folder.h"

#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>

#include <arpa/inet.h>
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

}  // namespace vortex::cli::local
