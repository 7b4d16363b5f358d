#include "cli/dag_file.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
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
           fault == FileFault::kIsDirectory ? "specify one of the DAG files in it" : "");
  return std::unexpected(fault == FileFault::kMissing ? ExitCode::kNotFound : ExitCode::kInvalid);
}

bool is_dag_name(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  const bool hidden = path.filename().string().starts_with('.');
  return !hidden && (ending == ".yaml" || ending == ".yml" || ending == ".json");
}

std::expected<std::vector<std::string>, ExitCode> files_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code fault;
  std::filesystem::directory_iterator entry(folder, fault);
  for (const std::filesystem::directory_iterator end; !fault && entry != end;
       entry.increment(fault)) {
    std::error_code gone;  // a dangling link is reported when it is read
    if (is_dag_name(entry->path()) && !entry->is_directory(gone)) {
      found.push_back(entry->path().string());
    }
  }
  if (fault) {
    complain(fmt::format("{} cannot be read: {}", folder, fault.message()));
    return std::unexpected(ExitCode::kInvalid);
  }
  if (found.empty()) {
    complain(fmt::format("{} has no DAG files", folder), "DAG files end in .yaml, .yml or .json");
    return std::unexpected(ExitCode::kNotFound);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::expected<std::vector<std::string>, ExitCode> dag_files_of(
    const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code unknown;
    if (!std::filesystem::is_directory(path, unknown)) {
      files.push_back(path);
      continue;
    }
    auto inside = files_in(path);
    if (!inside) return std::unexpected(inside.error());
    std::ranges::move(*inside, std::back_inserter(files));
  }
  return files;
}

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
  // What cannot be read hides what a whole DAG would be checked for.
  const auto unread = [](const codec::DagComplaint& complaint) { return !complaint.kind; };
  if (std::ranges::any_of(plan.error(), unread)) {
    fmt::print(stderr, "more errors may follow once {} fixed\n",
               plan.error().size() == 1 ? "this is" : "these are");
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
