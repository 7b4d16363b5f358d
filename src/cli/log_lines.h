#pragma once
// Output of tasks on its way to stdout: cut into lines, filtered, each with the name of its task.
//
// Bytes pass as they are (colours of the task included). Without name and filter nothing waits for
// the end of a line.

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace vortex::cli {

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

}  // namespace vortex::cli
