#pragma once
// What went wrong with a request, as a value, and how it becomes application/problem+json.
//
// Handlers return a Trouble instead of an answer; one place adds the request id and writes it.
// The functions from_... are the only translation of the layers below into codes and statuses.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/backend.h"
#include "api/codes.h"
#include "base/time.h"
#include "codec/document.h"
#include "core/effects.h"
#include "model/sync.h"
#include "net/http.h"
#include "store/error.h"

namespace vortex::api {

struct Trouble {
  Code code = Code::kInternal;
  std::string detail;
  std::string hint;                    // empty: the code's own
  std::vector<std::string> near;       // what was probably meant, of what is there
  codec::Problems errors;              // each points at one value of the body
  Duration retry_after;                // zero: none is given
  std::optional<SyncRefusal> refusal;  // of register and sync: which life is current
  std::string allow;                   // methods, for 405
  std::string needed_role;             // for 403
  int status = 0;                      // 0: the code's own
};

Trouble trouble(Code code, std::string detail = {});
// Nothing is called `wanted`. `known`, newest first: the name that was probably meant is told, or
// else the newest few.
Trouble no_such(Code code, std::string wanted, const std::vector<std::string>& known);

Trouble from_unserved(const UnservedError& error);
Trouble from_refusal(const core::Refusal& refusal);
Trouble from_sync_refusal(const SyncRefusal& refusal);
Trouble from_store(const store::Error& error);
Trouble from_dag_error(const DagError& error);
// When `body` is not JSON at all the code is kNotJson, else `otherwise`.
Trouble from_problems(codec::Problems problems, std::string_view body, Code otherwise);

// Where a part stands in the body it was taken from.
struct PartPlace {
  std::string_view pointer;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};
// The problems of the part, placed in the whole body.
codec::Problems placed(codec::Problems problems, const PartPlace& place);

net::Response write_problem(const Trouble& trouble, std::string_view request_id);
int status_of(const Trouble& trouble);
// Its JSON object, for a place inside another answer.
std::string problem_json(const Trouble& trouble, std::string_view request_id);

}  // namespace vortex::api
