#include "api/trouble.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/dag_json.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "codec/sync_json.h"

namespace vortex::api {

namespace {

constexpr std::size_t kNearMax = 3;

// Whole seconds, as the header wants them; at least one.
std::int64_t retry_seconds(Duration wait) {
  return std::max<std::int64_t>(1, (wait.us + 999'999) / 1'000'000);
}

Code code_of(Unserved why) {
  switch (why) {
    case Unserved::kBusy:
      return Code::kBusy;
    case Unserved::kNotLeader:
      return Code::kNotLeader;
    case Unserved::kNoSpace:
      return Code::kNoSpace;
    case Unserved::kNoStore:
      return Code::kStoreDown;
    case Unserved::kUnknown:
      return Code::kOutcomeUnknown;
    case Unserved::kGone:
      return Code::kGone;
  }
  return Code::kInternal;
}

Code code_of(core::RefusalKind kind) {
  switch (kind) {
    case core::RefusalKind::kUnknownRun:
      return Code::kNoSuchRun;
    case core::RefusalKind::kUnknownTask:
      return Code::kNoSuchTask;
    case core::RefusalKind::kUnknownWorker:
      return Code::kNoSuchWorker;
    case core::RefusalKind::kStaleIncarnation:
      return Code::kStaleIncarnation;
    case core::RefusalKind::kRunNotLive:
      return Code::kRunNotLive;
    case core::RefusalKind::kWrongState:
      return Code::kWrongState;
    case core::RefusalKind::kRunEnding:
      return Code::kRunEnding;
    case core::RefusalKind::kNoDeadLetter:
      return Code::kNoDeadLetter;
    case core::RefusalKind::kKeyReused:
      return Code::kKeyReused;
    case core::RefusalKind::kDagInvalid:
      return Code::kDagMalformed;
    case core::RefusalKind::kLeaseNotHeld:
      return Code::kLeaseNotHeld;
    case core::RefusalKind::kLeaseTaken:
      return Code::kLeaseTaken;
    case core::RefusalKind::kMalformed:
      return Code::kImpossible;
    case core::RefusalKind::kOverQuota:
      return Code::kOverQuota;
    case core::RefusalKind::kNoSession:
      return Code::kNoSession;
    case core::RefusalKind::kWrongSession:
      return Code::kWrongSession;
    case core::RefusalKind::kWorkerTaken:
      return Code::kWorkerTaken;
    case core::RefusalKind::kUnknownSignal:
      return Code::kNoSuchSignal;
    case core::RefusalKind::kNotAllowed:
      return Code::kMayNotAnswer;
    case core::RefusalKind::kTooManySignals:
      return Code::kTooManySignals;
    case core::RefusalKind::kUnknownLimit:
      return Code::kNoSuchLimit;
    case core::RefusalKind::kUnknownSchedule:
      return Code::kNoSuchSchedule;
  }
  return Code::kInternal;
}

Code code_of(SyncRefusal::Why why) {
  switch (why) {
    case SyncRefusal::Why::kUnknownWorker:
      return Code::kRegisterFirst;
    case SyncRefusal::Why::kStaleIncarnation:
      return Code::kStaleIncarnation;
    case SyncRefusal::Why::kSessionEnded:
      return Code::kSessionEnded;
    case SyncRefusal::Why::kOldMessage:
      return Code::kOldMessage;
    case SyncRefusal::Why::kMalformed:
      return Code::kBadSync;
    case SyncRefusal::Why::kNoSession:
      return Code::kNoSession;
    case SyncRefusal::Why::kWrongSession:
      return Code::kWrongSession;
  }
  return Code::kInternal;
}

void write_errors(codec::JsonWriter& json, const codec::Problems& errors) {
  json.key("errors").begin_array();
  for (const codec::Problem& error : errors) {
    json.begin_object().field("pointer", error.pointer).field("message", error.message);
    if (!error.help.empty()) json.field("help", error.help);
    if (error.line != 0) json.field("line", error.line).field("column", error.column);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

int status_of(const Trouble& trouble) {
  return trouble.status != 0 ? trouble.status : about(trouble.code).status;
}

std::string problem_json(const Trouble& trouble, std::string_view request_id) {
  const CodeInfo& info = about(trouble.code);
  std::string body;
  codec::JsonWriter json(body);
  json.begin_object();
  json.field("type", fmt::format("urn:vortex:error:{}", info.text));
  json.field("title", info.title);
  json.field("status", std::int64_t{status_of(trouble)});
  json.field("detail", trouble.detail.empty() ? info.title : std::string_view(trouble.detail));
  json.field("code", info.text);
  json.field("hint", trouble.hint.empty() ? info.hint : std::string_view(trouble.hint));
  json.field("request_id", request_id);
  if (!trouble.near.empty()) {
    json.key("near").begin_array();
    for (const std::string& name : trouble.near) json.text(name);
    json.end_array();
  }
  if (!trouble.errors.empty()) write_errors(json, trouble.errors);
  if (trouble.refusal) {
    json.field("why", to_text(trouble.refusal->why));
    json.field("current", trouble.refusal->current.value);
  }
  if (trouble.retry_after > Duration{}) {
    json.field("retry_after_ms", trouble.retry_after.us / 1'000);
  }
  if (!trouble.needed_role.empty()) json.field("needed_role", trouble.needed_role);
  json.end_object();
  return body;
}

Trouble trouble(Code code, std::string detail) {
  Trouble out;
  out.code = code;
  out.detail = std::move(detail);
  return out;
}

Trouble no_such(Code code, std::string wanted, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string_view near = nearest_name(wanted, names);
  Trouble out = trouble(code, std::move(wanted));
  if (!near.empty()) {
    out.near.emplace_back(near);
  } else {
    out.near.assign(known.begin(),
                    known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kNearMax)));
  }
  return out;
}

Trouble from_unserved(const UnservedError& error) {
  Trouble out = trouble(code_of(error.why), error.detail);
  out.retry_after = error.retry_after > Duration{} ? error.retry_after : seconds(1);
  return out;
}

namespace {

constexpr Duration kQuotaRetryAfter = seconds(10);  // runs end, but not from one second to the next

}  // namespace

Trouble from_refusal(const core::Refusal& refusal) {
  if (refusal.kind == core::RefusalKind::kDagInvalid && refusal.dag) {
    return from_dag_error(*refusal.dag);
  }
  Trouble out = trouble(code_of(refusal.kind), refusal.detail);
  if (refusal.kind == core::RefusalKind::kOverQuota) out.retry_after = kQuotaRetryAfter;
  if (refusal.kind == core::RefusalKind::kStaleIncarnation) {
    out.refusal = SyncRefusal{SyncRefusal::Why::kStaleIncarnation,
                              refusal.incarnation.value_or(Incarnation{})};
  }
  return out;
}

Trouble from_sync_refusal(const SyncRefusal& refusal) {
  Trouble out = trouble(code_of(refusal.why));
  out.refusal = refusal;
  return out;
}

Trouble from_store(const store::Error& error) {
  const bool ours = error.fault == store::Fault::kBadRequest;
  Trouble out = trouble(ours ? Code::kBadCursor : Code::kStoreUnreadable, error.detail);
  if (!ours) out.retry_after = seconds(1);
  return out;
}

Trouble from_dag_error(const DagError& error) {
  codec::Problem problem = codec::explain_dag_error(error);
  Trouble out = trouble(api::code_of(error.kind), problem.message);
  out.hint = problem.help;
  out.errors.push_back(std::move(problem));
  return out;
}

Trouble from_problems(codec::Problems problems, std::string_view body, Code otherwise) {
  codec::Document document;
  Trouble out = trouble(document.parse(body) ? Code::kNotJson : otherwise);
  if (!problems.empty()) {
    const codec::Problem& first = problems.front();
    out.detail =
        first.pointer.empty() ? first.message : fmt::format("{}: {}", first.pointer, first.message);
    if (problems.size() > 1) out.detail += fmt::format(" (and {} more)", problems.size() - 1);
    if (problems.size() == 1) out.hint = first.help;
  }
  out.errors = std::move(problems);
  return out;
}

codec::Problems placed(codec::Problems problems, const PartPlace& place) {
  for (codec::Problem& problem : problems) {
    problem.pointer.insert(0, place.pointer);
    if (problem.line == 0) continue;
    if (problem.line == 1) problem.column += place.column - 1;
    problem.line += place.line - 1;
  }
  return problems;
}

net::Response write_problem(const Trouble& trouble, std::string_view request_id) {
  net::Response response;
  response.status = status_of(trouble);
  response.content_type = "application/problem+json";
  response.body = problem_json(trouble, request_id) + '\n';
  if (trouble.retry_after > Duration{}) {
    response.headers.emplace_back("Retry-After",
                                  fmt::to_string(retry_seconds(trouble.retry_after)));
  }
  if (response.status == 401) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"vortex\"");
  }
  if (!trouble.allow.empty()) response.headers.emplace_back("Allow", trouble.allow);
  return response;
}

}  // namespace vortex::api
