#include "codec/text.h"

#include <charconv>
#include <cstdint>

#include <sodium.h>

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

void append_base64(std::string& out, std::string_view bytes) {
  constexpr int kForm = sodium_base64_VARIANT_ORIGINAL;
  const std::size_t before = out.size();
  out.resize(before + sodium_base64_encoded_len(bytes.size(), kForm));
  sodium_bin2base64(out.data() + before, out.size() - before,
                    reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), kForm);
  out.pop_back();  // the zero at its end
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  std::size_t size = 0;
  const int bad =
      sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, nullptr, sodium_base64_VARIANT_ORIGINAL);
  if (bad != 0) return std::nullopt;
  bytes.resize(size);
  return bytes;
}

}  // namespace vortex::codec
