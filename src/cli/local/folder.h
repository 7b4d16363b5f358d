#pragma once
// Throw-away places on this machine: a folder that goes with its object, and a free port.
// For drills, benches and tests; nothing that must last is kept there.

#include <cstdint>
#include <string>

namespace vortex::cli::local {

// A port on loopback that is free now.
std::uint16_t free_port();
bool is_free(std::uint16_t port);

// A new folder below the system's temporary one; removed with the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Who listens on a TCP port of this machine, for messages. What other users' processes hold is
// often not for us to see: then nothing is said. Reads /proc only.

// "vortex (process 4711)"; empty: nobody, or not known.
std::string port_holder(std::uint16_t port);

}  // namespace vortex::cli::local
