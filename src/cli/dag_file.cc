#include "cli/dag_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "api/codes.h"
#include "codec/dag_file.h"
#include "codec/dag_json.h"

namespace vortex::cli {
namespace {

std::expected<std::string, ExitCode> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (file && !file.bad()) return text;
  const int why = errno;
  complain(fmt::format("{} can not be read: {}", path, std::strerror(why)));
  return std::unexpected(why == ENOENT ? ExitCode::kNotFound : ExitCode::kInvalid);
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
