#pragma once
// The output of one task, read piece by piece from where the last piece ended.
//
// Follows from attempt to attempt unless one was chosen. Prints nothing itself.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "cli/api_client.h"
#include "cli/log_lines.h"

namespace vortex::cli {

struct LogWanted {
  std::uint64_t attempt = 0;  // 0: the latest
  std::uint64_t tail = 0;     // lines; 0: all
};

class LogSource {
 public:
  LogSource(ApiClient& api, std::string task, LogWanted wanted);

  // What there is of it now, to the end.
  std::expected<void, Failure> read_all(LineWriter& out);
  // What has come since; begins with the tail.
  std::expected<void, Failure> read_on(LineWriter& out);
  // The attempt that is read has ended and all of it was read.
  bool drained() const { return drained_; }
  // Goes to the next attempt if there is one; false: there is none (yet).
  std::expected<bool, Failure> next_attempt();

 private:
  struct Piece;
  std::expected<Piece, Failure> fetch(const std::string& query);
  std::expected<void, Failure> begin_at_tail(LineWriter& out);

  ApiClient& api_;
  std::string task_;
  LogWanted wanted_;
  std::optional<std::uint64_t> epoch_;
  std::uint64_t offset_ = 0;
  bool begun_ = false;
  bool drained_ = false;
};

}  // namespace vortex::cli
