#include "cli/sse.h"

namespace vortex::cli {

void SseReader::feed(std::string_view piece, const OnEvent& on_event) {
  rest_ += piece;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = rest_.find('\n', begin);
    if (end == std::string::npos) break;
    take_line(std::string_view(rest_).substr(begin, end - begin), on_event);
    begin = end + 1;
  }
  rest_.erase(0, begin);
}

void SseReader::reset() {
  rest_.clear();
  event_ = {};
}

void SseReader::take_line(std::string_view line, const OnEvent& on_event) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    if (!event_.data.empty()) on_event(event_);
    event_ = {};
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) return;  // a comment
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") event_.id = value;
  if (name == "data") {
    if (!event_.data.empty()) event_.data += '\n';
    event_.data += value;
  }
}

}  // namespace vortex::cli
