#include "codec/dag_json.h"

#include <string>

#include <gtest/gtest.h>

#include "model/plan.h"
#include "tests/codec/bad_documents.h"

namespace vortex::codec {
namespace {

using testing::BadDocument;
using testing::expect_refused;

constexpr std::string_view kFull = R"({
  "vortex": 1,
  "name": "thumbs",
  "timeout": "1h",
  "barrier": "levels",
  "tasks": {
    "list": {"run": "find .", "shell": ["bash", "-euc"], "outputs": ["files"]},
    "resize": {
      "needs": ["list"], "trigger_rule": "all_done",
      "run": ["convert", "a b"], "env": {"Z": "1", "A": "2"}, "workdir": "/srv",
      "retry": {"max": 5, "backoff": "fixed", "delay": "0.5s", "max_delay": "2m",
                "jitter": 0.25, "unless_exit": [2, 64]},
      "queue": "images", "priority": -7, "labels": {"zone": "b", "gpu": "a"}, "runtime": "python",
      "worker": "w1", "user": "build",
      "resources": {"cpu": 1.5, "memory": "512MiB", "named": {"seat": 2, "licence": 1}},
      "exclusive": true, "timeout": "5m", "scheduled_timeout": "90s", "stale_after": "30s",
      "map": {"over": {"range": {"from": 1, "to": 9, "step": 2}},
              "max_parallel": 16, "max_failures": 0}
    }
  }
})";

TEST(DagJson, EveryFieldFindsItsPlace) {
  const auto dag = read_dag(kFull);
  ASSERT_TRUE(dag.has_value()) << dag.error().front().message;
  EXPECT_EQ(dag->name, "thumbs");
  EXPECT_EQ(dag->run_timeout, hours(1));
  EXPECT_TRUE(dag->barrier_levels);
  ASSERT_EQ(dag->nodes.size(), 2U);
  EXPECT_EQ(dag->nodes[0].name, "list");
  EXPECT_EQ(dag->nodes[0].command.argv, std::vector<std::string>{"find ."});
  EXPECT_EQ(dag->nodes[0].command.shell, (std::vector<std::string>{"bash", "-euc"}));
  EXPECT_EQ(dag->nodes[0].outputs, std::vector<std::string>{"files"});
  const NodeSpec& node = dag->nodes[1];
  EXPECT_EQ(node.needs, std::vector<std::string>{"list"});
  EXPECT_EQ(node.trigger, TriggerRule::kAllDone);
  EXPECT_EQ(node.command.argv, (std::vector<std::string>{"convert", "a b"}));
  ASSERT_EQ(node.command.env.size(), 2U);
  EXPECT_EQ(node.command.env[0].first, "Z") << "the order of the environment is kept";
  EXPECT_EQ(node.command.workdir, "/srv");
  ASSERT_TRUE(node.retry.has_value());
  EXPECT_EQ(node.retry->max_retries, 5);
  EXPECT_EQ(node.retry->backoff.kind, BackoffKind::kFixed);
  EXPECT_EQ(node.retry->backoff.delay, millis(500));
  EXPECT_EQ(node.retry->backoff.max_delay, minutes(2));
  EXPECT_EQ(node.retry->backoff.jitter_permille, 250);
  EXPECT_EQ(node.retry->unless_exit, (std::vector<std::int32_t>{2, 64}));
  EXPECT_EQ(node.requirements.queue, "images");
  EXPECT_EQ(node.requirements.labels, (Labels{{"gpu", "a"}, {"zone", "b"}})) << "sorted";
  EXPECT_EQ(node.requirements.runtime, "python");
  EXPECT_EQ(node.requirements.worker, WorkerId("w1"));
  EXPECT_EQ(node.requirements.user, "build");
  EXPECT_EQ(node.requirements.resources.cpu_milli, 1'500);
  EXPECT_EQ(node.requirements.resources.memory_bytes, 536'870'912);
  EXPECT_EQ(node.requirements.resources.named, (NamedAmounts{{"licence", 1}, {"seat", 2}}));
}

TEST(DagJson, EveryFieldOfTheScheduleFindsItsPlace) {
  const auto dag = read_dag(kFull);
  ASSERT_TRUE(dag.has_value());
  const NodeSpec& node = dag->nodes[1];
  EXPECT_EQ(node.priority, -7);
  EXPECT_TRUE(node.exclusive);
  EXPECT_EQ(node.execution_timeout, minutes(5));
  EXPECT_EQ(node.scheduled_timeout, seconds(90));
  EXPECT_EQ(node.stale_after, seconds(30));
  ASSERT_TRUE(node.map.has_value());
  const auto& range = std::get<MapRange>(node.map->over);
  EXPECT_EQ(range.first, 1);
  EXPECT_EQ(range.last, 9);
  EXPECT_EQ(range.step, 2);
  EXPECT_EQ(node.map->max_parallel, 16U);
  EXPECT_EQ(node.map->max_failures, 0U);
  EXPECT_TRUE(compile(*dag, {}).has_value());
}

TEST(DagJson, OnlyNameAndTasksAreRequiredAndDefaultsAreNotWritten) {
  const auto dag = read_dag(R"({"tasks":{"b":{},"a":{"needs":["b"]}},"name":"x"})");
  ASSERT_TRUE(dag.has_value());
  EXPECT_EQ(dag->nodes[0].name, "b") << "the order of the tasks is kept";
  EXPECT_FALSE(dag->nodes[0].retry.has_value());
  EXPECT_EQ(dag->nodes[0].requirements.queue, "default");
  EXPECT_EQ(write_dag(*dag), R"({"vortex":1,"name":"x","tasks":{"b":{},"a":{"needs":["b"]}}})");
}

TEST(DagJson, APartOfARetryHasTheDefaultsOfTheRest) {
  const auto dag = read_dag(R"({"name":"x","tasks":{"a":{"retry":{"delay":"5m"}}}})");
  ASSERT_TRUE(dag.has_value());
  EXPECT_EQ(dag->nodes[0].retry->max_retries, RetryPolicy{}.max_retries);
  EXPECT_EQ(dag->nodes[0].retry->backoff.max_delay, minutes(5)) << "never less than the delay";
  EXPECT_TRUE(compile(*dag, {}).has_value());
}

TEST(DagJson, TheFormerNameOfMaxIsReadFromTheDatabaseAndRefusedToUsers) {
  constexpr std::string_view kFormer =
      R"({"vortex":1,"name":"x","tasks":{"a":{"run":["y"],"retry":{"attempts":5,"delay":"1s"}}}})";
  const auto stored = read_stored_dag(kFormer);
  ASSERT_TRUE(stored.has_value()) << stored.error().front().message;
  EXPECT_EQ(stored->nodes[0].retry->max_retries, 5);
  EXPECT_EQ(stored->nodes[0].retry->backoff.delay, seconds(1));
  const auto again = read_dag(write_dag(*stored));
  ASSERT_TRUE(again.has_value()) << "what is written has the name of today";
  EXPECT_EQ(again->nodes[0].retry->max_retries, 5);
  EXPECT_FALSE(read_stored_dag(R"({"name":"x","tasks":{"a":{"retry":{"tries":5}}}})").has_value());

  const auto refused = read_dag(kFormer);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().front().pointer, "/tasks/a/retry/attempts");
  EXPECT_EQ(refused.error().front().line, 1U);
  EXPECT_EQ(refused.error().front().column, 59U);
  EXPECT_EQ(refused.error().front().help,
            "'attempts' is called 'max' here: the number of retries after the first try; "
            "write retry: {max: 5}");
}

TEST(DagJson, TheWrittenFormIsTheCanonicalOne) {
  const auto dag = read_dag(kFull);
  ASSERT_TRUE(dag.has_value());
  EXPECT_EQ(
      write_dag(*dag),
      R"({"vortex":1,"name":"thumbs","timeout":"1h","barrier":"levels","tasks":{)"
      R"("list":{"run":"find .","shell":["bash","-euc"],"outputs":["files"]},)"
      R"("resize":{"needs":["list"],"trigger_rule":"all_done","run":["convert","a b"],)"
      R"("env":{"Z":"1","A":"2"},"workdir":"/srv",)"
      R"("retry":{"max":5,"backoff":"fixed","delay":"500ms","max_delay":"2m","jitter":0.25,)"
      R"("unless_exit":[2,64]},"queue":"images","priority":-7,"labels":{"gpu":"a","zone":"b"},)"
      R"("runtime":"python","worker":"w1",)"
      R"("resources":{"cpu":1.5,"memory":"512MiB","named":{"licence":1,"seat":2}},"user":"build",)"
      R"("exclusive":true,"timeout":"5m","scheduled_timeout":"90s","stale_after":"30s",)"
      R"("map":{"over":{"range":{"from":1,"to":9,"step":2}},"max_parallel":16,"max_failures":0}}}})");
}

// One task with these members, which start in column 30 of line 1.
std::string json_task(std::string_view members) {
  return "{\"name\":\"x\",   \"tasks\":{\"a\":{" + std::string(members) + "}}}";
}

TEST(DagJson, SyntaxIsRefusedAtItsPlace) {
  const BadDocument kBad[] = {
      {"", "", 1, 1, "the document is empty"},
      {" \n ", "", 2, 2, "the document is empty"},
      {"{\"name\": \"x\",\n  \"tasks\": {},}", "", 2, 15, "unexpected }", "extra comma"},
      {"{\"name\": \"x\"\n \"tasks\": {}}", "", 2, 2, "unexpected \""},
      {"{\"name\": \"x\"", "", 1, 13, "ends too early"},
      {"{'name': 1}", "", 1, 2, "unexpected '", "double quotes"},
      {"{\"name\": x}", "", 1, 10, "unexpected x"},
      {"{\"name\": 01}", "", 1, 11, "unexpected 1"},
      {"{\"name\": 1.}", "", 1, 12, "unexpected }"},
      {"{} {}", "", 1, 4, "unexpected content after the end"},
      {"{} // c", "", 1, 4, "unexpected content after the end"},
      {"{// c\n}", "", 1, 2, "unexpected /", "JSON does not allow comments"},
      {"{\"name\": \"a\nb\"}", "", 1, 12, "control character \\x0a"},
      {"{\"name\": \"a\xFF\"}", "", 1, 12, "not UTF-8"},
      {"{\"name\": \"\\ud800\"}", "", 1, 17, ""},
      {"{\"name\": 1e99999999999}", "", 1, 21, "out of range"},
      {"\xEF\xBB\xBF{}", "", 1, 1, ""},
      {"NaN", "", 1, 1, "unexpected N"},
  };
  for (const BadDocument& bad : kBad) expect_refused(bad, read_dag);
}

TEST(DagJson, WrongShapesAreRefusedAtTheirPlace) {
  const BadDocument kBad[] = {
      {"[]", "", 1, 1, "the document is a list; it must be an object"},
      {"{}", "", 1, 1, "the document has no 'name'"},
      {"{}", "", 1, 1, "the document has no 'tasks'"},
      {R"({"name":1,"tasks":{}})", "/name", 1, 9, "'name' is 1; it must be a string", "\"1\""},
      {R"({"name":null,"tasks":{}})", "/name", 1, 9, "'name' is null"},
      {R"({"name":"x","tasks":[]})", "/tasks", 1, 21, "'tasks' is a list; it must be a map",
       "write a map of names to tasks"},
      {R"({"name":"x","tasks":{"a":1}})", "/tasks/a", 1, 26, "'a' is 1; it must be an object"},
      {R"({"name":"x","tasks":{},"task":{}})", "/task", 1, 24, "unknown key 'task' in the document",
       "did you mean 'tasks'?"},
      {"{\"name\":\"x\",\n\"tasks\":{\"a\":{},\n \"a\":{}}}", "/tasks/a", 3, 2,
       "key 'a' is given twice"},
      {R"({"name":"x","name":"y","tasks":{}})", "/name", 1, 13, "key 'name' is given twice"},
      {R"({"vortex":2,"name":"x","tasks":{}})", "/vortex", 1, 11, "only version 1 is supported"},
      {R"({"barrier":"level","name":"x","tasks":{}})", "/barrier", 1, 12,
       "'barrier' is 'level'; it must be levels", "did you mean 'levels'?"},
      {R"({"timeout":"0s","name":"x","tasks":{}})", "/timeout", 1, 12, "'timeout' is '0s'"},
      {R"({"name":"x","tasks":{"a/b~":{"x":1}}})", "/tasks/a~1b~0/x", 1, 30, "unknown key 'x'"},
      {R"({"n\u0061me":2,"tasks":{}})", "/name", 1, 14, "'name' is 2"},
  };
  for (const BadDocument& bad : kBad) expect_refused(bad, read_dag);
}

TEST(DagJson, WrongValuesOfATaskAreRefusedAtTheirPlace) {
  const BadDocument kBad[] = {
      {json_task(R"("retires":1)"), "/tasks/a/retires", 1, 30, "unknown key 'retires' in task 'a'"},
      {json_task(R"("retri":1)"), "/tasks/a/retri", 1, 30, "unknown key", "did you mean 'retry'?"},
      {json_task(R"("needs":"b")"), "/tasks/a/needs", 1, 38, "'needs' is 'b'; it must be a list"},
      {json_task(R"("needs":["b",3])"), "/tasks/a/needs/1", 1, 43, "item 2 of 'needs' is 3"},
      {json_task(R"("trigger_rule":"all_sucess")"), "/tasks/a/trigger_rule", 1, 45,
       "one of all_success", "did you mean 'all_success'?"},
      {json_task(R"("run":"ls")"), "/tasks/a/run", 1, 36, "no shell", "as a list"},
      {json_task(R"("run":7)"), "/tasks/a/run", 1, 36, "'run' is 7; it must be a list of strings"},
      {json_task(R"("env":{"A":1})"), "/tasks/a/env/A", 1, 41, "'A' is 1; it must be a string",
       "put it in quotes: \"1\""},
      {json_task(R"("env":{"A":"1","A":"2"})"), "/tasks/a/env/A", 1, 45, "given twice"},
      {json_task(R"("env":{"A":true})"), "/tasks/a/env/A", 1, 41, "'A' is true", "\"true\""},
      {json_task(R"("priority":1.5)"), "/tasks/a/priority", 1, 41, "it must be a whole number"},
      {json_task(R"("priority":1e1)"), "/tasks/a/priority", 1, 41,
       "is 1e1; it must be a whole number"},
      {json_task(R"("priority":"1")"), "/tasks/a/priority", 1, 41, "whole number",
       "without quotes"},
      {json_task(R"("priority":101)"), "/tasks/a/priority", 1, 41,
       "is 101; the allowed range is -100 to 100"},
      {json_task(R"("priority":99999999999999999999)"), "/tasks/a/priority", 1, 41,
       "is 99999999999999999999; the allowed range is -100 to 100"},
      {json_task(R"("timeout":5)"), "/tasks/a/timeout", 1, 40, "it must be a string with a unit",
       "90s"},
      {json_task(R"("timeout":"5")"), "/tasks/a/timeout", 1, 40, "which is not a duration", "90s"},
      {json_task(R"("timeout":"5 m")"), "/tasks/a/timeout", 1, 40, "which is not a duration"},
      {json_task(R"("exclusive":"yes")"), "/tasks/a/exclusive", 1, 42, "true or false"},
      {json_task(R"("labels":{"gpu":1})"), "/tasks/a/labels/gpu", 1, 46, "it must be a string"},
      {json_task(R"("outputs":{"a":1})"), "/tasks/a/outputs", 1, 40, "it must be a list"},
  };
  for (const BadDocument& bad : kBad) expect_refused(bad, read_dag);
}

TEST(DagJson, WrongValuesDeeperInATaskAreRefusedAtTheirPlace) {
  const BadDocument kBad[] = {
      {json_task(R"("retry":{"dely":"1s"})"), "/tasks/a/retry/dely", 1, 39,
       "unknown key 'dely' in 'retry'", "did you mean 'delay'?"},
      {json_task(R"("retry":{"max":-1})"), "/tasks/a/retry/max", 1, 45, "0 to 10000"},
      {json_task(R"("retry":{"jitter":1.5})"), "/tasks/a/retry/jitter", 1, 48, "from 0 to 1"},
      {json_task(R"("retry":{"jitter":0.0001})"), "/tasks/a/retry/jitter", 1, 48, "three decimals"},
      {json_task(R"("retry":{"backoff":"exp"})"), "/tasks/a/retry/backoff", 1, 49, "one of fixed"},
      {json_task(R"("retry":{"unless_exit":[0]})"), "/tasks/a/retry/unless_exit/0", 1, 54,
       "item 1 of 'unless_exit' is 0; the allowed range is 1 to 255"},
      {json_task(R"("resources":{"cpu":"1"})"), "/tasks/a/resources/cpu", 1, 49,
       "a number such as 1.5"},
      {json_task(R"("resources":{"cpu":0.0001})"), "/tasks/a/resources/cpu", 1, 49, "finer than"},
      {json_task(R"("resources":{"cpu":-1})"), "/tasks/a/resources/cpu", 1, 49, "is -1"},
      {json_task(R"("resources":{"memory":512})"), "/tasks/a/resources/memory", 1, 52,
       "with a unit", "512MiB"},
      {json_task(R"("resources":{"memory":"512"})"), "/tasks/a/resources/memory", 1, 52,
       "not a size"},
      {json_task(R"("resources":{"named":{"x":1.5}})"), "/tasks/a/resources/named/x", 1, 56,
       "whole"},
      {json_task(R"("map":{})"), "/tasks/a/map", 1, 36, "'map' has no 'over'"},
      {json_task(R"("map":{"over":"x"})"), "/tasks/a/map/over", 1, 44,
       "a list, a range or an expression"},
      {json_task(R"("map":{"over":[null]})"), "/tasks/a/map/over/0", 1, 45,
       "must be a string, a number, true or false"},
      {json_task(R"("map":{"over":{"range":{"from":1}}})"), "/tasks/a/map/over/range", 1, 53,
       "'range' has no 'to'"},
      {json_task(R"("map":{"over":{"range":{"from":1,"to":1.5}}})"), "/tasks/a/map/over/range/to",
       1, 68, "whole number"},
      {json_task(R"("map":{"over":["a"],"max_parallel":-1})"), "/tasks/a/map/max_parallel", 1, 65,
       "0 to 1000000"},
  };
  for (const BadDocument& bad : kBad) expect_refused(bad, read_dag);
}

TEST(DagJson, AllProblemsAreToldInTheOrderOfTheDocument) {
  const auto dag = read_dag(R"({"tasks":{"a":{"priority":"x","nope":1,"run":3}},"nam":"x"})");
  ASSERT_FALSE(dag.has_value());
  std::vector<std::string> pointers;
  for (const Problem& problem : dag.error()) pointers.push_back(problem.pointer);
  EXPECT_EQ(pointers, (std::vector<std::string>{"", "/tasks/a/priority", "/tasks/a/nope",
                                                "/tasks/a/run", "/nam"}));
}

TEST(DagJson, NotMoreProblemsThanAPersonReads) {
  std::string many = R"({"name":"x","tasks":{)";
  for (int i = 0; i < 1'000; ++i) many += "\"t" + std::to_string(i) + "\":{\"x\":1},";
  many.back() = '}';
  const auto dag = read_dag(many + "}");
  ASSERT_FALSE(dag.has_value());
  EXPECT_EQ(dag.error().size(), kProblemsMax);
}

struct Explained {
  std::string json;
  std::string_view pointer;
  std::string_view message;
  std::string_view help = "";
};

TEST(DagError, PointsToWhatCannotRun) {
  const Explained kCases[] = {
      {R"({"name":"x","tasks":{}})", "/tasks", "a DAG needs at least one task"},
      {R"({"name":"-x","tasks":{"a":{}}})", "/name", "the DAG's name '-x'"},
      {R"({"name":"x","tasks":{"a/b":{}}})", "/tasks/a~1b", "task 'a/b': node 1: name 'a/b'"},
      {R"({"name":"x","tasks":{"\n":{}}})", "/tasks", "node 1: name"},
      {R"({"name":"x","tasks":{"list":{},"b":{"needs":["lisst"]}}})", "/tasks/b/needs",
       "task 'b': needs 'lisst', which is not a task in this DAG", "did you mean 'list'?"},
      {R"({"name":"x","tasks":{"a":{"needs":["a"]}}})", "/tasks/a/needs", "itself"},
      {R"({"name":"x","tasks":{"a":{"needs":["b"]},"b":{"needs":["a"]}}})", "/tasks/a/needs",
       "a -> b"},
      {R"({"name":"x","tasks":{"a":{"map":{"over":{"range":{"from":1,"to":9999999}}}}}})",
       "/tasks/a/map", "too many"},
      {R"({"name":"x","tasks":{"a":{"queue":""}}})", "/tasks/a", "task 'a': queue name is empty"},
  };
  for (const Explained& expected : kCases) {
    auto dag = read_dag(expected.json);
    ASSERT_TRUE(dag.has_value()) << expected.json;
    const auto plan = compile(*std::move(dag), {});
    ASSERT_FALSE(plan.has_value()) << expected.json;
    const Problem problem = explain_dag_error(plan.error());
    EXPECT_EQ(problem.pointer, expected.pointer) << expected.json;
    EXPECT_NE(problem.message.find(expected.message), std::string::npos) << problem.message;
    EXPECT_EQ(problem.help, expected.help) << expected.json;
  }
}

TEST(DagError, AValueOfTheDagItselfIsItsTimeout) {
  EXPECT_EQ(explain_dag_error({DagError::Kind::kBadValue, "", "run timeout is 0s"}).pointer,
            "/timeout");
}

}  // namespace
}  // namespace vortex::codec
