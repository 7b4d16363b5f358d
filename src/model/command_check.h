#pragma once
// What a command line must keep to, so that the kernel does not refuse it on the worker.
// Checked when the DAG is compiled: a mistake should show at submit, not hours later.

#include <cstddef>
#include <string_view>

#include "model/dag.h"
#include "model/text_check.h"

namespace vortex {

inline constexpr std::size_t kPathBytesMax = 4'095;         // the kernel's limit for a path
inline constexpr std::size_t kArgumentBytesMax = 131'071;   // the kernel's limit for one argument
inline constexpr std::size_t kCommandBytesMax = 1'048'576;  // arguments and environment together

Complaint complain_of_variable(std::string_view name, std::string_view value);

// The first complaint, if any. An empty command is fine: not every task starts a process.
Complaint complain_of_command(const CommandLine& command);

}  // namespace vortex
