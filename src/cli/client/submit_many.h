#pragma once
// `vortex run FILE --each LINES`: one run for each line of a file, in few calls.
//
// Every line is checked before anything is sent. Each run has a key of its own, so a call that is
// repeated, or the whole command with the same key, starts nothing twice.

#include <string>

#include "cli/client/api_client.h"
#include "cli/context.h"
#include "model/plan.h"

namespace vortex::cli {

struct SubmitMany {
  std::string each;  // JSON lines: {"params": {...}, "labels": {...}, "idempotency_key": "..."}
  std::string key;   // line N without a key has KEY:N; empty: a fresh one
};

ExitCode submit_many(const Context& context, const DagPlan& plan, SubmitMany wanted);

}  // namespace vortex::cli
