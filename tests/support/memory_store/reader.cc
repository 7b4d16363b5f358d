#include "tests/support/memory_store/reader.h"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>

#include "store/cursor.h"
#include "store/keys.h"
#include "store/packed.h"
#include "tests/support/memory_store/views.h"

namespace vortex::store::memory {
namespace {

using Lock = std::shared_lock<std::shared_mutex>;

constexpr std::size_t kAttemptsMax = 1'000;

enum class Order : std::uint8_t { kUp, kDown };

// The page of `items` that comes after the cursor. They are in the order of the list already.
template <class Item, class Key>
Result<Page<Item>> page_of(std::vector<Item> items, const PageRequest& request, CursorKind kind,
                           Order order, Key key) {
  const auto cursor = read_cursor(kind, request.cursor);
  if (!cursor) return std::unexpected(cursor.error());
  const auto place = [](const CursorKey& at) {
    return std::tie(at.text, at.first, at.second, at.third);
  };
  const auto is_shown = [&](const Item& item) {
    if (!*cursor) return false;
    const CursorKey at = key(item);
    return order == Order::kUp ? place(at) <= place(**cursor) : place(at) >= place(**cursor);
  };
  auto first = std::ranges::partition_point(items, is_shown);
  const std::uint32_t limit = page_rows(request);
  Page<Item> page;
  for (; first != items.end() && page.items.size() < limit; ++first) {
    page.items.push_back(std::move(*first));
  }
  if (first != items.end()) page.next_cursor = write_cursor(kind, key(page.items.back()));
  return page;
}

ScheduleView shown_schedule(const ScheduleRow& row) {
  ScheduleView view;
  static_cast<ScheduleRow&>(view) = row;
  view.digest = row.plan->digest;
  view.plan = nullptr;
  return view;
}

std::uint64_t key_number(TaskId task) {
  return static_cast<std::uint64_t>(key_of(task).value_or(0));
}

template <class Map, class Key>
auto find_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::optional<typename Map::mapped_type>{} : found->second;
}

template <class Map>
auto values_of(const Map& map) {
  std::vector<typename Map::mapped_type> values;
  values.reserve(map.size());
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

class MemoryReader final : public Reader {
 public:
  explicit MemoryReader(const Shared& shared) : shared_(shared), tables_(shared.tables) {}

  Result<Page<RunView>> runs(const RunFilter& filter, const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    return page_of(runs_in(tables_, filter), page, CursorKind::kRuns, Order::kDown,
                   [](const RunView& run) { return CursorKey{.first = run.id.value}; });
  }

  Result<std::optional<RunView>> run(RunId id) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.runs.find(id);
    if (found == tables_.runs.end()) return std::optional<RunView>{};
    return view_of(found->second);
  }

  Result<PlanPtr> plan(std::uint64_t digest) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.specs.find(digest);
    return found == tables_.specs.end() ? PlanPtr{} : found->second.plan;
  }

  Result<Page<TaskView>> tasks(const TaskFilter& filter, const PageRequest& page) override {
    if (filter.node && !filter.run) {
      return std::unexpected(Error{Fault::kBadRequest, "filtering by node requires a run"});
    }
    const Lock lock(shared_.mutex);
    return page_of(
        tasks_in(tables_, filter), page, CursorKind::kTasks, Order::kUp,
        [](const TaskView& task) { return CursorKey{.first = key_number(task.row.id)}; });
  }

  Result<std::optional<TaskView>> task(TaskId id) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.tasks.find(id);
    if (found == tables_.tasks.end() || tables_.is_doomed(id)) return std::optional<TaskView>{};
    return TaskView{found->second.row, found->second.name};
  }

  Result<std::vector<RunMarks>> marks(const std::vector<TaskSpan>& spans, ReadDepth) override {
    const Lock lock(shared_.mutex);
    std::vector<RunMarks> all;
    for (const TaskSpan& span : spans) all.push_back(marks_in(tables_, span));
    return all;
  }

  Result<std::vector<RunId>> running(std::uint32_t limit) override {
    const Lock lock(shared_.mutex);
    std::vector<RunId> ids;
    for (const auto& [id, run] : tables_.runs) {
      if (run.state == RunState::kRunning && ids.size() < limit) ids.push_back(id);
    }
    return ids;
  }

  Result<std::vector<TaskDataRow>> outputs(const TaskSpan& span) override {
    const Lock lock(shared_.mutex);
    std::vector<TaskDataRow> out;
    for (std::uint32_t index = span.first; index < span.end; ++index) {
      const auto task = tables_.tasks.find({.run = span.run, .index = index});
      const auto data = tables_.task_data.find({.run = span.run, .index = index});
      if (task == tables_.tasks.end() || data == tables_.task_data.end()) continue;
      if (task->second.row.state != TaskState::kCompleted || !data->second.outputs) continue;
      out.push_back(data->second);
      out.back().id = tables_.shown(out.back().id);
    }
    return out;
  }

  Result<std::optional<TaskDataRow>> task_data(TaskId id) override {
    const Lock lock(shared_.mutex);
    if (tables_.is_doomed(id)) return std::optional<TaskDataRow>{};
    auto row = find_in(tables_.task_data, id);
    if (row) row->id = tables_.shown(id);
    return row;
  }

  Result<std::vector<SignalRow>> signals(RunId run) override {
    const Lock lock(shared_.mutex);
    std::vector<SignalRow> rows;
    for (auto it = tables_.signals.lower_bound({run, 0});
         it != tables_.signals.end() && it->first.first == run; ++it) {
      rows.push_back(it->second);
    }
    return rows;
  }

  Result<std::vector<AttemptRow>> attempts(TaskId id) override {
    const Lock lock(shared_.mutex);
    std::vector<AttemptRow> rows;
    if (tables_.is_doomed(id)) return rows;
    const Attempt first{.task = id, .epoch = {0}};
    for (auto it = tables_.attempts.lower_bound(first);
         it != tables_.attempts.end() && it->first.task == id && rows.size() < kAttemptsMax; ++it) {
      rows.push_back(it->second);
      rows.back().attempt.task = tables_.shown(id);
    }
    return rows;
  }

  Result<CheckpointText> checkpoint(const CheckpointRequest& request) override {
    const Lock lock(shared_.mutex);
    CheckpointText text;
    if (tables_.is_doomed(request.task)) return text;
    for (auto it = tables_.pieces.lower_bound({request.task, request.upload, 0});
         it != tables_.pieces.end() && it->second.task == request.task &&
         it->second.upload == request.upload;
         ++it) {
      const CheckpointPiece& piece = it->second;
      text.stored = piece.offset + piece.size;
      if (piece.offset != request.offset) continue;
      text.data = piece.data.size() < piece.size ? unpack(piece.data).value_or("") : piece.data;
    }
    return text;
  }

  Result<LogText> log(const LogRequest& request) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.logs.find(request.attempt);
    if (found == tables_.logs.end() || tables_.is_doomed(request.attempt.task)) return LogText{};
    return text_of(found->second, request);
  }

  Result<Page<WorkerView>> workers(const WorkerFilter& filter, const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    return page_of(
        workers_in(tables_, filter), page, CursorKind::kWorkers, Order::kUp,
        [](const WorkerView& view) { return CursorKey{.text = view.row.info->id.text}; });
  }

  Result<std::optional<WorkerView>> worker(const WorkerId& id) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.workers.find(id);
    if (found == tables_.workers.end()) return std::optional<WorkerView>{};
    return view_of(tables_, found->second);
  }

  Result<std::vector<MachineRow>> machines() override {
    const Lock lock(shared_.mutex);
    return values_of(tables_.machines);
  }

  Result<std::vector<QueueRow>> queues() override {
    const Lock lock(shared_.mutex);
    return values_of(tables_.queues);
  }

  Result<Page<RecoveryView>> recoveries(const RecoveryFilter& filter,
                                        const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    return page_of(recoveries_in(tables_, filter), page, CursorKind::kRecoveries, Order::kDown,
                   [](const RecoveryView& view) { return CursorKey{.first = view.row.id.value}; });
  }

  Result<std::optional<RecoveryView>> recovery(RecoveryId id) override {
    const Lock lock(shared_.mutex);
    const auto row = find_in(tables_.recoveries, id);
    return row ? std::optional(RecoveryView{*row}) : std::nullopt;
  }

  Result<Page<RecoveryItemRow>> recovery_items(RecoveryId id, const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    return page_of(
        items_in(tables_, id), page, CursorKind::kRecoveryItems, Order::kUp,
        [](const RecoveryItemRow& row) { return CursorKey{.first = key_number(row.task)}; });
  }

  Result<Page<DeadLetterView>> dead_letters(const DeadLetterFilter& filter,
                                            const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    return page_of(letters_in(tables_, filter), page, CursorKind::kDeadLetters, Order::kDown,
                   [](const DeadLetterView& view) {
                     const Attempt& attempt = view.row.attempt;
                     return CursorKey{.first = static_cast<std::uint64_t>(view.row.at.us),
                                      .second = key_number(attempt.task),
                                      .third = attempt.epoch.value};
                   });
  }

  Result<Page<PartitionLeaseRow>> leases(const std::string& topic,
                                         const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    std::vector<PartitionLeaseRow> rows = values_of(tables_.leases);
    if (!topic.empty()) {
      std::erase_if(rows, [&](const auto& row) { return row.partition.topic != topic; });
    }
    return page_of(
        std::move(rows), page, CursorKind::kLeases, Order::kUp, [](const PartitionLeaseRow& row) {
          return CursorKey{.first = row.partition.partition, .text = row.partition.topic};
        });
  }

  Result<std::optional<PartitionLeaseRow>> lease(const PartitionKey& key) override {
    const Lock lock(shared_.mutex);
    return find_in(tables_.leases, key);
  }

  Result<Page<DagView>> dags(const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    return page_of(dags_in(tables_), page, CursorKind::kDags, Order::kUp,
                   [](const DagView& dag) { return CursorKey{.text = dag.name}; });
  }

  Result<std::optional<DagView>> dag(const std::string& name) override {
    const Lock lock(shared_.mutex);
    for (DagView& view : dags_in(tables_)) {
      if (view.name == name) return std::move(view);
    }
    return std::optional<DagView>{};
  }

  Result<Page<ScheduleView>> schedules(const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    std::vector<ScheduleView> views;
    for (const auto& [dag, row] : tables_.schedules) views.push_back(shown_schedule(row));
    return page_of(std::move(views), page, CursorKind::kSchedules, Order::kUp,
                   [](const ScheduleView& row) { return CursorKey{.text = row.dag}; });
  }

  Result<std::optional<ScheduleView>> schedule(const std::string& dag) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.schedules.find(dag);
    if (found == tables_.schedules.end()) return std::optional<ScheduleView>{};
    return shown_schedule(found->second);
  }

  Result<EventLines> events_after(std::uint64_t after, std::uint32_t bytes_max) override {
    const Lock lock(shared_.mutex);
    EventLines lines;
    for (const auto& [first, events] : tables_.events) {
      if (events.block.last_seq <= after) continue;
      if (lines.lines.size() >= bytes_max) break;
      if (lines.first_seq == 0) lines.first_seq = first;
      lines.last_seq = events.block.last_seq;
      lines.lines += events.block.lines;
    }
    return lines;
  }

  Result<std::string> attempt_key() override { return std::string(64, 'k'); }

  Result<std::optional<Leader>> leader() override {
    const Lock lock(shared_.mutex);
    const bool ended = shared_.is_for_several && tables_.lease_ends <= shared_.wall_clock();
    if (tables_.leader.id.text.empty() || ended) return std::optional<Leader>{};
    return tables_.leader;
  }

  Result<std::vector<ControllerRow>> controllers() override {
    const Lock lock(shared_.mutex);
    return values_of(tables_.controllers);
  }

  Result<std::vector<TokenRow>> tokens() override {
    const Lock lock(shared_.mutex);
    return values_of(tables_.tokens);
  }

  Result<std::vector<WebhookRow>> webhooks() override {
    const Lock lock(shared_.mutex);
    return values_of(tables_.webhooks);
  }

  Result<Page<AuditRow>> audit(const AuditFilter& filter, const PageRequest& page) override {
    const Lock lock(shared_.mutex);
    std::vector<AuditRow> rows = values_of(tables_.audit);
    std::erase_if(rows, [&](const AuditRow& row) {
      return !is_wanted(row, filter) || (filter.after && row.seq <= *filter.after);
    });
    if (!filter.after) std::ranges::reverse(rows);
    return page_of(std::move(rows), page, CursorKind::kAudit,
                   filter.after ? Order::kUp : Order::kDown,
                   [](const AuditRow& row) { return CursorKey{.first = row.seq}; });
  }

  Result<std::vector<SecretRow>> secrets() override {
    const Lock lock(shared_.mutex);
    return values_of(tables_.secrets);
  }

  Result<std::optional<SecretRow>> secret(const std::string& name) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.secrets.find(name);
    if (found == tables_.secrets.end()) return std::nullopt;
    return found->second;
  }

  Result<std::vector<SecretVersionRow>> secret_versions(const std::string& name) override {
    const Lock lock(shared_.mutex);
    std::vector<SecretVersionRow> rows;
    for (const auto& [key, row] : tables_.secret_versions) {
      if (key.first == name) rows.push_back(row);
    }
    return rows;
  }

  Result<std::optional<SecretVersionRow>> secret_version(const std::string& name,
                                                         std::uint32_t version) override {
    const Lock lock(shared_.mutex);
    const auto found = tables_.secret_versions.find({name, version});
    if (found == tables_.secret_versions.end()) return std::nullopt;
    return found->second;
  }

  Result<Totals> totals(Instant now) override {
    const Lock lock(shared_.mutex);
    Totals totals;
    totals.counters = tables_.counters;
    for (const auto& [id, row] : tables_.recoveries) {
      if (row.at != kNever && row.at > now - hours(1)) totals.requeued_last_hour += row.num_tasks;
    }
    for (const auto& [attempt, row] : tables_.dead_letters) {
      if (row.state == DeadLetterState::kOpen && !tables_.is_doomed(attempt.task)) {
        ++totals.open_dead_letters;
      }
    }
    return totals;
  }

 private:
  const Shared& shared_;
  const Tables& tables_;
};

}  // namespace

std::unique_ptr<Reader> make_reader(const Shared& shared) {
  return std::make_unique<MemoryReader>(shared);
}

}  // namespace vortex::store::memory
