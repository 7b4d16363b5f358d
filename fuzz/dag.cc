// A DAG from a stranger: refused with reasons, or read, written and read again as the same.
#include "model/dag.h"

#include <string>

#include "codec/dag_json.h"
#include "fuzz/check.h"
#include "model/plan.h"

namespace {

using namespace vortex;

// Small, so that the fuzzer does not spend its time on maps of a million tasks.
constexpr DagLimits kLimits{
    .nodes_max = 1'000, .tasks_max = 10'000, .depth_max = 100, .needs_max = 10'000};

void check_round_trip(const DagSpec& spec) {
  const std::string written = codec::write_dag(spec);
  const auto again = codec::read_dag(written);
  VX_ASSERT(again.has_value());
  VX_ASSERT(digest_of(*again) == digest_of(spec));
  VX_ASSERT(codec::write_dag(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto spec = codec::read_dag(fuzz::text_of(data, size));
  if (!spec) {
    fuzz::check_problems(spec.error());
    return 0;
  }
  check_round_trip(*spec);
  const auto plan = compile(*std::move(spec), kLimits);
  if (plan) {
    VX_ASSERT((*plan)->tasks >= 1);
    return 0;
  }
  const codec::Problem problem = codec::explain_dag_error(plan.error());
  VX_ASSERT(!problem.message.empty() && problem.pointer.starts_with('/'));
  return 0;
}
