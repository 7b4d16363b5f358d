#pragma once
// Bytes that have arrived on a connection and are not used yet, in one piece.
//
// Grows when asked for more room and keeps its memory for the next request; an idle connection
// gives back what is large. Belongs to one connection.

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/wiped.h"

namespace vortex::net {

class ReadBuffer {
 public:
  std::string_view bytes() const { return {data_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // At least `wanted` bytes of room behind what is there.
  std::span<char> room(std::size_t wanted) {
    if (capacity_ - end_ < wanted) make_room(wanted);
    return {data_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t count) { end_ += count; }
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void clear() { begin_ = end_ = 0; }
  // What was consumed stays in memory until it is overwritten.
  void wipe_unused() {
    if (!data_) return;
    wipe(data_.get(), begin_);
    wipe(data_.get() + end_, capacity_ - end_);
  }
  void give_back(std::size_t keep) {
    if (!empty() || capacity_ <= keep) return;
    data_.reset();
    capacity_ = 0;
  }

 private:
  void make_room(std::size_t wanted) {
    const std::size_t size = end_ - begin_;
    if (capacity_ >= size + wanted) {
      std::memmove(data_.get(), data_.get() + begin_, size);
    } else {
      const std::size_t grown = size + wanted;
      auto larger = std::make_unique_for_overwrite<char[]>(grown);
      if (size > 0) std::memcpy(larger.get(), data_.get() + begin_, size);
      if (data_) wipe(data_.get(), capacity_);
      data_ = std::move(larger);
      capacity_ = grown;
    }
    begin_ = 0;
    end_ = size;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace vortex::net
