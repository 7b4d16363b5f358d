#pragma once
// The engine (engine/engine.h) in the world: one thread that tells it what was asked and how its
// orders ended, and carries its orders out.
//
// It decides nothing: what is written, when it may leave, and what follows from a doubt is the
// engine's. Whatever touches the store is a job for the committer; its end comes back as a notice.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "base/time.h"
#include "controller/audit.h"
#include "controller/inbox.h"
#include "controller/outage_lines.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "store/store.h"

namespace vortex::controller {

// The thread that alone writes to the store: it does jobs one after another, in order.
//
// Whatever touches the writer is a job: commits, the lease to lead, loading, retention. A job says
// how it went by calling back; callbacks run on this thread and must only hand over.

class Committer {
 public:
  explicit Committer(store::Writer& writer);
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  using Job = std::function<void(store::Writer&)>;
  void post(Job job);
  // Does what is already there, then ends. Nothing may be posted afterwards.
  void stop();
  bool is_idle() const;

 private:
  void run();

  store::Writer& writer_;
  mutable std::mutex guard_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

struct EngineShellConfig {
  engine::EngineConfig engine;
  store::Retention retention;
  std::size_t inbox_max = 10'000;
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
  virtual void committed(const engine::Batch& batch, Duration took) = 0;
  virtual void passed_over_workers(Duration took) = 0;
  // False: there is no space left although the reserve was given up. True: try once more.
  virtual bool make_space() = 0;
  virtual void audited(const api::ReconcileReport& report) = 0;
  virtual void say(LogLevel level, std::string what) = 0;  // for the log of the process
};

class EngineShell {
 public:
  EngineShell(EngineShellConfig config, Committer& committer, Waiters& waiters, Outlet& outlet);
  ~EngineShell();
  EngineShell(const EngineShell&) = delete;
  EngineShell& operator=(const EngineShell&) = delete;

  // `url` is where others reach this controller when it leads.
  void start(std::string url);
  // Commits what was stepped, gives leadership back, ends. Idempotent.
  void stop();

  // From any thread. Not asked means: nothing happened.
  enum class Refused : std::uint8_t { kNo, kBusy, kNotServing };
  Refused ask(Asked asked);
  void hint_free() { tell(core::lead::Input{core::lead::MayBeFree{}}); }

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
  // As of the last second.
  struct Live {
    std::uint32_t workers = 0;
    std::uint32_t leases = 0;
    bool brake = false;
  };
  Live live() const { return {live_workers_, live_leases_, brake_}; }
  // Submits are refused while this is set.
  void set_low_space(bool low);
  bool low_space() const { return low_space_; }

 private:
  void run();
  void tell(engine::Input input) { inbox_.notice(std::move(input)); }
  void feed(engine::Input input);
  void take(Asked& asked);
  void take(SliceCompared& compared);
  void carry_out(engine::Orders orders);
  void count_live(Instant now);

  // engine_orders.cc: one for each order.
  void perform(core::lead::TryAcquire& order);
  void note_outage(const store::Error& error);
  void perform(core::lead::Renew& order);
  void perform(core::lead::Release& order);
  void perform(engine::WriteBatch& order);
  void perform(engine::MakeSpace& order);
  void perform(engine::ReleaseBatch& order);
  void perform(engine::LoadImage& order);
  void perform(engine::ReadRun& order);
  void perform(engine::FindExpirable& order);
  void perform(engine::TakeSlice& order);
  void perform(engine::CheckEnded& order);
  void perform(engine::Refuse& order);
  void perform(engine::RefuseAll& order);
  void perform(engine::Loaded& order);
  void perform(engine::LoadFailed& order);
  void perform(engine::Serves& order);
  void perform(engine::SteppedDown& order);
  void perform(engine::Doubts& order);
  void perform(engine::FoundFenced& order);
  void perform(engine::FoundBroken& order);
  void perform(engine::StoreStalls& order);
  void end_slice(Term term);
  void drop_audit();
  void turn_away(Asked& asked);
  void set_trouble(std::string what);
  void set_damaged(std::vector<DamagedRow> rows);

  EngineShellConfig config_;
  Committer& committer_;
  Waiters& waiters_;
  Outlet& outlet_;
  Inbox inbox_;
  std::string url_;
  std::deque<Asked> taken_;  // out of the inbox and not stepped yet
  std::thread thread_;

  // Of the engine's thread.
  engine::Engine engine_;
  Instant next_count_;  // boot clock
  Audit audit_;
  api::ReconcileReport report_;  // of the newest check that is complete
  std::vector<std::function<void(api::Asked<api::ReconcileReport>)>> audit_waiters_;
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
  // Term clock minus boot clock; before the first term, the wall clock: good enough to show times.
  std::atomic<std::int64_t> clock_offset_us_;
  std::atomic<std::int64_t> last_commit_us_{0};
  std::atomic<std::uint32_t> live_workers_{0};
  std::atomic<std::uint32_t> live_leases_{0};
  std::atomic<bool> brake_{false};
  OutageLines outage_{"the database can be written again"};  // of the committer's thread
};

}  // namespace vortex::controller
