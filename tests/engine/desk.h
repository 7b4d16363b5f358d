#pragma once
// An engine that a test drives by hand: the test is the store, the clock and everybody who waits.
//
// Orders are kept until the test takes them, in their order. Nothing is answered by itself but what
// the test says, so every moment between an order and its end can be looked at.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/batch.h"
#include "engine/engine.h"
#include "tests/core/mirror.h"
#include "tests/model/specs.h"

namespace vortex::engine {

class Desk {
 public:
  explicit Desk(const EngineConfig& config = test_config());
  static EngineConfig test_config();

  void tell(Input input) { take(engine_.on(std::move(input), now)); }
  void ask(core::Command command) { take(engine_.on(Asked{std::move(command)}, now)); }
  void ask(SideWrite write) { take(engine_.on(Asked{std::move(write)}, now)); }
  void turn() { tell(Turn{}); }
  void pass(Duration time) { now = now + time; }

  // From nothing to serving: won, loaded, and what the load repaired committed.
  void lead();
  // Answers the acquisition that is asked for now; the term is one more than the last.
  void win();
  void load();
  // Ends the commit that is under way.
  void commit();
  void end_commit(CommitEnded::How how);
  // A run that was cancelled and has left memory; its only task.
  TaskId finished_run();
  void renew();

  // The oldest order of this kind, taken out; unset: there is none.
  template <class Kind>
  std::optional<Kind> take_order() {
    for (auto it = orders.begin(); it != orders.end(); ++it) {
      if (!std::holds_alternative<Kind>(*it)) continue;
      Kind found = std::get<Kind>(std::move(*it));
      orders.erase(it);
      return found;
    }
    return std::nullopt;
  }
  template <class Kind>
  bool has() const {
    for (const Order& order : orders) {
      if (std::holds_alternative<Kind>(order)) return true;
    }
    return false;
  }
  // The requests that are answered by what has been released and not been taken yet.
  std::vector<std::uint64_t> answered();
  std::optional<core::ReplyBody> answer_to(RequestId request);

  Engine& engine() { return engine_; }

  Instant now{seconds(1000).us};
  Orders orders;
  core::Mirror store;
  Term term;
  std::optional<WriteBatch> writing;  // the newest that was handed over

 private:
  void take(Orders orders);

  Engine engine_;
};

core::SubmitRun submit(std::uint64_t request, std::string key = {});

}  // namespace vortex::engine
