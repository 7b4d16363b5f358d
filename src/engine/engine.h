#pragma once
// The engine of a controller: everything between the core and the store that keeps the promise
// "durable first, then answer". A pure state machine: facts in, orders out.
//
//   asked --step--> gathered --Turn--> written --CommitEnded--> released
//
// While one batch is being written the next one is gathered, so one sync of the disk serves all
// that came meanwhile. Nothing leaves before the commit that makes it true. On any doubt (a commit
// that may have happened, a lost fence, an impossible state) the memory is thrown away, leadership
// is taken again with a higher term and everything is loaded anew. `now` is the boot clock.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/leadership.h"
#include "core/state/policy.h"
#include "core/state/state.h"
#include "engine/batch.h"
#include "engine/messages.h"

namespace vortex::engine {

struct EngineConfig {
  ControllerId me;
  core::Policy policy;
  Duration leader_lease = seconds(10);
  Duration leader_pace = seconds(10);    // pauses after doubt are fractions of this
  Duration commit_stalled = seconds(1);  // a commit longer than this: the store takes no writes
  Duration retention_interval = seconds(60);
  std::size_t batch_rows_max = 20'000;
  // A commit with so many rows takes no more of the work on very many tasks: whoever waits for it,
  // or for the next one, is not kept waiting by somebody's million.
  std::size_t bulk_rows_max = 5'000;
  std::uint64_t seed = 1;
  WriteEvent write_event = nullptr;
  // Told of every step, for whoever writes history down.
  std::function<void(const core::Command&, const core::Effects&)> observe = {};
};

class Engine {
 public:
  Engine(EngineConfig config, Instant now);

  // The orders must be carried out in their order, before anything else is told.
  Orders on(Input input, Instant now);
  Orders on(Asked&& asked, Instant now);
  // When it wants a Turn at the latest; sooner does no harm.
  Instant next_wake() const;

  bool serves() const { return serves_; }
  // False: what is asked now would only wait, leave it where it is.
  bool wants_asked() const;
  // It was asked to stop, and nothing is under way any more.
  bool is_done() const;
  // Everything that was stepped is durable.
  bool is_quiet() const { return !writing_ && gathering_.is_empty() && !wants_image_; }
  // Null: nobody leads here. Whoever looks must change nothing.
  core::State* state() { return state_.get(); }
  const core::State* state() const { return state_.get(); }
  Instant term_now(Instant now) const { return term_clock_.now(now); }
  std::uint64_t health_passes() const { return health_passes_; }

 private:
  struct Writing {
    std::shared_ptr<Batch> batch;  // shared with the shell, which only reads it
    std::uint64_t number = 0;
    Instant since;
    std::optional<Instant> again_at;  // there was no space: when it is tried again
  };

  // engine.cc: steps.
  void handle(core::lead::Input& input) { feed(input); }
  void handle(Turn&);
  void handle(Expirable& expirable);
  void handle(SpaceLow& space) { low_space_ = space.low; }
  void handle(StopRequested&);
  void step(Asked&& asked);
  bool step_into(Batch& batch, const core::Command& command);
  static bool take_refusal_for_image(const core::Command& command, core::Effects& effects);
  void tick_when_due();
  bool has_room_for_bulk() const;
  void retain_when_due();
  Orders take_orders();

  // engine_commit.cc: batches to the store and what follows.
  void handle(CommitEnded& ended);
  void handle(SpaceMade& space);
  void handle(RunRead& read);
  void hand_over();
  void write(Batch batch);
  void start_commit();
  void on_committed(Duration took);
  void watch_for_stall();
  void tell_store_health(bool writable);
  void release(std::shared_ptr<Batch> batch, Duration took);
  void read_run_when_quiet();
  bool waits_for_image_of(RunId run) const;

  // engine.cc: the thorough check.
  void handle(CheckRequested&);
  void handle(SliceChecked& checked);
  void check_when_due();
  bool slice_is_due() const;
  void take_slice();
  void end_check(std::vector<std::string> findings);

  // engine_lead.cc: taking, keeping and giving up the lead.
  void handle(ImageRead& read);
  void feed(const core::lead::Input& input);
  template <class Order>
  void follow(const Order& order) {
    orders_.emplace_back(order);
  }
  void follow(const core::lead::StartLoading& order);
  void follow(const core::lead::StartServing& order);
  void follow(const core::lead::StepDown& order);
  bool may_act() const;
  void abandon(std::string why);
  void drop_memory(Unserved why);
  Instant term_now() const { return term_clock_.now(now_); }
  Batch new_batch() const { return Batch(config_.write_event); }

  EngineConfig config_;
  Instant now_;
  Orders orders_;
  core::Leadership leadership_;
  core::lead::TermClock term_clock_;
  std::unique_ptr<core::State> state_;
  bool serves_ = false;  // the state is loaded and its repairs are durable
  bool stopping_ = false;
  bool low_space_ = false;

  Batch gathering_;
  std::optional<Writing> writing_;
  std::uint64_t commits_ = 0;
#ifdef VX_PLANTED_BUGS
  std::shared_ptr<const Batch> planted_before_;
#endif
  bool stalled_ = false;
  std::optional<core::Command> wants_image_;  // steps stand still until its run has been read
  bool reading_image_ = false;
  std::vector<Asked> held_back_;  // asked while the steps stood still
  Instant next_tick_;             // term clock
  Instant next_retention_;
  std::uint64_t health_passes_ = 0;

  enum class Check : std::uint8_t { kNone, kFirstSlice, kFurtherSlice };
  Check check_ = Check::kNone;
  bool comparing_ = false;  // a slice is being checked
  Instant next_check_;
  Instant next_slice_;
  std::vector<std::string> carried_;     // findings that caused the reload, to be noted after it
  std::vector<std::string> last_found_;  // the same again is not cured by another reload
};

}  // namespace vortex::engine
