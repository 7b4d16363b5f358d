#include "cli/local/folder.h"

#include <cstdlib>
#include <filesystem>
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

std::uint16_t free_port() { return try_port(0); }
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
