#pragma once
// Sub-DAGs: which DAGs a DAG runs as children of its tasks, and what these are given.
//
// A specification carries all of them, each once, in DagSpec::dags; names lead from task to DAG.
// Checked when a DAG is compiled: names, cycles, depth, params. Pure functions.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/check.h"
#include "model/dag.h"
#include "model/passing/evaluate.h"
#include "model/plan.h"

namespace vortex {

inline constexpr std::size_t kChildDepthMax = 8;      // generations below a run
inline constexpr std::size_t kChildDagsMax = 100;     // that one specification carries
inline constexpr std::uint32_t kChildrenMax = 1'000;  // at once, of one map without max_parallel

// Whether a reference names a file beside the DAG file, and not a DAG.
bool is_dag_file(std::string_view reference);

// What a task that is a sub-DAG must and must not say; nothing about others.
Complaint complain_of_child(const NodeSpec& node);

// Null: the specification does not carry it.
const DagSpec* find_dag(const DagSpec& spec, std::string_view name);

// The DAGs that its tasks, or those of what it carries, refer to and that are not there.
std::vector<std::string> missing_dags(const DagSpec& spec);

// ---- For `compile` ----

using CompiledDags = std::map<std::string, PlanPtr, std::less<>>;
using CompileOne = std::function<std::expected<PlanPtr, DagError>(DagSpec, const CompiledDags&)>;

// Compiles what the specification carries, from below, and drops what nothing refers to.
std::expected<CompiledDags, DagError> compile_dags(DagSpec& spec, const CompileOne& compile_one);

// Gives the nodes their children, and lists what params of children and the outputs of the DAG
// read. Precondition: the expressions were scanned.
std::optional<DagError> link_children(PlanBase& plan, const CompiledDags& dags);

// ---- Params ----

using NamedValues = std::vector<std::pair<std::string, Value>>;

// The params of a run of this DAG as compact JSON, with its defaults; or what is wrong with them,
// which completes "param".
std::expected<std::string, std::string> params_of(const DagSpec& dag, const NamedValues& given);

// As one compact JSON object.
std::string object_of(const NamedValues& values);

}  // namespace vortex
