#include "codec/id_text.h"

#include <charconv>
#include <cstdint>

namespace vortex::codec {

QuotedId::QuotedId(RunId run) {
  put("\"r");
  put(run.value);
  put("\"");
}

QuotedId::QuotedId(TaskId task) {
  put("\"r");
  put(task.run.value);
  put("-L");
  put(task.level);
  put("-");
  put(task.index);
  put("\"");
}

void QuotedId::put(std::string_view text) {
  size_ += text.copy(bytes_.data() + size_, text.size());
}

void QuotedId::put(std::uint64_t number) {
  const auto [end, error] =
      std::to_chars(bytes_.data() + size_, bytes_.data() + bytes_.size(), number);
  size_ = static_cast<std::size_t>(end - bytes_.data());
}

}  // namespace vortex::codec
