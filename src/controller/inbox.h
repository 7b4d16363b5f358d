#pragma once
// What waits for the engine: commands from outside, bounded, and notices from inside, always let
// in.
//
// Any thread puts, the engine's thread takes. A full inbox refuses at once instead of growing: the
// caller is told to come back. Heartbeats and reports are let in longer than new work, because
// refusing them would make healthy workers look dead.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/backend.h"
#include "base/time.h"
#include "core/effects.h"
#include "core/state/state.h"
#include "engine/messages.h"
#include "model/ids.h"

namespace vortex::controller {

// Looks at the state without changing what is remembered. Null: there is none, nobody leads here.
struct Peek {
  std::function<void(core::State*, Instant now)> peek;
};
// A thorough check now; `done` is called when it is over, or with why there was none.
struct ReconcileAsked {
  std::function<void(api::Asked<api::ReconcileReport>)> done;
};
using Asked = std::variant<engine::Asked, Peek, ReconcileAsked>;

// A slice of the thorough check was compared with the store.
struct SliceCompared {
  Term term;
  std::vector<std::string> findings;
  Duration took;
};
using Notice = std::variant<engine::Input, SliceCompared>;

// Where a part of many commands of one caller ends: others find room in the inbox and their turn
// between the parts, whether the commands are many or the tasks that their runs begin with. Past
// `begin`.
std::size_t part_end(const std::vector<core::Command>& commands, std::size_t begin);

class Inbox {
 public:
  explicit Inbox(std::size_t asked_max) : asked_max_(asked_max) {}

  // False: full.
  bool ask(Asked asked);
  void notice(Notice notice);

  struct Taken {
    std::vector<Notice> notices;
    std::vector<Asked> asked;
  };
  // Waits at most `limit` for a notice or, when wanted, for something asked.
  Taken take(Duration limit, bool wants_asked);
  // All that was asked and not taken yet.
  std::vector<Asked> drop_asked();
  std::size_t size() const;

 private:
  static constexpr std::size_t kTakenAtOnce = 2'000;

  const std::size_t asked_max_;
  mutable std::mutex guard_;
  std::condition_variable wake_;
  std::deque<Asked> asked_;
  std::vector<Notice> notices_;
};

// Who waits for the answer to which request. Safe from any thread.
//
// Every request that was added is answered exactly once, by its reply, by an error when the term
// ends, or not at all when its caller has gone (forget).

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
