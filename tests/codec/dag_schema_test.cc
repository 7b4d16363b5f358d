// The schema for editors and the reader of DAG files say the same.
#include "codec/dag_schema.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/dag_file.h"
#include "codec/dag_read.h"
#include "codec/dag_schedule.h"
#include "codec/yaml/yaml_document.h"
#include "tests/codec/schema_checker.h"

namespace vortex::codec {
namespace {

const std::string kFile = std::string(VX_SOURCE_ROOT) + "/schema/dag.schema.json";

std::string file_text() {
  std::ifstream stream(kFile, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(DagSchema, TheFileInTheRepositoryEqualsTheCode) {
  if (std::getenv("VX_UPDATE_DOCS") != nullptr) std::ofstream(kFile) << dag_schema();
  EXPECT_TRUE(file_text() == dag_schema())
      << "schema/dag.schema.json is not what the code says; run the tests once with "
         "VX_UPDATE_DOCS=1 and commit the file";
}

class Schema {
 public:
  Schema() : text_(dag_schema()) { EXPECT_FALSE(document_.parse(text_)); }
  const Document& document() const { return document_; }

  std::string fault_of(std::string_view yaml) const {
    const auto loaded = load_yaml(yaml);
    if (!loaded) return "not YAML";
    if (!loaded->problems.empty()) return "not clear";
    Document value;
    if (value.parse(loaded->json)) return "not JSON";
    return testing::schema_fault(document_, value);
  }

  std::set<std::string_view> keys_at(std::string_view pointer) const {
    std::set<std::string_view> keys;
    const auto at = document_.find(pointer);
    EXPECT_TRUE(at.has_value()) << pointer;
    if (!at) return keys;
    document_.each_member(*at, [&](NodeIx key, NodeIx) { keys.insert(document_.text(key)); });
    return keys;
  }

 private:
  std::string text_;
  Document document_;
};

TEST(DagSchema, KnowsExactlyTheKeysThatTheReaderKnows) {
  const Schema schema;
  const std::string task = "/properties/tasks/additionalProperties/properties";
  const std::vector<std::pair<std::string, std::vector<std::string_view>>> parts{
      {"/properties", dag_keys()},
      {"/properties/schedule/properties", schedule_keys()},
      {"/properties/schedule/properties/catchup/properties", catchup_keys()},
      {"/properties/params/additionalProperties/properties", param_keys()},
      {"/properties/defaults/properties", default_keys()},
      {task, task_keys()},
      {task + "/retry/properties", retry_keys()},
      {task + "/map/properties", map_keys()},
      {task + "/wait/properties", wait_keys()},
      {"/properties/finally/additionalProperties/properties", task_keys()},
      {task + "/map/properties/over/oneOf/1/properties/range/properties", range_keys()},
      {task + "/resources/properties", {"cpu", "memory", "named"}},
  };
  for (const auto& [pointer, keys] : parts) {
    EXPECT_EQ(schema.keys_at(pointer), (std::set<std::string_view>(keys.begin(), keys.end())))
        << pointer;
  }
}

std::string task_in_braces(std::string_view members) {
  return fmt::format("name: d\ntasks:\n  a: {{{}}}\n", members);
}

std::vector<std::string> good_files() {
  std::vector<std::string> files{
      "vortex: 1\nname: d\ntasks: {a: {run: [x]}}\n",
      "name: d\ntimeout: 1.5h\nbarrier: levels\ntasks: {a-1.b_c: {run: [x]}}\n",
      "name: d\nparams: {}\ntasks: {a: {run: [x]}}\n",
      "name: d\nschedule: {cron: \"@daily\"}\ntasks: {a: {run: [x]}}\n",
      "name: d\nschedule: {every: 15m, timezone: Europe/Berlin, overlap: queue_one, jitter: 1m, "
      "from: 2026-03-01, until: \"2026-04-01 10:00\", catchup: {window: 1d, limit: 3}, "
      "pause_on_failure: true}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {default: x, help: h}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {type: number, default: -1.5}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {type: boolean, default: false}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {type: list, default: [1, a]}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {type: object, default: {a: null}}}\ntasks: {a: {run: [x]}}\n",
      "name: d\ndefaults: {retry: {max: 0}, env: {A: b}}\ntasks: {a: {run: [x]}}\n",
      "name: d\ntasks: {a: {run: [x]}, b: {needs: a, run: [x]}, c: {needs: [a, b], run: [x]}}\n",
      "name: d\ntasks: {a: {run: [x]}, b: {needs: a, run: [x], inputs: [\"${{ tasks.a.outputs.x "
      "}}\"]}}\n",
  };
  for (const std::string_view members : {
           "run: [x, \"${{ run.id }}\"]",
           "run: \"x | y\", shell: [bash, -euc]",
           "run: [x], shell: [bash]",
           "run: [x], env: {A: \"1\", B: \"\"}",
           "run: [x], workdir: /",
           "run: [x], retry: {}",
           "run: [x], retries: 0",
           "run: [x], retry: {max: 10000, backoff: linear, delay: 0s, max_delay: 1d}",
           "run: [x], retry: {jitter: 0.25, unless_exit: [1, 255]}",
           "run: [x], retry: {on: [failed, out_of_memory], only_exit: [75]}",
           "run: [x], if: \"params.env == 'prod'\"",
           "run: [x], if: true",
           "run: [x], continue_on_error: true",
           "run: [x], queue: q.1",
           "run: [x], priority: -100",
           "run: [x], labels: {gpu: a100}",
           "run: [x], runtime: py",
           "run: [x], worker: w1",
           "run: [x], user: build",
           "run: [x], user: \"1001\"",
           "run: [x], resources: {}",
           "run: [x], resources: {cpu: 0.5, memory: 1.5GiB, named: {seat: 2}}",
           "run: [x], exclusive: true",
           "run: [x], timeout: 90s",
           "run: [x], scheduled_timeout: 5ms",
           "run: [x], stale_after: 1us",
           "run: [x], stale_counts: [output]",
           "run: [x], secrets: {A: db/password}",
           "run: [x], secrets: {A: db/password@3, files: {tls.key: tls/key}}",
           "run: [x], stale_counts: [progress, output]",
           "run: [x], trigger_rule: none_failed",
           "run: [x], map: {over: [a, b]}",
           "run: [x], map: {over: [1, 0.1, true]}",
           "run: [x], resources: {memory: 2TiB}",
           "run: [x], map: {over: {range: {from: 1, to: 3}}}",
           "run: [x], map: {over: {range: {from: 3, to: 1, step: -1}}}",
           "run: [x], map: {over: [a], as: file, max_parallel: 0, max_failures: 4294967295}",
           "run: [x], map: {over: \"${{ params.files }}\", as: file}",
           "run: [x], matrix: {os: [a, b], v: [1, 2.5, true]}",
           "run: [x], outputs: [a, b]",
           "run: [x], outputs: []",
           "run: [x], needs: []",
           "dag: other",
           "dag: other, params: {a: [1], b: \"${{ params.b }}\"}, retries: 1, timeout: 5m",
           "dag: other, map: {over: [a]}, priority: 3",
           "wait: {for: 1h}",
           "wait: {until: \"2026-12-01T02:00:00Z\"}, needs: []",
           "wait: {signal: s, timeout: 1d}, outputs: [v]",
           "wait: {approval: \"Sure?\", by: [operator]}, if: true",
       }) {
    files.push_back(task_in_braces(members));
  }
  return files;
}

std::vector<std::string> bad_files() {
  return {
      "[1]\n",
      "name: d\n",
      "tasks: {a: {run: [x]}}\n",
      "name: d\ntasks: {}\n",
      "name: d\ntasks: [a]\n",
      "name: -d\ntasks: {a: {run: [x]}}\n",
      "name: d\ntasks: {a b: {run: [x]}}\n",
      "vortex: 2\nname: d\ntasks: {a: {run: [x]}}\n",
      "name: d\nschedule: x\ntasks: {a: {run: [x]}}\n",
      "name: d\nschedule: {}\ntasks: {a: {run: [x]}}\n",
      "name: d\nschedule: {cron: \"@daily\", every: 5m}\ntasks: {a: {run: [x]}}\n",
      "name: d\nschedule: {every: 5m, overlap: no}\ntasks: {a: {run: [x]}}\n",
      "name: d\ntasks: {a: {dag: b, run: [x]}}\n",
      "name: d\ntasks: {a: {dag: b, env: {A: b}}}\n",
      "name: d\ntasks: {a: {run: [x], params: {a: 1}}}\n",
      "name: d\noutputs: [a]\ntasks: {a: {run: [x]}}\n",
      "name: d\ntasks: {a: {wait: {}}}\n",
      "name: d\ntasks: {a: {wait: {for: 1h, signal: s}}}\n",
      "name: d\ntasks: {a: {wait: {for: 1h, timeout: 1h}}}\n",
      "name: d\ntasks: {a: {wait: {signal: s, by: [operator]}}}\n",
      "name: d\ntasks: {a: {wait: {until: tomorrow}}}\n",
      "name: d\ntasks: {a: {wait: {approval: Sure?, by: [viewer]}}}\n",
      "name: d\ntasks: {a: {wait: {for: 1h}, run: [x]}}\n",
      "name: d\ntasks: {a: {wait: {for: 1h}, retries: 1}}\n",
      "name: d\ntasks: {a: {run: [x]}}\nfinally: {}\n",
      "name: d\nschedule: {every: 5m, catchup: {window: 1h, limit: 0}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nbarrier: level\ntasks: {a: {run: [x]}}\n",
      "name: d\ntimeout: 5\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: 5}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {type: text}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {default: 5}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {type: number, default: x}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {p: {type: list, default: {}}}\ntasks: {a: {run: [x]}}\n",
      "name: d\nparams: {a/b: {}}\ntasks: {a: {run: [x]}}\n",
      "name: d\ndefaults: {retry: {}, retries: 3}\ntasks: {a: {run: [x]}}\n",
      "name: d\ndefaults: {run: [x]}\ntasks: {a: {run: [x]}}\n",
      "name: d\ndefaults: {map: {over: [a]}}\ntasks: {a: {run: [x]}}\n",
  };
}

std::vector<std::string> bad_tasks() {
  std::vector<std::string> files;
  for (const std::string_view members : {
           "needs: []",
           "run: [1]",
           "run: {a: b}",
           "run: [x], needs: {a: b}",
           "run: [x], runn: [x]",
           "run: [x], if: [a, b]",
           "run: [x], call: f",
           "run: [x], shell: bash",
           "run: [x], env: {A: 1}",
           "run: [x], env: [A]",
           "run: [x], workdir: 1",
           "run: [x], retry: 3",
           "run: [x], retry: {max: -1}",
           "run: [x], retry: {times: 3}",
           "run: [x], retry: {attempts: 3}",
           "run: [x], retries: 10001",
           "run: [x], retries: two",
           "run: [x], retries: 3, retry: {}",
           "run: [x], retry: {max: 10001}",
           "run: [x], retry: {backoff: slow}",
           "run: [x], retry: {delay: 5}",
           "run: [x], retry: {jitter: 1.5}",
           "run: [x], retry: {unless_exit: [0]}",
           "run: [x], retry: {only_exit: [0]}",
           "run: [x], retry: {only_exit: [1], unless_exit: [2]}",
           "run: [x], retry: {on: []}",
           "run: [x], retry: {on: [crashed]}",
           "run: [x], if: 3",
           "run: [x], continue_on_error: 1",
           "run: [x], retry: {unless_exit: 2}",
           "run: [x], queue: a b",
           "run: [x], user: 0",
           "run: [x], user: \"\"",
           "run: [x], user: \"root:root\"",
           "run: [x], priority: 101",
           "run: [x], priority: 1.5",
           "run: [x], labels: {a: 1}",
           "run: [x], resources: {cpu: -1}",
           "run: [x], resources: {memory: 512}",
           "run: [x], resources: {memory: 512mb}",
           "run: [x], resources: {gpu: 1}",
           "run: [x], resources: {named: {a: 1.5}}",
           "run: [x], exclusive: 1",
           "run: []",
           "run: [x], timeout: 90",
           "run: [x], timeout: 90 s",
           "run: [x], stale_after: -1s",
           "run: [x], stale_counts: []",
           "run: [x], secrets: [db/password]",
           "run: [x], secrets: {A: Db}",
           "run: [x], secrets: {A: db@0}",
           "run: [x], secrets: {files: {a/b: c}}",
           "run: [x], stale_counts: [noise]",
           "run: [x], stale_counts: output",
           "run: [x], trigger_rule: any",
           "run: [x], map: {}",
           "run: [x], map: {over: []}",
           "run: [x], map: {over: [[1]]}",
           "run: [x], map: {over: a}",
           "run: [x], map: {over: {range: {from: 1}}}",
           "run: [x], map: {over: {range: {from: 1, to: 2, step: 0}}}",
           "run: [x], map: {over: [a], as: index}",
           "run: [x], map: {over: [a], max_parallel: -1}",
           "run: [x], map: {over: [a], limit: 1}",
           "run: [x], matrix: {}",
           "run: [x], matrix: {k: []}",
           "run: [x], matrix: {k: v}",
           "run: [x], matrix: {k: [[a]]}",
           "run: [x], matrix: {k: [null]}",
           "run: [x], map: {over: [a]}, matrix: {k: [v]}",
           "run: [x], outputs: a",
           "run: [x], outputs: [a, a]",
           "run: [x], outputs: [a b]",
       }) {
    files.push_back(task_in_braces(members));
  }
  return files;
}

TEST(DagSchema, AcceptsWhatTheReaderAccepts) {
  const Schema schema;
  for (const std::string& file : good_files()) {
    EXPECT_TRUE(check_dag_file(file, Syntax::kYaml, {}).has_value()) << file;
    EXPECT_EQ(schema.fault_of(file), "") << file;
  }
}

TEST(DagSchema, RefusesWhatTheReaderRefuses) {
  const Schema schema;
  for (const auto& files : {bad_files(), bad_tasks()}) {
    for (const std::string& file : files) {
      EXPECT_FALSE(check_dag_file(file, Syntax::kYaml, {}).has_value()) << file;
      EXPECT_NE(schema.fault_of(file), "") << file;
    }
  }
}

}  // namespace
}  // namespace vortex::codec
