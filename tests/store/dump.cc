#include "tests/store/dump.h"

#include <concepts>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/records.h"

namespace vortex::store::testing {
namespace {

template <class T>
std::string text_of(const T& value) {
  if constexpr (HasWords<T>) {
    return std::string(to_text(value));
  } else if constexpr (std::integral<T>) {
    return std::to_string(value);
  } else if constexpr (std::same_as<T, Instant>) {
    return value == kNever ? "never" : std::to_string(value.us);
  } else if constexpr (std::same_as<T, Duration>) {
    return std::to_string(value.us);
  } else if constexpr (std::same_as<T, TaskId> || std::same_as<T, RunId>) {
    return to_text(value);
  } else if constexpr (std::same_as<T, CheckpointRef>) {
    return fmt::format("{}/{}", value.number, value.bytes);
  } else if constexpr (std::same_as<T, WorkerInfo>) {
    return fmt::format("{} {} {} {} cpu={} memory={} {}", value.queues, value.labels,
                       value.runtimes, value.users, value.resources.cpu_milli,
                       value.resources.memory_bytes, value.resources.named);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? text_of(*value) : "unset";
  } else if constexpr (requires { value.value; }) {
    return std::to_string(value.value);
  } else if constexpr (requires { value.text; }) {
    return fmt::format("'{}'", value.text);
  } else if constexpr (requires { std::string_view(value); }) {
    return fmt::format("'{}'", value);
  } else {
    std::string all;
    for (const auto& item : value) {
      if constexpr (requires { item.first; }) {
        all += fmt::format("{}={} ", item.first, item.second);
      } else {
        all += text_of(item) + " ";
      }
    }
    return "[" + all + "]";
  }
}

// Every column of the row, by its table.
template <class Row>
std::string show_record(const Row& row) {
  std::string text;
  record::each_field<Row>([&]<std::size_t I>() {
    constexpr auto kField = record::kField<Row, I>;
    if constexpr (!record::kIsBeside<Row, I>) {
      text += fmt::format("{}{}={}", I == 0 ? "" : " ", kField.columns, text_of(kField.get(row)));
    }
  });
  return text;
}

}  // namespace

std::string show(TaskId task) { return to_text(task); }

std::string show(const RunRow& row) {
  return fmt::format("{} plan={:x}", show_record(row), row.plan ? row.plan->digest : 0);
}
std::string show(const TaskRow& row) { return show_record(row); }
std::string show(const TaskDataRow& row) {
  TaskDataRow shown = row;
  if (!shown.uploaded) shown.uploaded.emplace();  // none is 0
  return show_record(shown);
}
std::string show(const AttemptRow& row) { return show_record(row); }
std::string show(const WorkerRow& row) { return show_record(row); }
std::string show(const MachineRow& row) { return show_record(row); }
std::string show(const JournalRow& row) { return show_record(row); }
std::string show(const QueueRow& row) { return show_record(row); }
std::string show(const LimitRow& row) { return show_record(row); }
std::string show(const ControllerRow& row) { return show_record(row); }
std::string show(const PartitionLeaseRow& row) { return show_record(row); }
std::string show(const DeadLetterRow& row) { return show_record(row); }
std::string show(const SignalRow& row) { return show_record(row); }
std::string show(const CounterRow& row) { return show_record(row); }
std::string show(const RecoveryItemRow& row) { return show_record(row); }
std::string show(const TokenRow& row) { return show_record(row); }
std::string show(const WebhookRow& row) { return show_record(row); }
std::string show(const AuditRow& row) { return show_record(row); }
std::string show(const SecretRow& row) { return show_record(row); }
std::string show(const SecretVersionRow& row) { return show_record(row); }

std::string show(const KeyRow& row) {
  return fmt::format("'{}' {} {}", row.key, to_text(row.run), row.digest);
}

std::string show(const RecoveryView& view) { return show_record(view.row); }

std::string show(const RunView& view) {
  return fmt::format("{} {} {:x} levels={} tasks={}", show_record<RunRow>(view), view.dag,
                     view.dag_digest, view.levels, view.tasks);
}

std::string show(const TaskView& view) { return view.name + " " + show(view.row); }

std::string show(const WorkerView& view) {
  return fmt::format("{} held={} completed={} ended={}", show(view.row), view.held, view.completed,
                     view.ended);
}

std::string show(const DeadLetterView& view) {
  return fmt::format("{} {} level={} {}", show(view.row), view.name, view.level, view.dag);
}

std::string show(const DagView& view) {
  return fmt::format("{} {:x} nodes={} tasks={}", show_record<DagRow>(view), view.digest,
                     view.nodes, view.tasks);
}

std::string show(const ScheduleView& view) {
  return fmt::format("{} {:x}", show_record<ScheduleRow>(view), view.digest);
}

std::string show(const ScheduleRow& row) {
  return fmt::format("{} {:x}", show_record(row), row.plan->digest);
}

std::string show(const LogText& text) {
  return fmt::format("{}+'{}' skipped={} next={} size={}", text.offset, text.data, text.skipped,
                     text.next_offset, text.size);
}

std::string show(const EventLines& lines) {
  return fmt::format("{}..{} '{}'", lines.first_seq, lines.last_seq, lines.lines);
}

std::string show(const Totals& totals) {
  return fmt::format("{} requeued={} letters={}", show(totals.counters), totals.requeued_last_hour,
                     totals.open_dead_letters);
}

std::string show(const RunImage& image) {
  return show(image.run) + "\n" + show(image.tasks) + show(image.data) + show(image.signals);
}

std::string show(const StoreImage& image) {
  return show(image.counters) + "\n" + show(image.runs) + show(image.workers) +
         show(image.machines) + show(image.leases) + show(image.queues) + show(image.limits) +
         show(image.journals) + show(image.schedules) + show(image.keys) + show(image.dead_letters);
}

}  // namespace vortex::store::testing
