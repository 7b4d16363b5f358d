#include "cli/local/port_holder.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace vortex::cli::local {
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
