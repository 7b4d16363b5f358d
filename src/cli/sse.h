#pragma once
// Takes a text/event-stream apart, in whatever pieces it comes. Pure.
//
// Only what our controllers send is understood: id and data; comments are skipped.

#include <functional>
#include <string>
#include <string_view>

namespace vortex::cli {

class SseReader {
 public:
  struct Event {
    std::string id;
    std::string data;
  };
  using OnEvent = std::function<void(const Event& event)>;

  void feed(std::string_view piece, const OnEvent& on_event);
  // A new connection begins: what was half read is dropped.
  void reset();

 private:
  void take_line(std::string_view line, const OnEvent& on_event);

  std::string rest_;  // the line that is not complete
  Event event_;
};

}  // namespace vortex::cli
