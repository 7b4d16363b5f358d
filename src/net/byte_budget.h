#pragma once
// How many bytes of request bodies may be in memory at once, counted before they are read.
//
// A budget is a number with a ceiling: whoever takes part of it gives the same back. Taking never
// waits; a taker that does not get its part is answered at once and comes back later. Any thread.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "net/http.h"

namespace vortex::net {

class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // False: nothing was taken. With a ceiling, the rest is left for those who may take all.
  bool take(std::uint64_t bytes, std::uint64_t ceiling = UINT64_MAX) {
    const std::uint64_t limit = ceiling < bytes_max_ ? ceiling : bytes_max_;
    std::uint64_t used = used_.load();
    do {
      if (bytes > limit || used > limit - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void give(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t used() const { return used_.load(); }

 private:
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> used_{0};
};

// One budget that a body counts against, and the answer when there is nothing left of it.
struct ByteShare {
  std::shared_ptr<ByteBudget> budget;  // null: counts against none
  std::uint64_t ceiling = UINT64_MAX;
  Refusal full = {};
};

// What one body has taken, given back at the end of its life.
class ByteCharge {
 public:
  using Shares = std::array<ByteShare, 2>;

  ByteCharge() = default;
  ~ByteCharge() { release(); }
  ByteCharge(const ByteCharge&) = delete;
  ByteCharge& operator=(const ByteCharge&) = delete;

  void begin(Shares shares) {
    release();
    shares_ = std::move(shares);
    begun_ = true;
  }
  // Up to this many bytes in all. Null: taken. Otherwise the answer of the share that is full, and
  // the charge is what it was.
  const Refusal* raise_to(std::uint64_t bytes) {
    if (!begun_ || bytes <= charged_) return nullptr;
    const std::uint64_t more = bytes - charged_;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (!shares_[i].budget || shares_[i].budget->take(more, shares_[i].ceiling)) continue;
      for (std::size_t taken = 0; taken < i; ++taken) {
        if (shares_[taken].budget) shares_[taken].budget->give(more);
      }
      return &shares_[i].full;
    }
    charged_ = bytes;
    return nullptr;
  }
  void release() {
    if (!begun_) return;
    for (const ByteShare& share : shares_) {
      if (share.budget) share.budget->give(charged_);
    }
    charged_ = 0;
    shares_ = {};
    begun_ = false;
  }

 private:
  Shares shares_;
  std::uint64_t charged_ = 0;
  bool begun_ = false;
};

}  // namespace vortex::net
