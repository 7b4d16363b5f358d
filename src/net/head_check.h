#pragma once
// Finds where the head of a message ends, and refuses on the way what a strict reader must refuse.
//
// Looks at every byte once however it arrives, so that garbage is answered as it comes and not when
// a deadline ends. Its state belongs to one head of one connection.

#include <cstddef>
#include <expected>
#include <string_view>

#include "net/target.h"

namespace vortex::net {

class HeadCheck {
 public:
  // Length of the head with its empty line, 0 while it is not complete. `bytes` starts at the head
  // each time and only grows between calls.
  std::expected<std::size_t, Refusal> find_end(std::string_view bytes, std::size_t bytes_max);

 private:
  std::size_t checked_ = 0;      // so far all is well
  std::size_t line_begins_ = 0;  // of the line that `checked_` is in
};

}  // namespace vortex::net
