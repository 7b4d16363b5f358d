#include "cli/dag_file.h"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "api/codes.h"
#include "base/file_text.h"
#include "codec/dag_file.h"
#include "codec/dag_json.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kDagFileBytesMax = 64UL * 1024 * 1024;  // no controller takes more

std::expected<std::string, ExitCode> read_file(const std::string& path) {
  auto text = read_file_text(path, kDagFileBytesMax);
  if (text) return *std::move(text);
  const FileFault fault = text.error().fault;
  complain(fmt::format("{} {}", path, text.error().why),
           fault == FileFault::kIsDirectory ? "name one DAG file in it" : "");
  return std::unexpected(fault == FileFault::kMissing ? ExitCode::kNotFound : ExitCode::kInvalid);
}

}  // namespace

std::expected<PlanPtr, ExitCode> load_dag_plan(const Context& /*context*/,
                                               const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  auto plan = codec::check_dag_file(*text, codec::syntax_of(path), DagLimits{});
  if (plan) return *std::move(plan);
  for (const codec::DagComplaint& complaint : plan.error()) {
    const api::Code code =
        complaint.kind ? api::code_of(*complaint.kind) : api::Code::kDagMalformed;
    fmt::print(stderr, "{}", codec::to_text(complaint.problem, path, api::about(code).text));
  }
  return std::unexpected(ExitCode::kInvalid);
}

std::expected<std::string, ExitCode> load_dag_file(const Context& context,
                                                   const std::string& path) {
  const auto plan = load_dag_plan(context, path);
  if (!plan) return std::unexpected(plan.error());
  return codec::write_dag((*plan)->spec);
}

}  // namespace vortex::cli
