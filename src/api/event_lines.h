#pragma once
// Events as the lines they are stored in: cut apart, filtered, and put into a stream.
//
// Reads only what codec/event_json.h writes: the names it looks for cannot be forged from inside a
// value, because quotes in values are escaped there. Pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vortex::api {

// Views into the text that was given.
struct EventLine {
  std::uint64_t seq = 0;
  std::string_view kind;
  std::string_view json;  // without the newline
};

// Takes the first line from the front of `text`. False: there is none.
bool take_event(std::string_view& text, EventLine& out);

class EventFilter {
 public:
  // Empty: any. `kinds` are separated by commas.
  EventFilter(std::string_view kinds, std::string_view worker, std::string_view run);
  bool wants(const EventLine& line) const;

 private:
  std::vector<std::string> kinds_;
  std::string worker_mark_;  // what the line of that worker holds
  std::string run_mark_;     // how the line of that run ends
};

// Appends one event of a text/event-stream.
void append_sse(std::string& out, const EventLine& line);

}  // namespace vortex::api
