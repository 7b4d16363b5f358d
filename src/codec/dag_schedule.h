#pragma once
// The `schedule` of a DAG out of a document and back, with the words of DAG files.
//
// Read strictly, with the place of every mistake; whether its time zone exists is the question of
// `compile`. The words are in files of users: append-only. Internal to the codec.

#include <optional>
#include <string_view>
#include <vector>

#include "codec/json_writer.h"
#include "codec/reading.h"
#include "model/schedule.h"

namespace vortex::codec {

inline constexpr std::uint32_t kCatchUpMax = 1'000;

void read_schedule(Reading& in, NodeIx node, std::optional<ScheduleSpec>& out);
// Its member, or nothing where there is none.
void write_schedule(JsonWriter& json, const std::optional<ScheduleSpec>& schedule);

std::vector<std::string_view> schedule_keys();
std::vector<std::string_view> catchup_keys();

}  // namespace vortex::codec
