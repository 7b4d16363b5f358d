#pragma once
// All that stands in the way of running a DAG file, where `compile` would stop at the first.
// Each complaint has its place in the file. Internal to the codec.

#include "codec/dag_file.h"
#include "codec/loaded_file.h"
#include "model/dag.h"

namespace vortex::codec {

DagComplaint placed_complaint(const LoadedFile& file, const DagSpec& spec, const DagError& error);

// Needs that no task has the name of.
void complain_of_needs(const LoadedFile& file, const DagSpec& spec, DagComplaints& out);
// Names and values, task by task.
void complain_of_tasks(const LoadedFile& file, const DagSpec& spec, DagComplaints& out);
void complain_of_expressions(const LoadedFile& file, const DagSpec& spec, DagComplaints& out);

}  // namespace vortex::codec
