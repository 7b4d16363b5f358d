#pragma once
// The small JSON bodies of requests, read strictly: unknown keys and wrong types are problems.
// What workers send is read by the codec. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/document.h"
#include "core/command.h"
#include "model/commit.h"
#include "model/dag.h"
#include "model/sync.h"

namespace vortex::api {

// Which results of an earlier run a new one may keep.
struct KeepBody {
  RunId run;                       // 0: of none
  std::vector<std::string> again;  // tasks that run again, with everything behind them
};
struct SubmitBody {
  std::string dag_name;    // either a name
  std::string dag_json;    // or a specification, as it stands in the body
  codec::Position dag_at;  // where that begins
  std::string params = "{}";
  Labels labels;                     // sorted by key
  std::optional<Instant> slot = {};  // of the stored DAG's schedule, to be made up for
  std::optional<Instant> starts_at = {};
  KeepBody keep = {};
};
codec::Decoded<SubmitBody> read_submit(std::string_view json);
struct SubmitItem : SubmitBody {
  std::string key;  // empty: none of its own
};
// Many runs, each of the DAG it names or of the common one.
struct SubmitManyBody : SubmitBody {
  std::vector<SubmitItem> runs;
};
inline constexpr std::size_t kSubmitManyMax = 10'000;
codec::Decoded<SubmitManyBody> read_submit_many(std::string_view json);
// One of its runs by itself.
codec::Decoded<SubmitItem> read_submit_item(std::string_view json);
// Without a DAG; nothing at all stands for no params and no labels.
codec::Decoded<SubmitBody> read_submit_named(std::string_view json);

struct LeaseBody {
  AgentId agent;
  Epoch epoch;
};
codec::Decoded<LeaseBody> read_lease_request(std::string_view json);
codec::Decoded<LeaseBody> read_lease_held(std::string_view json);

struct DrainBody {
  std::optional<Duration> deadline;
};
// Nothing at all stands for no deadline.
struct TriggerBody {
  bool unless_running = false;
};
codec::Decoded<TriggerBody> read_trigger(std::string_view json);
struct LimitBody {
  std::uint32_t slots = 0;  // 0: any number
  std::uint32_t rate = 0;   // 0: any number
  Duration window = {};
};
codec::Decoded<LimitBody> read_limit_body(std::string_view json);
codec::Decoded<DrainBody> read_drain(std::string_view json);

// Acts on everything that matches, if it is still as many as the caller has seen.
struct BulkLettersBody {
  std::uint64_t expected = 0;
  std::optional<RunId> run;  // unset: of all runs
};
codec::Decoded<BulkLettersBody> read_bulk_letters(std::string_view json);

// The payload of a signal; nothing at all stands for none.
struct SignalBody {
  std::string data;  // a JSON object; empty: none
};
codec::Decoded<SignalBody> read_signal(std::string_view json);

// The answer to an approval. A rejection has a reason and no data.
struct ApproveBody {
  std::string comment;
  std::string data;  // a JSON object; empty: none
};
codec::Decoded<ApproveBody> read_approve(std::string_view json);
struct RejectBody {
  std::string reason;
};
codec::Decoded<RejectBody> read_reject(std::string_view json);

struct ExitedBody {
  Incarnation incarnation;
  std::vector<Attempt> started;
  std::vector<Incarnation> incarnations;  // all lives of the process; may be empty
  std::optional<core::ProcessEnd> how;
};
// Unknown keys are ignored: supervisors of another version say this too.
codec::Decoded<ExitedBody> read_exited(std::string_view json);

// Entries of a supervisor's journal. Unknown keys are ignored here as well.
struct LifecycleBody {
  std::string machine;
  std::string journal;
  std::vector<core::LifecycleEntry> entries;
};
codec::Decoded<LifecycleBody> read_lifecycle(std::string_view json);

struct TokenBody {
  std::string name;
  Role role = Role::kViewer;
  std::string workers;  // as in TokenRow
};
codec::Decoded<TokenBody> read_token_request(std::string_view json);

struct SessionBody {
  std::string token;
};
codec::Decoded<SessionBody> read_session_request(std::string_view json);

struct WebhookBody {
  std::string name;
  std::string url;
  std::vector<std::string> kinds;  // empty: not given
  std::string dag;
  std::optional<std::uint64_t> after;
};
codec::Decoded<WebhookBody> read_webhook_request(std::string_view json);

}  // namespace vortex::api
