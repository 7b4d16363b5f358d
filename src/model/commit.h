#pragma once
// One transaction of the controller: what the core changed and what its shell adds.
//
// All of it becomes durable or nothing does. The store refuses it when `term` is not the newest.

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"
#include "model/rows.h"

namespace vortex {

// The events of one commit as lines of JSON, each ending with a newline; kept compressed.
struct EventBlock {
  std::uint64_t first_seq = 0;  // 0: the commit has no events
  std::uint64_t last_seq = 0;
  std::string lines;
};

// A piece of an attempt's output. Counted by bytes: a piece that repeats or overlaps what is there
// adds only what is new, a piece that would leave a gap is refused before it gets here.
struct LogChunk {
  Attempt attempt;
  std::uint64_t offset = 0;
  std::string data;
};

// A part of a checkpoint that is too large for a row. A piece that is there already changes
// nothing; the first one of an upload removes what an unfinished upload of that task left.
struct CheckpointPiece {  // key: (task, upload, offset)
  TaskId task;
  std::uint64_t upload = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string data;  // packed (store/packed.h) when that is shorter than `size`
};

struct TokenRow {  // key: name
  std::string name;
  Role role = Role::kViewer;
  std::string hash;  // of the secret; the secret itself is never stored
  Instant created_at;
  bool revoked = false;
  // Ids of the workers that it may act for, separated by commas; one may end with '*'. Empty: all.
  std::string workers = {};
};

// How far the telling of events has come. Everything up to `after` was told, or was not wanted.
struct WebhookProgress {
  std::uint64_t after = 0;      // the sequence of an event
  std::uint64_t delivered = 0;  // events that the receiver took
  std::uint64_t given_up = 0;   // events that it refused again and again
  std::uint64_t missed = 0;     // events of any kind that were no longer kept when their turn came
  Instant delivered_at = kNever;
  std::string trouble;  // why the last try failed; empty: it did not
  friend bool operator==(const WebhookProgress&, const WebhookProgress&) = default;
};

// An address that events are told to.
struct WebhookRow {  // key: name
  std::string name;
  std::string url;
  std::string kinds;   // of the events that are told, separated by commas
  std::string dag;     // only of runs of this DAG; empty: of all
  std::string secret;  // signs what is told; sealed if there is a master key
  Instant created_at;
  WebhookProgress progress;
  bool deleted = false;
};

// Progress of one; nothing when there is none with that name and time of making any more.
struct WebhookStep {
  std::string name;
  Instant created_at;
  WebhookProgress progress;
};

// The same secret of one, sealed or with a new master key; nothing when there is none such.
struct WebhookSeal {
  std::string name;
  Instant created_at;
  std::string secret;
};

// A secret in the vault: what may use it. Its values are in its versions.
struct SecretRow {  // key: name
  std::string name;
  std::uint32_t latest = 0;  // the newest version; numbers are never used again
  std::string dag;           // only for tasks of this DAG; empty: of any
  std::string queue;         // only for tasks of this queue; empty: of any
  Labels labels;             // only for tasks that require all of these of their worker
  Instant created_at;
  Instant updated_at;
  std::string updated_by;  // name of a token; empty: none was needed
  bool deleted = false;    // stays, so that its numbers are not used again
};

// One value of a secret, sealed (vault/vault.h).
struct SecretVersionRow {  // key: (name, version)
  std::string name;
  std::uint32_t version = 0;
  std::uint32_t bytes = 0;  // of the value
  Instant created_at;
  std::string created_by;
  std::string key_id;
  std::string wrapped_key;
  std::string sealed;
  bool gone = false;  // to be deleted
};

// A secret with those of its versions that are new or gone: one transaction.
struct SecretChange {
  SecretRow row;
  std::vector<SecretVersionRow> versions;
};

// The key of one version, wrapped by another master key; nothing when the version is gone.
struct SecretRewrap {
  std::string name;
  std::uint32_t version = 0;
  std::string key_id;
  std::string wrapped_key;
};

// A named DAG that runs can be made from. Every version that was applied is kept by its digest.
struct DagRow {  // key: name
  std::string name;
  PlanPtr plan;
  Instant updated_at;
  bool deleted = false;
};

// Who did what to what, and with which outcome. Never holds a secret or a part of a body.
struct AuditRow {         // key: seq
  std::uint64_t seq = 0;  // the time in microseconds, or one more than the entry before
  Instant at;
  std::string who;        // name of the token; empty: none, or an unknown one
  std::string address;    // without the port; empty: several
  std::string operation;  // id of the route; empty: none, or several
  std::string target;     // what it was done to: the parameters of the path, or what was made
  std::uint32_t status = 0;
  std::string code;         // of the error; empty: none
  std::uint64_t count = 1;  // requests that it stands for
};

// A finished run that retention lets go.
struct ExpiredRun {
  RunId run;
  std::string idempotency_key;  // empty: none
};

struct Commit {
  Term term;
  Instant now;  // the term clock; never goes back, also across restarts
  RowBatch rows;
  EventBlock events;
  std::vector<LogChunk> logs;
  std::vector<CheckpointPiece> pieces = {};
  std::vector<TokenRow> tokens;
  std::vector<WebhookRow> webhooks;
  std::vector<WebhookStep> webhook_steps;       // after `webhooks`
  std::vector<WebhookSeal> webhook_seals = {};  // the same
  std::vector<SecretChange> secrets = {};
  std::vector<SecretRewrap> rewraps = {};  // after `secrets`
  std::vector<DagRow> dags;
  std::vector<AuditRow> audit = {};
  std::vector<RunId> expired;  // finished runs that are forgotten: gone from reads with this commit
};

}  // namespace vortex
