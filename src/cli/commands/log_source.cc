#include "cli/commands/log_source.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <regex.h>

#include "cli/client/api_client.h"

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

namespace {

constexpr std::uint64_t kLineGuess = 200;  // bytes
constexpr std::uint64_t kTailMax = 8U << 20U;

std::uint64_t number_in(const net::Headers& headers, std::string_view name) {
  const auto text = net::find_header(headers, name);
  std::uint64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

}  // namespace

struct LogSource::Piece {
  std::string text;
  std::uint64_t offset = 0;
  std::uint64_t next = 0;
  std::uint64_t size = 0;
  std::optional<std::uint64_t> epoch;  // unset: there was no attempt yet
  bool ended = false;
};

LogSource::LogSource(ApiClient& api, std::string task, LogWanted wanted)
    : api_(api), task_(std::move(task)), wanted_(wanted) {}

std::expected<LogSource::Piece, Failure> LogSource::fetch(const std::string& query) {
  std::string which;
  if (epoch_) {
    which = fmt::format("&epoch={}", *epoch_);
  } else if (wanted_.attempt > 0) {
    which = fmt::format("&attempt={}", wanted_.attempt);
  }
  auto answer = api_.get(fmt::format("/api/tasks/{}/logs?{}{}", escaped(task_), query, which));
  if (!answer) return std::unexpected(std::move(answer.error()));
  Piece piece;
  piece.text = std::move(answer->text);
  piece.offset = number_in(answer->headers, "X-Vortex-Log-Offset");
  piece.next = number_in(answer->headers, "X-Vortex-Log-Next");
  piece.size = number_in(answer->headers, "X-Vortex-Log-Size");
  piece.ended = net::find_header(answer->headers, "X-Vortex-Log-Ended") == "true";
  if (net::find_header(answer->headers, "X-Vortex-Log-Epoch")) {
    piece.epoch = number_in(answer->headers, "X-Vortex-Log-Epoch");
  }
  return piece;
}

// The interface counts bytes, people count lines: asks for more until there are enough.
std::expected<void, Failure> LogSource::begin_at_tail(LineWriter& out) {
  for (std::uint64_t bytes = std::max<std::uint64_t>(wanted_.tail * kLineGuess, 4'096);;
       bytes *= 4) {
    const std::uint64_t asked = std::min(bytes, kTailMax);
    auto piece = fetch(fmt::format("tail={}", asked));
    if (!piece) return std::unexpected(std::move(piece.error()));
    const std::string_view lines = last_lines_of(piece->text, wanted_.tail);
    const bool enough = lines.size() < piece->text.size() || piece->offset == 0;
    if (!enough && asked < kTailMax) continue;
    out.feed(lines);
    epoch_ = piece->epoch;
    offset_ = piece->next;
    drained_ = piece->ended && piece->next >= piece->size;
    return {};
  }
}

std::expected<void, Failure> LogSource::read_on(LineWriter& out) {
  if (!std::exchange(begun_, true) && wanted_.tail > 0) return begin_at_tail(out);
  for (;;) {
    auto piece = fetch(fmt::format("offset={}", offset_));
    if (!piece) return std::unexpected(std::move(piece.error()));
    if (!piece->epoch) return {};
    out.feed(piece->text);
    epoch_ = piece->epoch;
    const bool moved = piece->next > offset_;
    offset_ = piece->next;
    drained_ = piece->ended && offset_ >= piece->size;
    if (offset_ >= piece->size || !moved) return {};
  }
}

std::expected<void, Failure> LogSource::read_all(LineWriter& out) {
  auto read = read_on(out);
  if (read) out.finish();
  return read;
}

std::expected<bool, Failure> LogSource::next_attempt() {
  if (wanted_.attempt > 0) return false;
  const auto before = std::exchange(epoch_, std::nullopt);
  auto newest = fetch("offset=0&limit=1");
  if (!newest) {
    epoch_ = before;
    return std::unexpected(std::move(newest.error()));
  }
  if (!newest->epoch || newest->epoch == before) {
    epoch_ = before;
    return false;
  }
  epoch_ = newest->epoch;
  offset_ = 0;
  drained_ = false;
  return true;
}

}  // namespace vortex::cli
