#pragma once
// The parts that DAGs and messages have in common: resources, labels, commands, times.
// Each is read and written in one way only. Internal to the codec; one thread per Reading.

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "codec/json_writer.h"
#include "codec/reading.h"
#include "model/dag.h"

namespace vortex::codec {

// "90s"; within low and high.
void read_duration(Reading& in, NodeIx node, Duration& out, Duration low, Duration high);
// Whole milliseconds from 0 to kForever.
void read_millis(Reading& in, NodeIx node, Duration& out);

// Sorted by name.
void read_labels(Reading& in, NodeIx node, Labels& out);
// In the order of the document.
void read_env(Reading& in, NodeIx node, std::vector<std::pair<std::string, std::string>>& out);
void read_resources(Reading& in, NodeIx node, Resources& out);
// A JSON object, kept as text.
void read_passed_object(Reading& in, NodeIx node, std::string& out);

// Each writes its member, or nothing where there is nothing to say.
void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts);
void write_pairs(JsonWriter& json, std::string_view name,
                 const std::vector<std::pair<std::string, std::string>>& pairs);
void write_resources(JsonWriter& json, const Resources& resources);
// run, shell, env and workdir.
void write_command(JsonWriter& json, const CommandLine& command);

// The command's members as they are found; `finish_command` judges them together.
struct CommandDraft {
  CommandLine command;
  NodeIx run = 0;
};
void read_run(Reading& in, NodeIx node, CommandDraft& out);
// A single text is a script and needs a shell to read it.
void finish_command(Reading& in, const CommandDraft& draft);

}  // namespace vortex::codec
