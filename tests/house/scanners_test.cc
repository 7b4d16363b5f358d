// Each scanner of the house against a small bad sample: a guard that cannot fail guards nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/house/layers.h"
#include "tests/house/map.h"
#include "tests/house/purity.h"
#include "tests/house/sizes.h"
#include "tests/house/upkeep.h"

namespace vortex::house {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string impure(const std::string& text) {
  return report(impurities({.path = "src/core/x.cc", .text = text}));
}

std::string direction(const std::string& path, const std::string& include) {
  return report(wrong_directions({.path = path, .text = "#include " + include + "\n"}));
}

TEST(SourceText, BlankingKeepsLengthLinesAndCode) {
  const std::string text =
      "int a = 1'000; // note\n/* two\nlines */ f(\"s\\\"x\", 'c', R\"(raw)\");\n";
  const std::string code = blanked(text, Blank::kCommentsAndLiterals);
  EXPECT_EQ(code.size(), text.size());
  EXPECT_EQ(line_at(code, code.size()), line_at(text, text.size()));
  EXPECT_THAT(code, HasSubstr("int a = 1'000;"));
  for (const char* gone : {"note", "two", "lines", "s\\", "raw"}) {
    EXPECT_EQ(code.find(gone), std::string::npos) << gone;
  }
}

TEST(SourceText, IncludesInCommentsDoNotCount) {
  const auto includes =
      includes_of("// #include <a>\n#include <b>\n#  include \"c/d.h\"  // why\n");
  ASSERT_EQ(includes.size(), 2U);
  EXPECT_EQ(includes[0].name, "b");
  EXPECT_EQ(includes[1].name, "c/d.h");
  EXPECT_EQ(includes[1].line, 3U);
}

TEST(Purity, EachTabooIsFoundWithItsLine) {
  for (const char* sample :
       {"auto t = std::chrono::steady_clock::now();", "std::random_device d;", "int x = rand();",
        "std::thread t;", "std::mutex m;", "std::atomic<int> a;", "asio::io_context c;",
        "std::cout << 1;", "std::printf(s);", "fmt::print(s);", "std::getenv(s);",
        "std::unordered_map<int, int> m;", "std::unordered_set<int> s;", "float f;", "double d;",
        "auto half = 0.5;", "spdlog::info(s);", "sqlite3* db;", "json j;"}) {
    EXPECT_THAT(impure(std::string("\n") + sample), HasSubstr("src/core/x.cc:2: ")) << sample;
  }
}

TEST(Purity, EachImpureIncludeIsFound) {
  for (const char* sample : {"<chrono>", "<thread>", "<iostream>", "<random>", "<unordered_map>",
                             "\"agent/x.h\"", "\"net/x.h\"", "<boost/asio.hpp>"}) {
    EXPECT_THAT(impure(std::string("#include ") + sample), HasSubstr("src/core/x.cc:1: includes"))
        << sample;
  }
}

TEST(Purity, CommentsLiteralsAndLongerWordsAreNoTaboo) {
  EXPECT_THAT(
      impure("#include <map>\n#include \"base/time.h\"\n#include \"core/state/state.h\"\n"
             "// double chrono\nauto s = \"float\"; int thread_count = 1'000; int doubled;"),
      IsEmpty());
}

TEST(Layers, UpwardAndSidewaysIncludesAreFound) {
  EXPECT_THAT(direction("src/base/x.h", "\"model/ids.h\""), HasSubstr("may include only base"));
  EXPECT_THAT(direction("src/model/x.h", "\"core/state/state.h\""), HasSubstr("src/model/x.h:1:"));
  EXPECT_THAT(direction("src/core/x.h", "\"agent/agent.h\""), HasSubstr("may include only"));
  EXPECT_THAT(direction("src/net/x.h", "\"core/state/state.h\""), HasSubstr("may include only"));
  EXPECT_THAT(direction("src/core/x.cc", "\"sim/world.h\""), HasSubstr("never includes sim/"));
  EXPECT_THAT(direction("src/main.cc", "\"tests/x.h\""), HasSubstr("never includes"));
  EXPECT_THAT(direction("src/cli/x.cc", "\"bench/vortex/x.h\""), HasSubstr("never includes"));
  EXPECT_THAT(direction("src/novel/x.cc", "\"base/x.h\""), HasSubstr("no place in the table"));
  EXPECT_THAT(direction("sim/x.cc", "\"tests/x.h\""), HasSubstr("sim/ may include"));
  EXPECT_THAT(direction("src/base/x.cc", "\"x.h\""), HasSubstr("from the root"));
  EXPECT_THAT(direction("sim/check/x.cc", "\"core/state/state.h\""),
              HasSubstr("state the rule anew"));
  EXPECT_THAT(direction("sim/model/x.cc", "\"agent/held.h\""), HasSubstr("state the rule anew"));
  EXPECT_EQ(direction("sim/model/x.cc", "\"core/state/policy.h\""), "");
}

TEST(Layers, DownwardIncludesAreFine) {
  EXPECT_THAT(direction("src/core/x.h", "\"model/ids.h\""), IsEmpty());
  EXPECT_THAT(direction("src/controller/x.h", "\"store/store.h\""), IsEmpty());
  EXPECT_THAT(direction("sim/x.cc", "\"core/state/state.h\""), IsEmpty());
  EXPECT_THAT(direction("tests/sim/x.cc", "\"sim/world.h\""), IsEmpty());
  EXPECT_THAT(direction("src/main.cc", "\"cli/cli.h\""), IsEmpty());
  EXPECT_THAT(direction("src/main.cc", "\"bench/vortex/x.h\""), IsEmpty());
}

std::string body(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "  x += {1, [] { return 2; }()};\n";
  return text;
}

std::vector<std::string> function_headers(const std::string& text) {
  std::vector<std::string> headers;
  for (const FunctionSpan& function : outline_of(text).functions)
    headers.push_back(function.header);
  return headers;
}

std::string too_long(const std::string& opening) {
  return report(oversized_functions(
      {.path = "src/x.cc", .text = "namespace a {\n" + opening + "\n" + body(70) + "}\n}\n"}));
}

TEST(Sizes, LongFunctionsOfAllShapesAreFound) {
  for (const char* opening :
       {"void f() {", "template <class T>\nint g(T t) noexcept {", "X::X(int a) : a_{a}, b_(1) {",
        "auto h(int x) -> std::vector<int> {", "bool operator==(const X& a, const X& b) {",
        "int K::m() const override {", "static std::expected<A, B> n(std::function<void()> f) {"}) {
    EXPECT_THAT(too_long(opening), HasSubstr("lines, 70 at most")) << opening;
  }
}

TEST(Sizes, LongTablesAndTypesAreNoFunctions) {
  for (const char* opening :
       {"constexpr Row kRows[] = {", "struct X {", "enum class E : int {",
        "class Y final : public Base<int> {", "const std::map<int, int> m{"}) {
    EXPECT_THAT(too_long(opening), IsEmpty()) << opening;
  }
}

TEST(Sizes, FunctionsAreFoundInsideTypesAndCountedOnce) {
  EXPECT_THAT(function_headers("struct A {\n  int a = 0;\n  std::vector<int> v{1, 2};\n"
                               " private:\n  int f() const { if (a) { return 1; } return 2; }\n"
                               "  A(int x) : a{x} {}\n};\nint g();\nint h() { return 1; }\n"),
              ElementsAre("int f() const", "A(int x) : a", "int h()"));
}

TEST(Sizes, FunctionOfExactlyTheLimitIsFine) {
  EXPECT_THAT(
      report(oversized_functions({.path = "x.cc", .text = "void f() {\n" + body(68) + "}\n"})),
      IsEmpty());
  EXPECT_THAT(
      report(oversized_functions({.path = "x.cc", .text = "void f() {\n" + body(69) + "}\n"})),
      HasSubstr("x.cc:1: function of 71 lines"));
}

TEST(Sizes, ConstructorsWithManyParametersAreFound) {
  const std::string six = "int a, std::map<int, int> b, int c, int d, int e, int f";
  const auto findings = [](const std::string& parameters) {
    return report(oversized_functions({.path = "x.h",
                                       .text = "class A {\n public:\n  explicit A(" + parameters +
                                               ");\n  int many(int a, int b, int c, int d, int e, "
                                               "int f, int g);\n};\n"}));
  };
  EXPECT_THAT(findings(six), IsEmpty());
  EXPECT_THAT(findings(six + ", int g = f(1, 2)"), HasSubstr("x.h:3: constructor of A takes 7"));
}

TEST(Sizes, LongFilesAreFound) {
  EXPECT_THAT(report(oversized_files({.path = "x.cc", .text = std::string(600, '\n')})), IsEmpty());
  EXPECT_THAT(report(oversized_files({.path = "x.cc", .text = std::string(601, '\n')})),
              HasSubstr("601 lines, 600 at most"));
}

TEST(Upkeep, HeaderWithoutCommentIsFound) {
  const auto findings = [](const std::string& text) {
    return report(missing_header_comment({.path = "x.h", .text = text}));
  };
  EXPECT_THAT(findings("#pragma once\n#include <map>\nstruct A {};\n// late\n// comment\n"),
              HasSubstr("x.h:1: no header comment"));
  EXPECT_THAT(findings("#pragma once\n// short\n\nstruct A {};\n"), HasSubstr("no header comment"));
  EXPECT_THAT(findings("#pragma once\n// What it is,\n// and what not.\n\nstruct A {};\n"),
              IsEmpty());
}

TEST(Upkeep, UntidyLinesAreFound) {
  const auto findings = [](const std::string& text) {
    return report(untidy_lines({.path = "x", .text = text}));
  };
  EXPECT_THAT(findings("a\nb \n"), HasSubstr("x:2: white space"));
  EXPECT_THAT(findings("a\r\n"), HasSubstr("x:1: white space"));
  EXPECT_THAT(findings("a"), HasSubstr("does not end"));
  EXPECT_THAT(findings(std::string("a\nit can") + " not\n"),
              HasSubstr("x:2: 'cannot' is one word"));
  EXPECT_THAT(findings("a\n\nb\n"), IsEmpty());
}

TEST(Upkeep, SettingsThatNobodyReadsAreFound) {
  const SourceFile header{.path = "src/base/settings.h",
                          .text =
                              "struct ControllerSettings {\n  Duration used{};  // L\n"
                              "  bool forgotten = false;\n  std::string spoken_of;\n};\n"};
  const SourceFile own{.path = "src/base/settings_rows.cc", .text = "x = &s.forgotten;\n"};
  const SourceFile user{.path = "src/core/state/state.cc",
                        .text = "a = c.used;  // not c.spoken_of\nb = d.used_up;\n"};
  EXPECT_EQ(report(unread_settings(header, {header, own, user})),
            "src/base/settings.h:3: nobody reads the setting 'forgotten': use it or remove it\n"
            "src/base/settings.h:4: nobody reads the setting 'spoken_of': use it or remove it\n");
}

TEST(Upkeep, MachinePathsAreFound) {
  const auto findings = [](const std::string& text) {
    return report(machine_paths({.path = "x", .text = text}));
  };
  EXPECT_THAT(findings(std::string("a\ncd /ro") + "ot/x\n"), HasSubstr("x:2: "));
  EXPECT_THAT(findings(std::string("\"/ho") + "me/me/x\""), HasSubstr("is a path of one machine"));
  EXPECT_THAT(findings("https://example.org/home/page src/work/x"), IsEmpty());
}

TEST(Map, FilesThatAreNotThereAreFound) {
  const std::vector<std::string> paths{"src/core/step.h", "src/api/views_work.cc", "sim/a.cc",
                                       "src/core/sql/x.sql", "README.md"};
  const auto findings = [&](const std::string& text) {
    return report(missing_files({.path = "A.md", .text = text}, paths));
  };
  EXPECT_THAT(findings("`core/step.h`, `src/core/step.h`, `sim/a.cc` and `README.md`\n"),
              IsEmpty());
  EXPECT_THAT(findings("`api/views_*.cc`; `core/step.h`, `sql/x.sql`\n"), IsEmpty());
  EXPECT_EQ(findings("a\n`core/gone.h` `core/*.cc`\n"),
            "A.md:2: there is no file 'core/gone.h'\nA.md:2: there is no file 'core/*.cc'\n");
  EXPECT_THAT(findings("`sql/x.sql`\n"), HasSubstr("'sql/x.sql'"));
  EXPECT_THAT(findings("`engine::Engine`, `core/` and step.cc\n"), IsEmpty());
}

TEST(Map, SectionsAndTheirFilesAreRead) {
  const std::string page = "# A\n## One\n`a/b.h` `c.cc` `a/b.h`\n## Two\n`d.h`\n";
  EXPECT_THAT(named_files(section(page, "One")), testing::ElementsAre("a/b.h", "c.cc"));
  EXPECT_THAT(named_files(section(page, "Two")), testing::ElementsAre("d.h"));
  EXPECT_THAT(std::string(section(page, "Three")), IsEmpty());
}

TEST(Map, CrowdedFoldersAreFound) {
  const std::vector<SourceFile> files{{"src/a/1.h", ""}, {"src/a/2.h", ""}, {"src/a/b/3.h", ""}};
  EXPECT_THAT(report(crowded_folders(files, 2)), IsEmpty());
  EXPECT_THAT(report(crowded_folders(files, 1)), HasSubstr("src/a/:1: 2 files in one folder"));
}

}  // namespace
}  // namespace vortex::house
