#pragma once
// A running 64-bit hash for digests of states and histories. Same input, same value, everywhere.
// Not for hash tables open to strangers' keys and not for security.

#include <cstdint>
#include <string_view>

namespace vortex {

class Hasher {
 public:
  void add(std::uint64_t value) {
    value_ = (value_ ^ value) * 0x9FB21C651E98DF25ULL;
    value_ ^= value_ >> 32;
    ++words_;
  }
  void add(std::string_view text) {
    add(text.size());
    std::uint64_t word = 0;
    unsigned filled = 0;
    for (const char c : text) {
      word = (word << 8) | static_cast<unsigned char>(c);
      if (++filled == 8) add(word), word = 0, filled = 0;
    }
    if (filled > 0) add(word);
  }
  std::uint64_t value() const { return value_; }
  std::uint64_t bytes() const { return words_ * 8; }  // that were added, numbers as eight

 private:
  std::uint64_t value_ = 0x243F6A8885A308D3ULL;
  std::uint64_t words_ = 0;
};

}  // namespace vortex
