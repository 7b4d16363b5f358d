#include "codec/time_text.h"

#include "base/text.h"

namespace vortex::codec {

void append_time(std::string& out, Instant at) {
  if (!has_time_text(at)) {
    out += "null";
    return;
  }
  TimeText text = time_text(at);
  text[10] = 'T';
  out += '"';
  out.append(text.data(), text.size());
  out += "Z\"";
}

}  // namespace vortex::codec
