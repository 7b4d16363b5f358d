#pragma once
// The engine: one thread that owns the core's state, steps every command and decides what is said.
//
//   asked --step--> batch --hand over--> committer --CommitEnded--> replies, probes, events go out
//
// While one batch is being written the next one is gathered, so one sync of the disk serves all
// that came meanwhile. Nothing leaves before the commit that makes it true. On any doubt (a commit
// that may have happened, a lost fence, an impossible state) the memory is thrown away, leadership
// is taken again with a higher term and everything is loaded anew.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "base/time.h"
#include "controller/audit.h"
#include "controller/batch.h"
#include "controller/committer.h"
#include "controller/inbox.h"
#include "controller/waiters.h"
#include "core/leadership.h"
#include "core/policy.h"
#include "core/state.h"
#include "store/store.h"

namespace vortex::controller {

struct EngineConfig {
  ControllerId me;
  core::Policy policy;
  Duration leader_lease = seconds(10);
  Duration leader_pace = seconds(10);    // pauses after doubt are fractions of this
  Duration commit_stalled = seconds(1);  // a commit longer than this: the store takes no writes
  store::Retention retention;
  Duration retention_interval = seconds(60);
  std::size_t inbox_max = 10'000;
  std::size_t batch_rows_max = 20'000;
  std::uint64_t seed = 1;
  // A connection of its own for the thorough check.
  std::function<store::Result<std::unique_ptr<store::Reader>>()> open_reader;
};

// What leaves the engine. Called on its thread; must only hand over.
class Outlet {
 public:
  Outlet() = default;
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  virtual ~Outlet() = default;
  virtual void probe(const core::Probe& probe) = 0;
  virtual void self_check() = 0;
  // What was known before this term; `last_event` is the newest of its events.
  virtual void loaded(std::uint64_t last_event) = 0;
  virtual void committed(const Batch& batch, Duration took) = 0;
  // False: there is no space left although the reserve was given up. True: try once more.
  virtual bool make_space() = 0;
  virtual void audited(const api::ReconcileReport& report) = 0;
  virtual void say(LogLevel level, std::string what) = 0;  // for the log of the process
};

class Engine {
 public:
  Engine(EngineConfig config, Committer& committer, Waiters& waiters, Outlet& outlet);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void start();
  // Commits what was stepped, gives leadership back, ends. Idempotent.
  void stop();

  // From any thread. Not asked means: nothing happened.
  enum class Refused : std::uint8_t { kNo, kBusy, kNotServing };
  Refused ask(Asked asked);
  void hint_free() { inbox_.notice(core::lead::Input{core::lead::MayBeFree{}}); }

  bool serves() const { return serves_; }
  Instant now() const;  // the term clock; of the last term when there is none
  Term term() const { return Term{term_.load()}; }
  std::size_t inbox_size() const { return inbox_.size(); }
  bool store_well() const { return store_well_; }
  std::int64_t last_commit_us() const { return last_commit_us_; }
  // Why it does not serve although it tries to; empty: nothing is wrong, or nothing is known.
  std::string trouble() const;
  // Rows that could not be read when the present state was loaded.
  std::vector<DamagedRow> damaged() const;
  // As of the last tick.
  struct Live {
    std::uint32_t workers = 0;
    std::uint32_t leases = 0;
    bool brake = false;
  };
  Live live() const { return {live_workers_, live_leases_, brake_}; }
  // Submits are refused while this is set.
  void set_low_space(bool low) { low_space_ = low; }
  bool low_space() const { return low_space_; }

 private:
  struct Writing {
    std::shared_ptr<Batch> batch;  // shared with the committer, which only reads it
    std::uint64_t number = 0;
    Instant since;  // boot clock
  };

  // engine.cc: the loop and the steps.
  void run();
  bool is_done() const;
  Duration patience() const;
  bool wants_asked() const;
  void handle(core::lead::Input& input) { feed(input); }
  void handle(CommitEnded& ended);
  void handle(ImageRead& read);
  void handle(RunRead& read);
  void handle(Expirable& expirable);
  void handle(SliceCompared& compared);
  void handle(StopNow& stop);
  void step(Asked& asked);
  void turn_away(Asked& asked);
  void step_command(core::Command& command);
  void step_side(SideWriteAsked& asked);
  bool step_into(Batch& batch, const core::Command& command);
  bool needs_image(const core::Command& command, const core::Effects& effects);
  void tick_when_due();
  void retain_when_due();
  void count_live(Instant now);

  // engine_commit.cc: batches to the store and what follows.
  void hand_over();
  void watch_for_stall();
  void tell_store_health(bool writable);
  void release(Batch& batch, Duration took);
  void read_run_when_quiet();
  void write(std::shared_ptr<Batch> batch);
  void start_commit();

  // engine_audit.cc: the thorough check.
  void begin_audit();
  void audit_when_due();
  bool audit_is_due() const;
  void take_slice();
  void end_audit();
  void drop_audit();
  void set_trouble(std::string what);
  void set_damaged(std::vector<DamagedRow> rows);
  void note_carried();

  // engine_lead.cc: taking, keeping and giving up the lead.
  void feed(const core::lead::Input& input);
  void perform(const core::lead::TryAcquire& order);
  void perform(const core::lead::Renew& order);
  void perform(const core::lead::Release& order);
  void perform(const core::lead::StartLoading& order);
  void perform(const core::lead::StartServing& order);
  void perform(const core::lead::StepDown& order);
  bool may_act() const;
  void abandon(std::string_view why);
  void drop_memory(const api::UnservedError& stepped);
  Instant term_now() const;

  EngineConfig config_;
  Committer& committer_;
  Waiters& waiters_;
  Outlet& outlet_;
  Inbox inbox_;
  std::thread thread_;

  // Of the engine's thread.
  core::Leadership leadership_;
  core::lead::TermClock term_clock_;
  std::unique_ptr<core::State> state_;
  Batch gathering_;
  std::optional<Writing> writing_;
  std::uint64_t commits_ = 0;
  std::optional<core::Command> wants_image_;  // steps stand still until its run has been read
  bool reading_image_ = false;
  std::vector<Asked> held_back_;  // taken while the steps stood still
  bool stalled_ = false;
  bool stopping_ = false;
  Instant next_count_;                  // term clock
  Instant next_tick_;                   // term clock
  Instant next_retention_;              // boot clock
  std::optional<Instant> space_again_;  // boot clock: when a full store is tried again
  Audit audit_;
  bool comparing_ = false;  // a slice is with the committer
  Instant next_audit_;      // boot clock
  Instant next_slice_;      // boot clock
  std::vector<std::function<void(api::Asked<api::ReconcileReport>)>> audit_waiters_;
  std::vector<std::string> carried_;     // findings that caused the reload, to be noted after it
  std::vector<std::string> last_found_;  // the same again is not cured by another reload
  // Of the committer's thread.
  std::unique_ptr<store::Reader> audit_reader_;
  bool last_commit_done_ = false;

  // Read by others.
  mutable std::mutex told_guard_;
  std::string trouble_;
  std::vector<DamagedRow> damaged_;
  std::atomic<bool> serves_{false};
  std::atomic<bool> store_well_{false};
  std::atomic<bool> low_space_{false};
  std::atomic<std::uint64_t> term_{0};
  std::atomic<std::int64_t> clock_offset_us_{0};  // term clock minus boot clock
  std::atomic<std::int64_t> last_commit_us_{0};
  std::atomic<std::uint32_t> live_workers_{0};
  std::atomic<std::uint32_t> live_leases_{0};
  std::atomic<bool> brake_{false};
};

}  // namespace vortex::controller
