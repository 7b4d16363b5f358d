#include "worker/log_buffer.h"

#include <algorithm>

#include <fmt/format.h>

namespace vortex::worker {

void LogBuffer::write(std::string_view bytes) {
  waiting_.append(bytes.substr(bytes.size() - std::min(bytes.size(), bytes_max_)));
  std::uint64_t cut = bytes.size() - std::min(bytes.size(), bytes_max_);
  if (waiting_.size() > bytes_max_) {
    // By half and not by what is too much: a flood would move the whole buffer for every write.
    const std::size_t drop = waiting_.size() - bytes_max_ / 2;
    waiting_.erase(0, drop);
    cut += drop;
  }
  left_out_ += cut;
  left_out_in_all_ += cut;
}

LogBuffer::Piece LogBuffer::take(std::size_t bytes_max) {
  if (flying_.empty()) {
    if (left_out_ > 0) {
      flying_ = fmt::format("\n[vortex: {} bytes of output dropped here]\n", left_out_);
      left_out_ = 0;
    }
    const std::size_t size = std::min(bytes_max, waiting_.size());
    flying_.append(waiting_, 0, size);
    waiting_.erase(0, size);
  }
  return {offset_, flying_};
}

void LogBuffer::arrived() {
  offset_ += flying_.size();
  flying_.clear();
}

}  // namespace vortex::worker
