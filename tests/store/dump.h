#pragma once
// Rows and answers as text with every field in it, so that two stores can be compared and a
// difference can be read.

#include <string>

#include "model/rows.h"
#include "store/error.h"
#include "store/reader.h"

namespace vortex::store::testing {

std::string show(TaskId task);
std::string show(const RunRow& row);
std::string show(const TaskRow& row);
std::string show(const TaskDataRow& row);
std::string show(const AttemptRow& row);
std::string show(const WorkerRow& row);
std::string show(const MachineRow& row);
std::string show(const JournalRow& row);
std::string show(const ScheduleRow& row);
std::string show(const ScheduleView& view);
std::string show(const QueueRow& row);
std::string show(const LimitRow& row);
std::string show(const ControllerRow& row);
std::string show(const PartitionLeaseRow& row);
std::string show(const DeadLetterRow& row);
std::string show(const SignalRow& row);
std::string show(const CounterRow& row);
std::string show(const KeyRow& row);
std::string show(const RecoveryItemRow& row);
std::string show(const RecoveryView& view);
std::string show(const RunView& view);
std::string show(const TaskView& view);
std::string show(const WorkerView& view);
std::string show(const DeadLetterView& view);
std::string show(const DagView& view);
std::string show(const TokenRow& row);
std::string show(const WebhookRow& row);
std::string show(const AuditRow& row);
std::string show(const SecretRow& row);
std::string show(const SecretVersionRow& row);
std::string show(const LogText& text);
std::string show(const EventLines& lines);
std::string show(const Totals& totals);
std::string show(const RunImage& image);
std::string show(const StoreImage& image);

template <class T>
std::string show(const std::optional<T>& value) {
  return value ? show(*value) : "none";
}
template <class T>
std::string show(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += show(value) + "\n";
  return text;
}
template <class T>
std::string show(const Page<T>& page) {
  return show(page.items) + "next: " + page.next_cursor;
}
template <class T>
std::string show(const Result<T>& result) {
  return result ? show(*result) : "error " + std::to_string(static_cast<int>(result.error().fault));
}

}  // namespace vortex::store::testing
