#pragma once
// Who waits for the answer to which request. Safe from any thread.
//
// Every request that was added is answered exactly once, by its reply, by an error when the term
// ends, or not at all when its caller has gone (forget).

#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "api/backend.h"
#include "core/effects.h"
#include "model/ids.h"

namespace vortex::controller {

class Waiters {
 public:
  using Answer = api::Asked<core::ReplyBody>;
  using Give = std::function<void(Answer)>;

  RequestId add(Give give);
  void answer(RequestId request, Answer answer);
  void forget(RequestId request);
  // Everybody who waits now is told this.
  void answer_all(const api::UnservedError& error);
  std::size_t size() const;

 private:
  mutable std::mutex guard_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Give> waiting_;
};

}  // namespace vortex::controller
