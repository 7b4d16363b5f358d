// What strangers send is read in time linear in its size: each part of a document is grown
// eightfold, and the processor time of reading it must grow with it, not with its square.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <time.h>

#include "codec/dag_file.h"
#include "codec/dag_json.h"
#include "codec/params.h"
#include "codec/sync_json.h"
#include "model/condition.h"

namespace vortex::codec {
namespace {

// A sanitizer takes many times as long for the same, so less of it is as telling.
const int kSmall = std::getenv("VX_SANITIZED") != nullptr ? 500 : 1'500;
constexpr int kFactor = 8;
// Linear growth gives 8, n log n about 11, a square 64. Half-way between on a busy machine.
constexpr double kGrowthMax = 24;
// Below this a reading is all fixed cost and says nothing about growth.
constexpr double kSecondsThatMatter = 0.004;

double cpu_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
  };
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double begin = now();
    work();
    best = std::min(best, now() - begin);
  }
  return best;
}

// "a0,a1,...": `item` holds {} for the number.
std::string many(int count, std::string_view item, std::string_view between = ",") {
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += between;
    out += fmt::format(fmt::runtime(item), i);
  }
  return out;
}

struct Part {
  const char* name;
  std::string (*document)(int count);
};

void expect_linear(const Part& part, const std::function<void(std::string_view)>& read) {
  const std::string small = part.document(kSmall);
  const std::string large = part.document(kSmall * kFactor);
  const double before = cpu_seconds([&] { read(small); });
  const double after = cpu_seconds([&] { read(large); });
  if (after < kSecondsThatMatter) return;
  EXPECT_LT(after / std::max(before, 1e-5), kGrowthMax)
      << part.name << ": " << before << " s, then " << after << " s for eight times as much";
}

std::string task(const std::string& members) {
  return R"({"vortex":1,"name":"x","tasks":{"a":{"run":["true"],)" + members + "}}}";
}

const Part kJsonParts[] = {
    {"env", [](int n) { return task(R"("env":{)" + many(n, R"("V{}":"x")") + "}"); }},
    {"bad env", [](int n) { return task(R"("env":{)" + many(n, R"("V {}":"x")") + "}"); }},
    {"labels", [](int n) { return task(R"("labels":{)" + many(n, R"("l{}":"x")") + "}"); }},
    {"outputs", [](int n) { return task(R"("outputs":[)" + many(n, R"("o{}")") + "]"); }},
    {"named resources",
     [](int n) { return task(R"("resources":{"named":{)" + many(n, R"("r{}":1)") + "}}"); }},
    {"unless_exit",
     [](int n) { return task(R"("retry":{"unless_exit":[)" + many(n, "{}") + "]}"); }},
    {"only_exit", [](int n) { return task(R"("retry":{"only_exit":[)" + many(n, "{}") + "]}"); }},
    {"retry on", [](int n) { return task(R"("retry":{"on":[)" + many(n, R"("k{}")") + "]}"); }},
    {"map items", [](int n) { return task(R"("map":{"over":[)" + many(n, R"("i{}")") + "]}"); }},
    {"unknown keys", [](int n) { return task(many(n, R"("k{}":1)")); }},
    {"repeated keys", [](int n) { return task(many(n, R"("timeout":"{}s")")); }},
    {"arguments",
     [](int n) {
       return R"({"name":"x","tasks":{"a":{"run":["echo",)" + many(n, R"("a{}")") + "]}}}";
     }},
    {"expressions over params",
     [](int n) {
       return R"({"name":"x","params":{)" + many(n, R"("p{}":{{"type":"string","default":""}})") +
              R"(},"tasks":{"a":{"run":["echo",)" + many(n, R"("${{{{ params.p{} }}}}")") + "]}}}";
     }},
    {"expressions over outputs of one task",
     [](int n) {
       return R"({"name":"x","tasks":{"a":{"run":["true"],"outputs":[)" + many(n, R"("o{}")") +
              R"(]},"b":{"needs":["a"],"run":["echo",)" +
              many(n, R"("${{{{ tasks.a.outputs.o{} }}}}")") + "]}}}";
     }},
    {"expressions over many tasks",
     [](int n) {
       return R"({"name":"x","tasks":{)" + many(n, R"("a{}":{{"run":["true"],"outputs":["o"]}})") +
              R"(,"b":{"needs":[)" + many(n, R"("a{}")") + R"(],"run":["echo",)" +
              many(n, R"("${{{{ tasks.a{}.outputs.o }}}}")") + "]}}}";
     }},
    {"conditions over outputs of one task",
     [](int n) {
       return R"({"name":"x","tasks":{"a":{"run":["true"]},)" +
              many(n, R"("b{0}":{{"run":["true"],"needs":["a"],)"
                      R"x("if":"tasks.a.outputs.o{0} == 1 or failed(a)"}})x") +
              "}}";
     }},
    {"tasks",
     [](int n) {
       return R"({"name":"x","tasks":{)" + many(n, R"("t{}":{{"run":["true"]}})") + "}}";
     }},
    {"chain of tasks",
     [](int n) {
       return R"({"name":"x","tasks":{"t":{"run":["true"]},)" +
              many(n, R"("t{0}":{{"run":["true"],"needs":["t"]}})") + "}}";
     }},
    {"tasks in reverse",
     [](int n) {
       std::string tasks;
       for (int i = n; i > 0; --i) {
         tasks += fmt::format(R"("t{}":{{"run":["true"],"needs":["t{}"]}},)", i, i - 1);
       }
       return R"({"name":"x","tasks":{)" + tasks + R"("t0":{"run":["true"]}}})";
     }},
    {"a task with unknown needs",
     [](int n) { return task(R"("needs":[)" + many(n, R"("u{}")") + "]"); }},
    {"repeated needs", [](int n) { return task(R"("needs":[)" + many(n, R"("a{}")") + "]"); }},
    {"tasks that each have a fault",
     [](int n) {
       return R"({"name":"x","tasks":{)" + many(n, R"("t{0}":{{"run":[],"needs":["none{0}"]}})") +
              "}}";
     }},
};

TEST(Growth, EveryPartOfACanonicalDagIsReadInLinearTime) {
  const DagLimits limits{.depth_max = 1'000'000};
  for (const Part& part : kJsonParts) {
    expect_linear(part, [&](std::string_view text) {
      (void)check_dag_file(text, Syntax::kJson, limits);
      if (auto spec = read_dag(text)) (void)write_dag(*spec);
    });
  }
}

std::string yaml(const std::string& body) { return "vortex: 1\nname: x\n" + body; }

const Part kYamlParts[] = {
    {"env over defaults",
     [](int n) {
       const std::string env = many(n, "    V{}: x", "\n");
       return yaml("defaults:\n  env:\n" + env + "\ntasks:\n  a:\n    run: [\"true\"]\n    env:\n" +
                   many(n, "      V{}: y", "\n") + "\n");
     }},
    {"labels over defaults",
     [](int n) {
       return yaml("defaults:\n  labels:\n" + many(n, "    l{}: x", "\n") +
                   "\ntasks:\n  a:\n    run: [\"true\"]\n    labels:\n" +
                   many(n, "      l{}: y", "\n") + "\n");
     }},
    {"anchors and aliases",
     [](int n) {
       return yaml("tasks:\n" +
                   many(n, "  t{0}:\n    run: &r{0} [\"true\"]\n  u{0}: {{run: *r{0}}}", "\n") +
                   "\n");
     }},
    {"merged maps",
     [](int n) {
       return yaml("tasks:\n  b: &b {run: [\"true\"]}\n" + many(n, "  t{}: {{<<: *b}}", "\n") +
                   "\n");
     }},
    {"matrix",
     [](int n) {
       return yaml("tasks:\n  a:\n    run: [echo, \"${{ matrix.x }}\"]\n    matrix: {x: [" +
                   many(n, "v{}") + "]}\n");
     }},
    {"several faults",
     [](int n) { return yaml("tasks:\n" + many(n, "  t{}: {{runs: 1}}", "\n") + "\n"); }},
    {"comments",
     [](int n) { return many(n, "# {}", "\n") + "\n" + yaml("tasks: {a: {run: [\"true\"]}}\n"); }},
};

TEST(Growth, EveryPartOfADagFileIsReadInLinearTime) {
  for (const Part& part : kYamlParts) {
    expect_linear(part, [](std::string_view text) {
      (void)check_dag_file(text, Syntax::kYaml, DagLimits{});
    });
  }
}

TEST(Growth, ParamsOfARunAreCheckedInLinearTime) {
  const Part given{"params", [](int n) { return "{" + many(n, R"("p{}":"v")") + "}"; }};
  const Part wrong{"wrong params", [](int n) { return "{" + many(n, R"("q{}":"v")") + "}"; }};
  for (const Part& part : {given, wrong}) {
    expect_linear(part, [](std::string_view text) {
      DagSpec spec;
      const auto count = std::ranges::count(text, ':');
      for (int i = 0; i < count; ++i) {
        spec.params.push_back(ParamSpec{.name = fmt::format("p{}", i)});
      }
      (void)check_params(spec, text);
    });
  }
}

TEST(Growth, EveryPartOfASyncIsReadInLinearTime) {
  const Part parts[] = {
      {"held",
       [](int n) {
         return R"({"incarnation":1,"slots":1,"seq":1,"held":[)" +
                many(n, R"({{"task":"r1.{}","epoch":1}})") + "]}";
       }},
      {"reports",
       [](int n) {
         return R"({"incarnation":1,"slots":1,"seq":1,"reports":[)" +
                many(n, R"({{"kind":"started","task":"r1.{}","epoch":1}})") + "]}";
       }},
      {"unknown keys",
       [](int n) {
         return R"({"incarnation":1,"slots":1,"seq":1,)" + many(n, R"("u{}":1)") + "}";
       }},
  };
  for (const Part& part : parts) {
    expect_linear(part, [](std::string_view text) { (void)read_sync(text, WorkerId("w")); });
  }
}

// A submitter chooses both the list and how often conditions look into it, and everybody waits
// while they are decided.
TEST(Growth, LookingIntoAListCostsTheSameHoweverLongItIs) {
  const Part list{"list", [](int n) { return "[" + many(n / 5, "{}") + "]"; }};
  const Condition lookup = parse_condition("12345678 in params.l").value();
  expect_linear(list, [&](std::string_view text) {
    const std::vector<ReadValue> read{ReadValue({Value::Kind::kList, std::string(text)})};
    const ConditionFacts facts{read, [](std::uint32_t) { return TaskEnd::kSucceeded; }};
    const auto lookups = std::ranges::count(text, ',') * 40;
    for (int i = 0; i < lookups; ++i) EXPECT_FALSE(decide(lookup, facts).value());
  });
}

// The worst string and part for a search that starts over at every place.
TEST(Growth, SearchingAStringCostsItsLength) {
  const Part text{"text", [](int n) { return std::string(static_cast<std::size_t>(n), 'a'); }};
  const Condition search = parse_condition("contains(params.t, params.t)").value();
  expect_linear(text, [&](std::string_view given) {
    Condition condition = search;
    condition.parts[1].reads = 1;
    const std::string part = std::string(given.substr(given.size() / 2)) + 'b';
    const std::vector<ReadValue> read{ReadValue({Value::Kind::kText, std::string(given)}),
                                      ReadValue({Value::Kind::kText, part})};
    const ConditionFacts facts{read, [](std::uint32_t) { return TaskEnd::kSucceeded; }};
    for (int i = 0; i < 200; ++i) EXPECT_FALSE(decide(condition, facts).value());
  });
}

}  // namespace
}  // namespace vortex::codec
