// A DAG file from a stranger: refused with reasons and places, or a plan that survives the wire.
#include <string>

#include "codec/dag_file.h"
#include "codec/dag_json.h"
#include "fuzz/check.h"
#include "model/dag.h"
#include "model/plan.h"

namespace {

using namespace vortex;

constexpr DagLimits kLimits{
    .nodes_max = 1'000, .tasks_max = 10'000, .depth_max = 100, .needs_max = 10'000};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto plan = codec::check_dag_file(text, codec::Syntax::kYaml, kLimits);
  if (!plan) {
    codec::Problems problems;
    for (const codec::DagComplaint& c : plan.error()) {
      problems.push_back(c.problem);
      VX_ASSERT(!codec::to_text(c.problem, "f", "").empty());
    }
    fuzz::check_problems(problems);
    return 0;
  }
  const auto again = codec::read_dag(codec::write_dag((*plan)->spec));
  VX_ASSERT(again.has_value());
  VX_ASSERT(digest_of(*again) == (*plan)->digest);
  return 0;
}
