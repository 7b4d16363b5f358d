#include "cli/log_lines.h"

#include <array>
#include <utility>

#include <regex.h>

namespace vortex::cli {

struct LinePattern::Compiled {
  Compiled() = default;
  ~Compiled() {
    if (good) ::regfree(&expression);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  regex_t expression{};
  bool good = false;
};

std::expected<LinePattern, std::string> LinePattern::make(const std::string& expression) {
  auto compiled = std::make_shared<Compiled>();
  const int fault = ::regcomp(&compiled->expression, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (fault != 0) {
    std::array<char, 200> text{};
    ::regerror(fault, &compiled->expression, text.data(), text.size());
    return std::unexpected(std::string(text.data()));
  }
  compiled->good = true;
  LinePattern pattern;
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

bool LinePattern::matches(const std::string& line) const {
  return ::regexec(&compiled_->expression, line.c_str(), 0, nullptr, 0) == 0;
}

LineWriter::LineWriter(std::string prefix, const LinePattern* pattern, Write write)
    : prefix_(std::move(prefix)), pattern_(pattern), write_(std::move(write)) {}

void LineWriter::feed(std::string_view text) {
  if (prefix_.empty() && pattern_ == nullptr) return write_(text);
  rest_ += text;
  std::size_t begin = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos;
       end = rest_.find('\n', begin)) {
    put(rest_.substr(begin, end - begin));
    begin = end + 1;
  }
  rest_.erase(0, begin);
}

void LineWriter::finish() {
  if (!rest_.empty()) put(std::exchange(rest_, {}));
}

void LineWriter::put(const std::string& line) {
  if (pattern_ != nullptr && !pattern_->matches(line)) return;
  write_(prefix_ + line + "\n");
}

std::string_view last_lines_of(std::string_view text, std::size_t lines) {
  std::size_t begin = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (; lines > 0 && begin > 0; --lines) {
    const std::size_t newline = text.rfind('\n', begin - 1);
    if (newline == std::string_view::npos) return text;
    begin = newline;
  }
  return lines == 0 && begin < text.size() ? text.substr(begin + 1) : text;
}

}  // namespace vortex::cli
