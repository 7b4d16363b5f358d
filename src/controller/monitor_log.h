#pragma once
// The monitor log: a file with one JSON object a line (CONTRACT M06), of committed events only.
//
// Appended after the commit, so it may lack the last lines after a crash; the store has them all. A
// file that has grown too large is renamed to `<path>.1` and a new one begun. Writing goes on
// without it when the disk refuses: the log never stops the work. One thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace vortex::controller {

class MonitorLog {
 public:
  MonitorLog(std::string path, std::uint64_t bytes_max);  // empty path: no log
  ~MonitorLog();
  MonitorLog(const MonitorLog&) = delete;
  MonitorLog& operator=(const MonitorLog&) = delete;

  // False: it could not be written. It is tried again with the next lines.
  bool append(std::string_view lines);

 private:
  bool open();
  void rotate();

  std::string path_;
  std::uint64_t bytes_max_;
  std::uint64_t size_ = 0;
  int fd_ = -1;
};

}  // namespace vortex::controller
