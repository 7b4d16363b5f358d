#pragma once
// Memory that must not keep what was in it: keys, secrets, and the texts they travel in.
//
// Wiping is never optimised away. A SecretText holds its bytes in one place, moves without leaving
// a copy behind and is wiped when it goes. Nothing here keeps a debugger or the kernel out.

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace vortex {

inline void wipe(void* at, std::size_t bytes) {
  if (bytes > 0) ::explicit_bzero(at, bytes);
}

// All that the string has room for, so that what it held earlier goes too. It is empty then.
inline void wipe(std::string& text) {
  text.resize(text.capacity());
  wipe(text.data(), text.size());
  text.clear();
}

// Room for so many bytes in all. The text may be about secrets: a string that grows by itself
// leaves copies behind that outlive the wiping.
inline void make_room(std::string& text, std::size_t bytes) {
  if (text.capacity() >= bytes) return;
  std::string larger;
  larger.reserve(bytes);
  larger += text;
  wipe(text);
  text.swap(larger);
}

class SecretText {
 public:
  SecretText() = default;
  explicit SecretText(std::size_t bytes) : data_(std::make_unique<char[]>(bytes)), size_(bytes) {}
  explicit SecretText(std::string_view text) : SecretText(text.size()) {
    if (!text.empty()) std::memcpy(data_.get(), text.data(), text.size());
  }
  ~SecretText() { clear(); }
  SecretText(SecretText&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  SecretText& operator=(SecretText&& other) noexcept {
    if (this == &other) return *this;
    clear();
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;

  std::string_view view() const { return {data_.get(), size_}; }
  char* data() { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    if (data_) wipe(data_.get(), size_);
    data_.reset();
    size_ = 0;
  }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
};

}  // namespace vortex
