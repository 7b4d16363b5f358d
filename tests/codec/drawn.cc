#include "tests/codec/drawn.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/check.h"

namespace vortex::testing {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class List>
const auto& one_of(Rng& rng, const List& list) {
  return list[rng.below(std::size(list))];
}

std::uint64_t drawn_number(Rng& rng) { return rng.next() >> rng.below(64); }

std::string drawn_name(Rng& rng) {
  return fmt::format("{}{}", one_of(rng, std::array{"n", "A.", "x-y_", "7"}), rng.below(1'000));
}

// One line without control characters.
std::string drawn_line(Rng& rng) {
  constexpr std::array<std::string_view, 5> kLines{"a", "gpu=a100", "\"quoted\\", "zürich",
                                                   "\xF0\x9F\x98\x80 /~"};
  return fmt::format("{}{}", one_of(rng, kLines), rng.below(100));
}

template <class Draw>
auto drawn_list(Rng& rng, std::uint64_t most, Draw draw) {
  std::vector<decltype(draw(rng))> list;
  for (std::uint64_t i = rng.below(most + 1); i > 0; --i) list.push_back(draw(rng));
  return list;
}

// Sorted, no name twice.
template <class Draw>
auto drawn_pairs(Rng& rng, Draw draw) {
  std::vector<std::pair<std::string, decltype(draw(rng))>> pairs;
  for (std::uint64_t i = 0; i < rng.below(4); ++i) {
    pairs.emplace_back(fmt::format("{}{}", drawn_line(rng), i), draw(rng));
  }
  std::ranges::sort(pairs);
  return pairs;
}

std::vector<std::string> drawn_names(Rng& rng) {
  auto names = drawn_list(rng, 3, drawn_name);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

Duration drawn_duration(Rng& rng, Duration high) {
  constexpr std::array<std::int64_t, 6> kUnits{1,           1'000,       1'000'000, minutes(1).us,
                                               hours(1).us, hours(24).us};
  const std::int64_t unit = one_of(rng, kUnits);
  if (rng.chance(50)) return high;
  return Duration{std::min(high.us, (1 + static_cast<std::int64_t>(rng.below(300))) * unit)};
}

std::optional<Duration> drawn_timeout(Rng& rng) {
  if (rng.chance(600)) return std::nullopt;
  return drawn_duration(rng, kForever);
}

std::int64_t drawn_amount(Rng& rng) {
  return static_cast<std::int64_t>(drawn_number(rng)) & (kAmountMax - 1);
}

Resources drawn_resources(Rng& rng) {
  Resources resources;
  if (rng.chance(400)) resources.cpu_milli = rng.chance(500) ? 1'500 : drawn_amount(rng);
  if (rng.chance(400)) {
    constexpr std::array<std::int64_t, 4> kSizes{1, 1'000'000, 1'048'576, 1'024'000};
    resources.memory_bytes =
        rng.chance(300) ? kAmountMax : rng.between(0, 999) * one_of(rng, kSizes);
  }
  if (rng.chance(300)) resources.named = drawn_pairs(rng, drawn_amount);
  return resources;
}

CommandLine drawn_command(Rng& rng) {
  CommandLine command;
  const auto argument = [](Rng& r) { return "p" + drawn_text(r); };
  command.argv = drawn_list(rng, 3, argument);
  if (rng.chance(400)) command.shell = {"bash", "-euc"};
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    command.env.emplace_back(fmt::format("V{}", i), drawn_text(rng));
  }
  if (rng.chance(300)) command.workdir = drawn_text(rng);
  return command;
}

RetryPolicy drawn_retry(Rng& rng) {
  RetryPolicy retry;
  retry.max_retries = static_cast<std::uint16_t>(rng.below(kRetriesMax + 1));
  retry.backoff.kind = static_cast<BackoffKind>(rng.below(3));
  retry.backoff.delay = rng.chance(200) ? Duration{} : drawn_duration(rng, kDelayMax);
  retry.backoff.max_delay = std::max(retry.backoff.delay, drawn_duration(rng, kDelayMax));
  retry.backoff.jitter_permille = static_cast<std::uint16_t>(rng.below(1'001));
  retry.unless_exit =
      drawn_list(rng, 3, [](Rng& r) { return static_cast<std::int32_t>(r.between(1, 255)); });
  if (rng.chance(300)) {
    retry.unless_exit.clear();
    retry.only_exit = {static_cast<std::int32_t>(rng.between(1, 255))};
  }
  if (rng.chance(300)) retry.on = {RetryCause::kFailed, RetryCause::kOutOfMemory};
  return retry;
}

MapSpec drawn_map(Rng& rng) {
  MapSpec map;
  if (rng.chance(500)) {
    const std::int64_t first = rng.between(-100, 100);
    const std::int64_t step = rng.chance(500) ? 1 : rng.between(2, kMax);
    map.over = rng.chance(500)
                   ? MapRange{.first = first, .last = 100, .step = step}
                   : MapRange{.first = kMax, .last = kMin + (first + 100), .step = kMin};
  } else {
    map.over = std::vector<std::string>{drawn_text(rng), drawn_text(rng)};
  }
  if (rng.chance(500)) map.max_parallel = static_cast<std::uint32_t>(rng.below(kParallelMax + 1));
  if (rng.chance(500)) map.max_failures = static_cast<std::uint32_t>(drawn_number(rng));
  if (rng.chance(300)) map.as = drawn_name(rng);
  return map;
}

NodeSpec drawn_node(Rng& rng, const std::vector<NodeSpec>& before) {
  NodeSpec node;
  node.name = fmt::format("{}.{}", drawn_name(rng), before.size());
  if (!before.empty() && rng.chance(600)) node.needs = {one_of(rng, before).name};
  node.trigger = static_cast<TriggerRule>(rng.below(7));
  if (rng.chance(400)) node.retry = drawn_retry(rng);
  if (rng.chance(400)) node.requirements.queue = drawn_name(rng);
  node.requirements.labels = drawn_pairs(rng, drawn_line);
  if (rng.chance(300)) node.requirements.runtime = drawn_line(rng);
  if (rng.chance(300)) node.requirements.worker = WorkerId(drawn_line(rng));
  node.requirements.resources = drawn_resources(rng);
  if (rng.chance(300)) node.requirements.user = drawn_name(rng);
  node.priority = static_cast<std::int8_t>(rng.between(-kPriorityMax, kPriorityMax));
  node.exclusive = rng.chance(500);
  node.execution_timeout = drawn_timeout(rng);
  node.scheduled_timeout = drawn_timeout(rng);
  node.stale_after = drawn_timeout(rng);
  if (rng.chance(300)) {
    node.secrets = {{"DB_PASSWORD", "db/password", 3, false}, {"tls.key", "tls/key", 0, true}};
  }
  if (rng.chance(300)) node.condition = "\"a\\\"\" == 'b' or not false";
  node.continue_on_error = rng.chance(300);
  if (rng.chance(300)) node.stale_counts = {.progress = rng.chance(500), .output = true};
  if (rng.chance(300)) node.map = drawn_map(rng);
  node.command = drawn_command(rng);
  node.outputs = drawn_names(rng);
  return node;
}

// Nothing of a command can stand beside a wait.
NodeSpec drawn_wait(Rng& rng, const NodeSpec& other) {
  NodeSpec node;
  node.name = other.name;
  node.needs = other.needs;
  node.trigger = other.trigger;
  node.condition = other.condition;
  node.continue_on_error = other.continue_on_error;
  node.outputs = other.outputs;
  WaitSpec& wait = node.wait.emplace();
  wait.kind = static_cast<WaitKind>(rng.below(4));
  if (wait.kind == WaitKind::kFor) wait.length = minutes(rng.between(1, 500));
  if (wait.kind == WaitKind::kUntil) {
    wait.until = {.seconds = 1'796'090'400, .local = false, .text = "2026-12-01T02:00:00Z"};
  }
  if (wait.kind == WaitKind::kSignal) wait.text = drawn_name(rng);
  if (wait.kind == WaitKind::kApproval) {
    wait.text = "Deploy?";
    wait.by = {Role::kSubmitter, Role::kOperator};
  }
  if (wait.asks() && rng.chance(500)) wait.timeout = hours(rng.between(1, 100));
  return node;
}

ParamSpec drawn_param(Rng& rng, const std::string& name) {
  constexpr std::array<std::string_view, 5> kValues{R"("a\"b")", "-1.50", "true", "[1,[]]",
                                                    R"({"k":null})"};
  ParamSpec param;
  param.name = name;
  param.type = static_cast<ParamType>(rng.below(5));
  if (rng.chance(500)) param.fallback = kValues[static_cast<std::size_t>(param.type)];
  if (rng.chance(500)) param.help = drawn_line(rng);
  return param;
}

ScheduleSpec drawn_schedule(Rng& rng) {
  constexpr std::array<std::string_view, 4> kCrons{"30 2 * * MON", "@daily", " */15  9-17 1,15 * *",
                                                   "0 0 29 FEB *"};
  ScheduleSpec schedule;
  if (rng.chance(700)) {
    schedule.cron = one_of(rng, kCrons);
    schedule.rule = parse_cron(schedule.cron).value();
  } else {
    schedule.every = seconds(rng.between(1, 86'400));
  }
  if (rng.chance(500)) schedule.timezone = "Europe/Berlin";
  schedule.overlap = static_cast<Overlap>(rng.below(5));
  if (rng.chance(500)) {
    schedule.catchup = {.window = seconds(rng.between(0, 86'400)),
                        .limit = static_cast<std::uint32_t>(rng.between(1, 1'000))};
  }
  if (rng.chance(300) && !schedule.cron.empty()) schedule.jitter = seconds(rng.between(0, 86'400));
  if (rng.chance(300)) schedule.from = parse_written_time("2026-03-01 02:30", DayEnd::kFirst);
  if (rng.chance(300)) schedule.until = parse_written_time("2027-03-01", DayEnd::kLast);
  schedule.pause_on_failure = rng.chance(300);
  return schedule;
}

Attempt drawn_attempt(Rng& rng) {
  return {.task = {.run = {drawn_number(rng)},
                   .index = static_cast<std::uint32_t>(drawn_number(rng)),
                   .level = static_cast<std::uint32_t>(drawn_number(rng))},
          .epoch = {drawn_number(rng)}};
}

std::string drawn_object(Rng& rng) {
  return std::string(one_of(
      rng, std::array<std::string_view, 3>{"{}", R"({"a":1.50,"b":[true,null,{"c":"x\ny"}]})",
                                           R"({"n":123456789012345678901234567890,"e":1e-3})"}));
}

ReportBody drawn_body(Rng& rng) {
  switch (rng.below(6)) {
    case 0:
      return Started{};
    case 1:
      return Checkpoint{drawn_bytes(rng)};
    case 2:
      return Completed{rng.chance(300) ? "" : drawn_object(rng)};
    case 3:
      return Failed{static_cast<Failed::Cause>(rng.below(4)),
                    static_cast<std::int32_t>(drawn_number(rng)), drawn_text(rng)};
    case 4:
      return Released{static_cast<Released::Cause>(rng.below(4)), rng.chance(500) ? "why" : ""};
    default:
      return TimedOut{};
  }
}

HeldTask drawn_held(Rng& rng) {
  HeldTask held{.attempt = drawn_attempt(rng), .progress = std::nullopt};
  if (rng.chance(500)) {
    held.progress = Progress{static_cast<std::uint8_t>(rng.below(101)), drawn_text(rng)};
  }
  if (rng.chance(300)) held.output_bytes = rng.below(std::uint64_t{1} << 60U);
  return held;
}

Assignment drawn_assignment(Rng& rng) {
  Assignment assignment;
  assignment.attempt = drawn_attempt(rng);
  assignment.number = static_cast<std::uint32_t>(drawn_number(rng));
  WorkOrder order;
  order.task_text = to_text(assignment.attempt.task);
  order.dag = drawn_text(rng);
  order.task = drawn_text(rng);
  order.command = drawn_command(rng);
  order.command.shell.clear();
  if (rng.chance(500)) {
    order.map = MapItem{static_cast<std::uint32_t>(drawn_number(rng)), drawn_text(rng)};
  }
  order.resources = drawn_resources(rng);
  order.outputs = drawn_names(rng);
  order.report_output = rng.chance(500);
  if (rng.chance(300)) order.user = drawn_name(rng);
  if (rng.chance(300)) order.inputs = R"({"resize":{"size":[1,null,"x"]}})";
  if (rng.chance(300)) {
    order.secrets = std::make_shared<SecretSet>();
    order.secrets->values.push_back({"PASSWORD", false, SecretText(drawn_bytes(rng))});
    order.secrets->values.push_back({"tls.key", true, SecretText(drawn_bytes(rng))});
  }
  assignment.work = std::make_shared<const WorkOrder>(std::move(order));
  assignment.execution_timeout = millis(static_cast<std::int64_t>(drawn_number(rng) >> 20U));
  assignment.checkpoint = drawn_bytes(rng);
  assignment.kill_grace = millis(static_cast<std::int64_t>(drawn_number(rng) >> 20U));
  if (rng.chance(300)) {
    assignment.checkpoint.clear();
    assignment.uploaded = {drawn_number(rng) >> 1U | 1U, drawn_number(rng) >> 1U};
    assignment.token = "vxa_token";
  }
  return assignment;
}

}  // namespace

std::string drawn_text(Rng& rng) {
  constexpr std::array<std::string_view, 14> kPieces{"a",
                                                     "plain words",
                                                     "\"",
                                                     "\\",
                                                     "/",
                                                     "\n",
                                                     "\t",
                                                     "\r",
                                                     "\x01",
                                                     "é",
                                                     "€",
                                                     "\x7f",
                                                     "\xF0\x9F\x98\x80",
                                                     "$${{ map.file }}"};
  std::string text;
  for (std::uint64_t i = rng.below(6); i > 0; --i) text += one_of(rng, kPieces);
  return text;
}

std::string drawn_bytes(Rng& rng) {
  if (rng.chance(500)) return drawn_text(rng) + std::string(rng.below(2), '\0');
  std::string bytes;
  for (std::uint64_t i = rng.below(20); i > 0; --i) bytes += static_cast<char>(rng.below(256));
  return bytes;
}

NodeSpec drawn_child(Rng& rng, const NodeSpec& from) {
  NodeSpec node;
  node.name = from.name;
  node.needs = from.needs;
  node.retry = from.retry;
  node.map = from.map;
  node.child.emplace().dag = rng.chance(500) ? "carried" : "stored";
  if (rng.chance(500)) node.child->params = {{"a", "[1,{}]"}, {"b", R"("${{ run.id }}")"}};
  return node;
}

DagSpec drawn_dag(Rng& rng) {
  DagSpec spec;
  spec.name = drawn_name(rng);
  for (std::uint64_t i = 1 + rng.below(5); i > 0; --i) {
    NodeSpec node = drawn_node(rng, spec.nodes);
    if (rng.chance(150)) {
      spec.nodes.push_back(drawn_wait(rng, node));
    } else {
      spec.nodes.push_back(rng.chance(100) ? drawn_child(rng, node) : std::move(node));
    }
  }
  // What runs last stands last, and needs none of the others.
  if (spec.nodes.size() > 1 && spec.nodes.back().needs.empty() && rng.chance(300)) {
    spec.nodes.back().finally = true;
    if (rng.chance(500)) spec.finally_timeout = hours(2);
  }
  for (NodeSpec& node : spec.nodes) {
    if (!node.wait && !node.child && rng.chance(200)) node.limits = {"api", "db"};
  }
  spec.barrier_levels = rng.chance(500);
  if (rng.chance(300)) {
    ConcurrencySpec& some = spec.concurrency.emplace();
    if (rng.chance(500)) some.key = rng.chance(500) ? "fixed" : "${{ run.dag }}";
    some.limit = 1 + static_cast<std::uint32_t>(rng.below(9));
    some.on_full = static_cast<OnFull>(rng.below(4));
  }
  spec.run_timeout = drawn_timeout(rng);
  for (const std::string& name : drawn_names(rng)) spec.params.push_back(drawn_param(rng, name));
  // Runs of a schedule are given no params.
  const auto given = [](const ParamSpec& param) { return param.fallback.has_value(); };
  if (std::ranges::all_of(spec.params, given) && rng.chance(500)) {
    spec.schedule = drawn_schedule(rng);
  }
  if (rng.chance(300)) spec.outputs = {{"id", "${{ run.id }}"}, {"plain", drawn_line(rng)}};
  const auto carries = [](const NodeSpec& node) {
    return node.child && node.child->dag == "carried";
  };
  if (std::ranges::any_of(spec.nodes, carries)) {
    DagSpec below;
    below.name = "carried";
    below.nodes.resize(1);
    below.nodes[0].name = "work";
    below.nodes[0].command.argv = {"x"};
    spec.dags.push_back(std::make_shared<const DagSpec>(std::move(below)));
  }
  return spec;
}

codec::RegisterBody drawn_register(Rng& rng) {
  codec::RegisterBody body;
  WorkerInfo& info = body.info;
  info.id = WorkerId(drawn_line(rng));
  info.machine = MachineId(drawn_line(rng));
  for (std::string* line : {&info.name, &info.address, &info.zone, &info.group, &info.version}) {
    if (rng.chance(500)) *line = drawn_line(rng);
  }
  if (rng.chance(500)) info.metadata = rng.chance(500) ? drawn_object(rng) : drawn_text(rng);
  if (rng.chance(100)) info.metadata = "{ \"a\": 1 }";
  info.queues = drawn_names(rng);
  if (info.queues.empty()) info.queues = {"default"};
  info.labels = drawn_pairs(rng, drawn_line);
  info.runtimes = drawn_names(rng);
  info.users = drawn_names(rng);
  info.slots = static_cast<std::uint32_t>(drawn_number(rng));
  info.resources = drawn_resources(rng);
  body.incarnation = {drawn_number(rng)};
  return body;
}

SyncRequest drawn_request(Rng& rng) {
  SyncRequest request;
  request.worker = WorkerId("w1");
  request.incarnation = {drawn_number(rng)};
  request.seq = drawn_number(rng);
  if (rng.chance(700)) request.ack = {.term = {drawn_number(rng)}, .reply = drawn_number(rng)};
  request.slots = static_cast<std::uint32_t>(drawn_number(rng));
  if (rng.chance(700)) request.held = drawn_list(rng, 4, drawn_held);
  request.reports = drawn_list(
      rng, 6, [](Rng& r) { return Report{.attempt = drawn_attempt(r), .body = drawn_body(r)}; });
  request.leaving = static_cast<Leaving>(rng.below(3));
  request.wait = rng.chance(100) ? kForever : millis(rng.between(0, 60'000));
  request.worker_clock = Instant{rng.between(kMin, kMax)};
  return request;
}

SyncReply drawn_reply(Rng& rng) {
  SyncReply reply;
  reply.mark = {.term = {drawn_number(rng)}, .reply = drawn_number(rng)};
  reply.seq_seen = drawn_number(rng);
  if (rng.chance(200)) reply.drain_within = millis(rng.between(0, 600'000));
  reply.lease = rng.chance(100) ? kForever : millis(rng.between(0, 600'000));
  reply.assignments = drawn_list(rng, 4, drawn_assignment);
  reply.stops = drawn_list(rng, 3, [](Rng& r) {
    return StopOrder{drawn_attempt(r), static_cast<StopOrder::Why>(r.below(4))};
  });
  reply.stale = drawn_list(rng, 3, drawn_attempt);
  return reply;
}

}  // namespace vortex::testing
