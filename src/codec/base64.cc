#include "codec/base64.h"

#include <sodium.h>

namespace vortex::codec {

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
