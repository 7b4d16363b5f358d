// Every value of a node at its bounds: the last good one compiles, the first bad one is refused.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/check.h"
#include "model/plan.h"
#include "tests/model/specs.h"

namespace vortex {
namespace {

using testing::dag;
using ::testing::HasSubstr;
using testing::list;
using testing::node;
using testing::range;

struct Bound {
  std::string name;
  std::function<void(NodeSpec&)> good;
  std::function<void(NodeSpec&)> bad;
  std::string complaint;  // part of it
};

RetryPolicy& retry(NodeSpec& n) { return n.retry ? *n.retry : n.retry.emplace(); }

class PlanValues : public ::testing::TestWithParam<Bound> {};

TEST_P(PlanValues, TheLastGoodOneCompilesAndTheFirstBadOneIsRefused) {
  NodeSpec good = node("n");
  GetParam().good(good);
  const auto plan = compile(dag({node("first"), good}), {});
  EXPECT_TRUE(plan.has_value()) << plan.error().detail;

  NodeSpec bad = node("n");
  GetParam().bad(bad);
  const auto refusal = compile(dag({node("first"), bad}), {});
  ASSERT_FALSE(refusal.has_value());
  EXPECT_EQ(refusal.error().kind, DagError::Kind::kBadValue);
  EXPECT_EQ(refusal.error().node, "n");
  EXPECT_THAT(refusal.error().detail, HasSubstr(GetParam().complaint));
  EXPECT_LT(refusal.error().detail.size(), 400U);
}

void many_labels(NodeSpec& n, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    n.requirements.labels.emplace_back("k" + std::to_string(i), "");
}

void many_resources(NodeSpec& n, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    n.requirements.resources.named.emplace_back("k" + std::to_string(i), 1);
}

void many_outputs(NodeSpec& n, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) n.outputs.push_back("k" + std::to_string(i));
}

std::string text(std::size_t bytes) { return std::string(bytes, 'x'); }

std::string with_zero_byte() { return std::string("a\0b", 3); }

std::vector<Bound> schedule_bounds() {
  return {
      {"priority_high", [](auto& n) { n.priority = 100; }, [](auto& n) { n.priority = 101; },
       "priority is 101"},
      {"priority_low", [](auto& n) { n.priority = -100; }, [](auto& n) { n.priority = -101; },
       "-100 to 100"},
      {"trigger", [](auto& n) { n.trigger = TriggerRule::kNoneSkipped; },
       [](auto& n) { n.trigger = static_cast<TriggerRule>(7); }, "trigger rule"},
      {"execution_timeout", [](auto& n) { n.execution_timeout = micros(1); },
       [](auto& n) { n.execution_timeout = seconds(0); }, "execution timeout is 0s"},
      {"execution_timeout_forever", [](auto& n) { n.execution_timeout = kForever; },
       [](auto& n) { n.execution_timeout = kForever + micros(1); }, "execution timeout"},
      {"scheduled_timeout", [](auto& n) { n.scheduled_timeout = millis(1); },
       [](auto& n) { n.scheduled_timeout = millis(-1); }, "scheduled_timeout is -1ms"},
      {"stale_after", [](auto& n) { n.stale_after = seconds(1); },
       [](auto& n) { n.stale_after = Duration{std::numeric_limits<std::int64_t>::min()}; },
       "stale_after"},
      {"secrets", [](auto& n) { n.secrets = {{"A", "a/b", 0, false}, {"A", "a/b", 1, true}}; },
       [](auto& n) { n.secrets = {{"A", "a/b", 0, false}, {"A", "c", 0, false}}; },
       "variable of a secret"},
      {"variables_of_secrets", [](auto& n) { n.secrets = {{"A", "a/b", 0, false}}; },
       [](auto& n) {
         n.command.env = {{"A", "x"}};
         n.secrets = {{"A", "a/b", 0, false}};
       },
       "is in both env and secrets"},
      {"names_of_secrets", [](auto& n) { n.secrets = {{"A", "0", 0, false}}; },
       [](auto& n) { n.secrets = {{"A", "a b", 0, false}}; }, "is not the name of a secret"},
      {"reserved_variables", [](auto& n) { n.secrets = {{"VORTEX", "a", 0, false}}; },
       [](auto& n) { n.secrets = {{"VORTEX_URL", "a", 0, false}}; }, "reserved"},
      {"stale_counts", [](auto& n) { n.stale_counts = {.progress = false, .output = true}; },
       [](auto& n) { n.stale_counts = {.progress = false, .output = false}; },
       "stale_counts is empty"},
  };
}

std::vector<Bound> retry_bounds() {
  return {
      {"retries", [](auto& n) { retry(n).max_retries = 10'000; },
       [](auto& n) { retry(n).max_retries = 10'001; }, "number of retries is 10001"},
      {"backoff", [](auto& n) { retry(n).backoff.kind = BackoffKind::kFixed; },
       [](auto& n) { retry(n).backoff.kind = static_cast<BackoffKind>(3); }, "backoff kind"},
      {"delay_low", [](auto& n) { retry(n).backoff.delay = seconds(0); },
       [](auto& n) { retry(n).backoff.delay = micros(-1); }, "retry delay is -1us"},
      {"delay_high",
       [](auto& n) { retry(n).backoff.delay = retry(n).backoff.max_delay = kDelayMax; },
       [](auto& n) { retry(n).backoff.delay = retry(n).backoff.max_delay = kDelayMax + micros(1); },
       "retry delay"},
      {"max_delay", [](auto& n) { retry(n).backoff.max_delay = retry(n).backoff.delay; },
       [](auto& n) { retry(n).backoff.max_delay = retry(n).backoff.delay - millis(1); },
       "max_delay of retries is 1999ms; it must not be less than the delay of 2s"},
      {"jitter", [](auto& n) { retry(n).backoff.jitter_permille = 1000; },
       [](auto& n) { retry(n).backoff.jitter_permille = 1001; }, "jitter in permille is 1001"},
      {"exit_low", [](auto& n) { retry(n).unless_exit = {1}; },
       [](auto& n) { retry(n).unless_exit = {2, 0}; }, "exit code in unless_exit is 0"},
      {"exit_high", [](auto& n) { retry(n).unless_exit = {255}; },
       [](auto& n) { retry(n).unless_exit = {256}; }, "1 to 255"},
      {"only_exit", [](auto& n) { retry(n).only_exit = {1}; },
       [](auto& n) { retry(n).only_exit = {256}; }, "exit code in only_exit is 256"},
      {"both_exits", [](auto& n) { retry(n).only_exit = {1}; },
       [](auto& n) {
         retry(n).only_exit = {1};
         retry(n).unless_exit = {2};
       },
       "both only_exit and unless_exit"},
      {"retry_on", [](auto& n) { retry(n).on = {RetryCause::kStale}; },
       [](auto& n) { retry(n).on = {static_cast<RetryCause>(6)}; }, "cause in retry.on"},
      {"only_exit_of_others", [](auto& n) { retry(n).on = {RetryCause::kStale}; },
       [](auto& n) {
         retry(n).on = {RetryCause::kStale};
         retry(n).only_exit = {3};
       },
       "'failed' is missing"},
      {"exits", [](auto& n) { retry(n).unless_exit.assign(kListMax, 2); },
       [](auto& n) { retry(n).unless_exit.assign(kListMax + 1, 2); },
       "1001 exit codes are too many"},
  };
}

std::vector<Bound> requirement_bounds() {
  return {
      {"queue", [](auto& n) { n.requirements.queue = text(100); },
       [](auto& n) { n.requirements.queue = text(101); }, "queue name"},
      {"queue_empty", [](auto& n) { n.requirements.queue = "q"; },
       [](auto& n) { n.requirements.queue = ""; }, "queue name is empty"},
      {"runtime", [](auto& n) { n.requirements.runtime = "python 3.11"; },
       [](auto& n) { n.requirements.runtime = "python\n"; },
       "runtime 'python\\x0a' contains a control character"},
      {"user", [](auto& n) { n.requirements.user = "build"; },
       [](auto& n) { n.requirements.user = "root:root"; }, "user 'root:root' may contain only"},
      {"worker", [](auto& n) { n.requirements.worker = WorkerId(text(kLabelBytesMax)); },
       [](auto& n) { n.requirements.worker = WorkerId(text(kLabelBytesMax + 1)); }, "worker"},
      {"label_name", [](auto& n) { n.requirements.labels = {{"example.org/zone", ""}}; },
       [](auto& n) { n.requirements.labels = {{"", "x"}}; }, "label name is empty"},
      {"label_twice", [](auto& n) { n.requirements.labels = {{"b", "1"}, {"a", "1"}}; },
       [](auto& n) { n.requirements.labels = {{"a", "1"}, {"b", "1"}, {"a", "2"}}; },
       "label name 'a' is given twice"},
      {"label_value", [](auto& n) { n.requirements.labels = {{"a", text(kLabelBytesMax)}}; },
       [](auto& n) { n.requirements.labels = {{"a", text(kLabelBytesMax + 1)}}; }, "label value"},
      {"labels", [](auto& n) { many_labels(n, kEntriesMax); },
       [](auto& n) { many_labels(n, kEntriesMax + 1); }, "65 labels are too many"},
  };
}

std::vector<Bound> resource_bounds() {
  return {
      {"cpu", [](auto& n) { n.requirements.resources.cpu_milli = 0; },
       [](auto& n) { n.requirements.resources.cpu_milli = -1; }, "cpu in thousandths is -1"},
      {"memory", [](auto& n) { n.requirements.resources.memory_bytes = kAmountMax; },
       [](auto& n) { n.requirements.resources.memory_bytes = kAmountMax + 1; }, "memory in bytes"},
      {"amount", [](auto& n) { n.requirements.resources.named = {{"tape", 0}}; },
       [](auto& n) { n.requirements.resources.named = {{"tape", -1}}; }, "resource 'tape' is -1"},
      {"resource_name",
       [](auto& n) { n.requirements.resources.named = {{text(kNameBytesMax), 1}}; },
       [](auto& n) { n.requirements.resources.named = {{text(kNameBytesMax + 1), 1}}; },
       "resource name"},
      {"resource_twice", [](auto& n) { n.requirements.resources.named = {{"b", 1}, {"a", 1}}; },
       [](auto& n) { n.requirements.resources.named = {{"a", 1}, {"a", 1}}; },
       "resource name 'a' is given twice"},
      {"resources", [](auto& n) { many_resources(n, kEntriesMax); },
       [](auto& n) { many_resources(n, kEntriesMax + 1); }, "65 resources are too many"},
  };
}

std::vector<Bound> map_bounds() {
  return {
      {"list", [](auto& n) { n.map = list({""}); }, [](auto& n) { n.map = list({}); },
       "list is empty"},
      {"item", [](auto& n) { n.map = list({text(kArgumentBytesMax)}); },
       [](auto& n) { n.map = list({"a", text(kArgumentBytesMax + 1)}); }, "item of the map"},
      {"step", [](auto& n) { n.map = range(1, 1, -1); }, [](auto& n) { n.map = range(1, 1, 0); },
       "step"},
      {"range_up", [](auto& n) { n.map = range(2, 2); }, [](auto& n) { n.map = range(2, 1); },
       "from 2 to 1 by 1 is empty"},
      {"range_down", [](auto& n) { n.map = range(2, 1, -5); },
       [](auto& n) { n.map = range(1, 2, -5); }, "from 1 to 2 by -5 is empty"},
      {"parallel",
       [](auto& n) {
         n.map = range(1, 2);
         n.map->max_parallel = kParallelMax;
         n.map->max_failures = std::numeric_limits<std::uint32_t>::max();
       },
       [](auto& n) {
         n.map = range(1, 2);
         n.map->max_parallel = kParallelMax + 1;
       },
       "max_parallel is 1000001"},
  };
}

std::vector<Bound> command_bounds() {
  return {
      {"argument", [](auto& n) { n.command.argv = {"a", "", text(kArgumentBytesMax)}; },
       [](auto& n) { n.command.argv = {"a", text(kArgumentBytesMax + 1)}; }, "argument"},
      {"argument_zero", [](auto& n) { n.command.argv = {"a\n\xff"}; },
       [](auto& n) { n.command.argv = {"a", with_zero_byte()}; },
       "argument 'a\\x00b' contains a zero byte"},
      {"program", [](auto& n) { n.command.argv = {}; }, [](auto& n) { n.command.argv = {""}; },
       "program"},
      {"shell",
       [](auto& n) {
         n.command.argv = {""};
         n.command.shell = {"bash", "-euc"};
       },
       [](auto& n) {
         n.command.argv = {"true"};
         n.command.shell = {"", "-c"};
       },
       "program"},
      {"command", [](auto& n) { n.command.argv.assign(8, text(kCommandBytesMax / 8 - 1)); },
       [](auto& n) { n.command.argv.assign(8, text(kCommandBytesMax / 8)); }, "1048584 bytes"},
      {"variable", [](auto& n) { n.command.env = {{"A", "x=y"}, {"B", ""}}; },
       [](auto& n) { n.command.env = {{"A=B", "x"}}; },
       "the name of environment variable 'A=B' contains a '='"},
      {"variable_empty", [](auto& n) { n.command.env = {}; },
       [](auto& n) { n.command.env = {{"", "x"}}; }, "empty"},
      {"variable_twice", [](auto& n) { n.command.env = {{"B", ""}, {"A", ""}}; },
       [](auto& n) { n.command.env = {{"B", "1"}, {"A", "1"}, {"B", "1"}}; }, "'B' is given twice"},
      {"value", [](auto& n) { n.command.env = {{"A", text(kArgumentBytesMax - 2)}}; },
       [](auto& n) { n.command.env = {{"A", text(kArgumentBytesMax - 1)}}; }, "environment value"},
      {"workdir", [](auto& n) { n.command.workdir = text(kPathBytesMax); },
       [](auto& n) { n.command.workdir = text(kPathBytesMax + 1); }, "workdir"},
  };
}

std::vector<Bound> output_bounds() {
  return {
      {"output", [](auto& n) { n.outputs = {"b", "a"}; },
       [](auto& n) { n.outputs = {"b", "a", "b"}; }, "output 'b' is given twice"},
      {"output_name", [](auto& n) { n.outputs = {"files"}; },
       [](auto& n) { n.outputs = {"my files"}; }, "output 'my files'"},
      {"outputs", [](auto& n) { many_outputs(n, kListMax); },
       [](auto& n) { many_outputs(n, kListMax + 1); }, "1001 outputs"},
  };
}

std::string name_of(const ::testing::TestParamInfo<Bound>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Schedule, PlanValues, ::testing::ValuesIn(schedule_bounds()), name_of);
INSTANTIATE_TEST_SUITE_P(Retry, PlanValues, ::testing::ValuesIn(retry_bounds()), name_of);
INSTANTIATE_TEST_SUITE_P(Requirements, PlanValues, ::testing::ValuesIn(requirement_bounds()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Resources, PlanValues, ::testing::ValuesIn(resource_bounds()), name_of);
INSTANTIATE_TEST_SUITE_P(Map, PlanValues, ::testing::ValuesIn(map_bounds()), name_of);
INSTANTIATE_TEST_SUITE_P(Command, PlanValues, ::testing::ValuesIn(command_bounds()), name_of);
INSTANTIATE_TEST_SUITE_P(Outputs, PlanValues, ::testing::ValuesIn(output_bounds()), name_of);

TEST(PlanValues, TheTimeoutOfTheRunHasToBeMoreThanNothing) {
  DagSpec spec = dag({node("a")});
  spec.run_timeout = seconds(0);
  const auto refusal = compile(spec, {});
  ASSERT_FALSE(refusal.has_value());
  EXPECT_EQ(refusal.error().node, "");
  EXPECT_THAT(refusal.error().detail, HasSubstr("run timeout is 0s"));
}

}  // namespace
}  // namespace vortex
