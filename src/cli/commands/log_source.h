#pragma once
// The output of one task, read piece by piece from where the last piece ended.
//
// Follows from attempt to attempt unless one was chosen. Prints nothing itself.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/client/api_client.h"

namespace vortex::cli {

// Output of tasks on its way to stdout: cut into lines, filtered, each with the name of its task.
//
// Bytes pass as they are (colours of the task included). Without name and filter nothing waits for
// the end of a line.

// An extended regular expression (POSIX), for whole lines.
class LinePattern {
 public:
  // The error says what is wrong with the expression.
  static std::expected<LinePattern, std::string> make(const std::string& expression);
  bool matches(const std::string& line) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

class LineWriter {
 public:
  using Write = std::function<void(std::string_view text)>;
  // `prefix` stands before every line; `pattern` may be null: every line passes.
  LineWriter(std::string prefix, const LinePattern* pattern, Write write);

  void feed(std::string_view text);
  void finish();  // a last line without its end

 private:
  void put(const std::string& line);

  std::string prefix_;
  const LinePattern* pattern_;
  Write write_;
  std::string rest_;
};

// The last `lines` lines.
std::string_view last_lines_of(std::string_view text, std::size_t lines);

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
