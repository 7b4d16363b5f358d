#pragma once
// The worker's side of `sync`: a pure state machine. Facts in, orders out.
//
// Guarantees: an epoch is started at most once; a report is repeated until the controller has it;
// when the controller may be about to give a task to somebody else, its processes are already being
// killed; after a long absence nothing is started before the controller has confirmed what is held.
//
// `now` is the worker's boot clock. The shell gives a Tick at next_wake() and hands over every
// output in order. One thread; no I/O, no clock, no chance but the seeded jitter.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "agent/contact.h"
#include "agent/held.h"
#include "agent/messages.h"
#include "agent/reports.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/sync.h"

namespace vortex::agent {

// The numbers the agent decides by, fixed for one worker process.
//
// Built from settings that have already refused combinations which break the timing rules
// (H <= F/3, F + tick + K <= 0.95 L); the agent relies on them.

struct AgentConfig {
  WorkerInfo info;
  Incarnation incarnation;        // higher than that of every earlier process of this worker
  std::uint32_t controllers = 1;  // how many addresses the shell knows
  Duration heartbeat_interval = seconds(10);   // H
  Duration self_fence = seconds(40);           // F, shortened when the granted lease is short
  Duration kill_time = seconds(15);            // K: TERM, grace, KILL
  Duration shutdown_timeout = seconds(30);     // what runs may finish when it is asked to leave
  Duration tick = millis(500);                 // how late a wake-up may come
  std::size_t report_bytes_max = 1024 * 1024;  // of reports in one call; one report always fits
  Duration assumed_run = seconds(1);           // of a task, until some have ended here
  std::uint64_t seed = 1;                      // of the jitter
};

// Where the worker stands with the controllers, as a sum type, and the calls in flight.
//
//   Idle -> Registering -> Serving -> Exited          left on purpose
//               ^             |
//               |             v
//               +--------- Ending -> Exited           a newer life took over
//
// Ending: the session is over, every process is being killed and nothing is said about them.

struct Call {
  CallId id;
  Callee to;
  Instant sent;
  Channel channel = Channel::kPoll;
  Leaving leaving = Leaving::kNo;  // what it said
};

struct Idle {};

struct Registering {
  std::optional<Call> call;
};

struct Serving {
  std::optional<Call> poll;
  std::optional<Call> report;
  ReplyMark ack;
  Instant alive_at;        // when the newest call that got a good answer was sent
  std::string session;     // the secret of this life
  Duration lease_granted;  // with the registration, and what the controller told then
  Duration fence_told;
  Duration beat;                // H, or less when the controller's is
  Duration fence_after;         // F, or less when the granted lease asks for it
  bool heard = false;           // this session has had a good answer
  bool fenced = false;          // F has passed since alive_at
  Leaving told = Leaving::kNo;  // what the controller is known to know
  Instant poll_not_before;
  std::uint32_t idle_polls = 0;         // in a row: answered before their time and without news
  std::optional<Instant> reported_at;   // when the last report call was sent
  std::optional<Instant> listed_at;     // when `held` was last sent, unless that call failed
  std::optional<Instant> unsure_since;  // end of a gap: nothing starts before a later call succeeds

  Instant fence_at() const { return alive_at + fence_after; }
};

struct Ending {
  bool superseded = false;
};

struct Exited {};

using Session = std::variant<Idle, Registering, Serving, Ending, Exited>;

// How long a worker that leaves and has nothing running any more tries to say its last words. With
// nothing to report it goes as soon as nobody answers: a controller that is frozen has them in its
// socket, and the supervisor tells as well.
constexpr Duration kLastWordsLongest = seconds(2);
constexpr Duration kGoodbyeLongest = millis(500);

class Agent {
 public:
  explicit Agent(AgentConfig config);

  Outbox on(Input input, Instant now);
  // The latest time for the next input; sooner does no harm. kNever: none needed.
  Instant next_wake() const;

  // How long tasks may run if nothing more is heard from here: who runs them ends them then, even
  // when this agent is kept from giving the order.
  Instant tasks_until() const;

  std::vector<HeldTask> held() const { return held_.list(); }
  const HeldTable& table() const { return held_; }
  const Session& session() const { return session_; }
  Incarnation incarnation() const { return incarnation_; }
  std::size_t pending_reports() const { return reports_.size(); }
  bool fenced() const;
  bool exited() const { return std::holds_alternative<Exited>(session_); }

 private:
  // agent.cc: the step and what follows from every one.
  void notice_gap();
  void settle();
  void settle_serving(Serving& serving);
  void judge_fence(Serving& serving);
  void start_or_release(const Serving& serving);
  bool has_room() const { return held_.with_processes() < config_.info.slots; }
  void give_back_ahead();
  void finish_ending(const Ending& ending);
  void exit(Exit::How how);

  // answers.cc: what answers mean.
  void handle(Start& start);
  void handle(RegisterAnswer& answer);
  void handle(SyncAnswer& answer);
  void handle(CallFailed& failed);
  void handle(ControllersKnown& known) { contact_.know(known.count); }
  void on_registered(const Call& call, const RegisterAccepted& accepted);
  void on_register_refused(const RegisterRefused& refused);
  void on_reply(Serving& serving, const Call& call, SyncReply& reply);
  void on_refusal(Serving& serving, const Call& call, const SyncRefusal& refusal);
  void on_no_answer(const Call& call, const CallFailed& failed);
  bool take_orders(Serving& serving, SyncReply& reply);
  bool take_assignment(Assignment assignment);
  void end_session(bool superseded);
  Duration fence_after(const Serving& serving, Duration lease) const;
  Duration beat() const;  // H of the session, or the own one without a session

  // agent.cc: what is sent.
  void send_register(Registering& registering);
  void send_report(Serving& serving);
  std::optional<Instant> report_not_before(const Serving& serving) const;
  void send_poll(Serving& serving);
  SyncRequest new_request(const Serving& serving, CallId call) const;
  CallId next_call() { return CallId{++last_call_}; }

  // tasks.cc: processes, kills, leaving.
  void handle(ProcessStarted& started);
  void handle(ProcessCouldNotStart& failed);
  void handle(ProcessProgress& progress);
  void handle(ProcessOutput& output);
  void handle(ProcessCheckpoint& checkpoint);
  void handle(ProcessExited& exited);
  void handle(DrainRequested& drain);
  void handle(ReleaseNow& release);
  void handle(Tick& tick);
  bool kill(Attempt attempt, KillWhy why);
  void kill_all(KillWhy why);
  void begin_leaving(Duration limit);
  void release_all();
  void judge_leaving();

  AgentConfig config_;
  Contact contact_;
  Incarnation incarnation_;
  Session session_;
  HeldTable held_;
  ReportQueue reports_;
  Pace pace_;
  Leaving leaving_ = Leaving::kNo;
  Instant release_at_ = kNever;        // what still runs then is released
  bool released_ = false;              // leaves without waiting for what runs
  std::optional<Instant> go_by_ = {};  // nothing is left but last words, and they end then
  bool registered_ = false;            // some controller has accepted this process before
  std::uint32_t raises_ = 0;  // how often the incarnation was raised since the last acceptance
  Term newest_term_;
  std::uint64_t last_call_ = 0;
  std::optional<Instant> last_on_;
  Instant now_;
  Outbox out_;
};

}  // namespace vortex::agent
