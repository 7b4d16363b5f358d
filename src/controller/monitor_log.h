#pragma once
// The monitor log: a file with one JSON object a line (CONTRACT M06), of committed events only.
//
// The store has every event, so the file can always be made whole again. It remembers the last
// sequence that is whole in the file; when lines are missing (a full disk, a crash) it is behind,
// takes no new lines, and wants to be filled from the store first: no line is torn, doubled or out
// of order. A file that has grown too large is renamed to `<path>.1` and a new one begun. Nothing
// here ever stops the work. Any thread.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace vortex::controller {

class MonitorLog {
 public:
  MonitorLog(std::string path, std::uint64_t bytes_max);  // empty path: no log
  ~MonitorLog();
  MonitorLog(const MonitorLog&) = delete;
  MonitorLog& operator=(const MonitorLog&) = delete;

  // The store has events up to this one. Cuts a torn last line. A file that says nothing (new, or
  // emptied by somebody) goes on from here.
  void begin_at(std::uint64_t last_event);

  struct Lines {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0;
    std::string_view text;  // whole lines
  };
  enum class Wrote : std::uint8_t { kAll, kBehind, kFailed };
  Wrote append(const Lines& lines);

  bool is_behind() const;
  // What is missing: everything after the last sequence that is whole in the file, up to the
  // newest.
  struct Missing {
    std::uint64_t after = 0;
    std::uint64_t newest = 0;
  };
  Missing missing() const;
  // What the store said when it was asked for that, in order; what is in the file already is left
  // out. Nothing new: the store no longer keeps it.
  Wrote fill(const Missing& asked, std::string_view lines);

 private:
  bool open();
  bool write(std::string_view text);
  void rotate();
  std::uint64_t last_whole_line(const std::string& path, bool cut);

  mutable std::mutex guard_;
  std::string path_;
  std::uint64_t bytes_max_;
  std::uint64_t size_ = 0;
  int fd_ = -1;
  bool begun_ = false;
  std::uint64_t whole_ = 0;
  std::uint64_t newest_ = 0;  // committed, as far as we were told
};

}  // namespace vortex::controller
