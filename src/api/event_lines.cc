#include "api/event_lines.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "codec/json_writer.h"

namespace vortex::api {

namespace {

constexpr std::string_view kSeq = R"(,"seq":)";
constexpr std::string_view kKind = R"(,"event":")";

std::uint64_t seq_of(std::string_view json) {
  const auto at = json.rfind(kSeq);
  if (at == std::string_view::npos) return 0;
  std::uint64_t seq = 0;
  const char* begin = json.data() + at + kSeq.size();
  std::from_chars(begin, json.data() + json.size(), seq);
  return seq;
}

std::string_view kind_of(std::string_view json) {
  const auto at = json.find(kKind);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = json.substr(at + kKind.size());
  return rest.substr(0, rest.find('"'));
}

std::string quoted(std::string_view text) {
  std::string out;
  codec::JsonWriter(out).text(text);
  return out;
}

}  // namespace

bool take_event(std::string_view& text, EventLine& out) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  if (text.empty()) return false;
  const auto end = std::min(text.find('\n'), text.size());
  out.json = text.substr(0, end);
  out.seq = seq_of(out.json);
  out.kind = kind_of(out.json);
  text.remove_prefix(std::min(end + 1, text.size()));
  return true;
}

EventFilter::EventFilter(std::string_view kinds, std::string_view worker, std::string_view run) {
  while (!kinds.empty()) {
    const auto end = std::min(kinds.find(','), kinds.size());
    if (end > 0) kinds_.emplace_back(kinds.substr(0, end));
    kinds.remove_prefix(std::min(end + 1, kinds.size()));
  }
  if (!worker.empty()) worker_mark_ = R"("worker_id":)" + quoted(worker) + R"(,"event":)";
  if (!run.empty()) run_mark_ = R"(,"run_id":)" + quoted(run) + "}";
}

bool EventFilter::wants(const EventLine& line) const {
  if (!kinds_.empty() && std::ranges::find(kinds_, line.kind) == kinds_.end()) return false;
  if (!run_mark_.empty() && !line.json.ends_with(run_mark_)) return false;
  return worker_mark_.empty() || line.json.find(worker_mark_) != std::string_view::npos;
}

void append_sse(std::string& out, const EventLine& line) {
  fmt::format_to(std::back_inserter(out), "id: {}\nevent: {}\ndata: {}\n\n", line.seq, line.kind,
                 line.json);
}

}  // namespace vortex::api
