#pragma once
// One controller: the real core and the real leadership logic inside a simulated shell.
//
// Commands wait in the inbox; the engine steps a batch of them, and goes on with the next batch
// while the first is being written (two in all). What a batch says to the outside leaves only after
// its commit. On any doubt about a commit, or about who leads, the memory is thrown away, a higher
// term is taken and everything is loaded again.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/command.h"
#include "core/effects.h"
#include "core/leadership.h"
#include "core/state.h"
#include "sim/process.h"
#include "sim/scene.h"

namespace vortex::sim {

// Where a worker's health endpoint is and what it would say, for probes.
struct ProbeTarget {
  HostId host;
  std::function<core::ProbeOutcome()> answer;
};
using FindProbeTarget = std::function<std::optional<ProbeTarget>(const WorkerId&)>;

class Controller : public Callee {
 public:
  Controller(Scene& scene, std::uint32_t index, FindProbeTarget find_target, Rng rng);

  void boot();
  void crash(std::string_view why);
  void pause();
  void resume();
  void hint_free();  // the row of the lease may be free
  bool is_alive() const { return process_.is_alive(); }
  bool is_paused() const { return process_.is_paused(); }
  bool leads() const { return serves_; }
  HostId host() const { return host_; }
  // The whole-state check at the end of a run; says what it finds.
  void check_thoroughly();
  // Nothing is under way: the committed rows are all there is.
  bool is_idle() const { return inbox_.empty() && !writing_ && !waiting_; }
  const core::State* state() const { return state_ ? &*state_ : nullptr; }

  bool listens() const override { return process_.is_alive(); }
  void receive(const LinePtr& line, const core::Command& command) override;
  void line_closed(const LinePtr& line) override;

 private:
  struct Batch {
    std::shared_ptr<CommitRequest> request;
    std::vector<core::Reply> replies;
    std::vector<core::Probe> probes;
    bool self_check = false;
    bool replied = false;  // only a planted bug replies before the commit
  };
  struct Waiter {
    LinePtr line;
    core::Command command;  // kept for those that may need the run's image
  };

  // controller.cc: calls in, and the engine.
  void take(const LinePtr& line, const core::Command& command);
  void pass_on(const LinePtr& line, const core::Command& command);
  void close_line(const LinePtr& line);
  void enqueue(core::Command command);
  void wake_engine();
  void run_engine();
  bool step_into(Batch& batch, const core::Command& command);
  void note_facts(const core::Command& command, const core::Effects& effects);
  void arm_tick();
  void check_lightly();

  // controller_commit.cc: batches to the store, and what follows a commit.
  void submit(Batch batch);
  void pump();
  void on_commit(CommitOutcome outcome);
  void watch_for_stall(std::uint64_t commit);
  void tell_store_health(bool writable);
  bool release(Batch& batch);
  void reply(const core::Reply& reply);
  void start_probe(const core::Probe& probe);
  void start_self_check();
  bool needs_image(const core::Reply& reply);
  void adopt_next();
  void adopt(core::Command& command, const std::shared_ptr<const RunImage>& image);
  bool crashes_here(const char* where);

  // controller_lead.cc: taking, keeping and giving up the lead.
  void begin_leadership();
  void feed_leadership(const core::lead::Input& input);
  void arm_leadership();
  void perform(const core::lead::TryAcquire& order);
  void perform(const core::lead::Renew& order);
  void perform(const core::lead::Release& order);
  void perform(const core::lead::StartLoading& order);
  void perform(const core::lead::StartServing& order);
  void perform(const core::lead::StepDown& order);
  void loaded(Term term, const StoreImage& image);
  bool may_act() const;
  void abandon(std::string_view why);
  void drop_memory();
  Instant boot_now() const { return clock_.boot(scene_.agenda.now()); }
  Instant term_now() const { return term_clock_.now(boot_now()); }
  void note(std::string what);

  Scene& scene_;
  std::uint32_t index_;
  HostId host_;
  const HostClock& clock_;
  FindProbeTarget find_target_;
  Rng rng_;
  Process process_;
  std::string name_;
  bool passes_on_ = false;  // a standby that forwards calls, instead of naming the leader

  std::optional<core::Leadership> leadership_;
  Instant lead_wake_at_ = kNever;
  std::optional<std::uint32_t> known_leader_;

  core::lead::TermClock term_clock_;
  std::optional<core::State> state_;
  bool serves_ = false;  // the state is loaded and its repairs are durable
  std::deque<core::Command> inbox_;
  std::map<RequestId, Waiter> waiters_;
  std::map<std::uint64_t, LinePtr> passed_on_;  // by the caller's line: ours to the leader
  std::uint64_t next_request_ = 1;
  bool engine_due_ = false;
  Instant tick_at_ = kNever;
  std::optional<Batch> writing_;
  std::optional<Batch> waiting_;
  std::uint64_t commits_ = 0;
  bool store_stalled_ = false;
  std::deque<core::Command> adoptions_;  // retries that need a finished run's image
  bool reading_image_ = false;
  std::uint32_t unchecked_ = 0;
};

}  // namespace vortex::sim
