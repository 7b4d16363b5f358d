// Every example that people can see is a DAG that can run.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/dag_file.h"
#include "codec/dag_json.h"
#include "codec/dag_schema.h"
#include "codec/yaml/yaml_document.h"
#include "tests/codec/schema_checker.h"

namespace vortex::codec {
namespace {

const std::filesystem::path kRoot = VX_SOURCE_ROOT;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Files that sub-DAGs name stand among the examples.
std::expected<std::shared_ptr<const DagSpec>, std::string> dag_of_file(const std::string& file) {
  const std::string yaml = text_of(kRoot / "examples" / file);
  const auto plan = check_dag_file(yaml, Syntax::kYaml, {}, dag_of_file);
  if (!plan) return std::unexpected("cannot read " + file);
  return std::shared_ptr<const DagSpec>((*plan)->base, &(*plan)->base->spec);
}

std::string complaints_of(std::string_view yaml) {
  const auto plan = check_dag_file(yaml, Syntax::kYaml, {}, dag_of_file);
  std::string out;
  if (plan) return out;
  for (const DagComplaint& c : plan.error()) out += to_text(c.problem, "example", "");
  return out;
}

std::string schema_fault_of(std::string_view yaml) {
  const std::string text = dag_schema();
  Document schema;
  Document value;
  const auto loaded = load_yaml(yaml);
  if (schema.parse(text) || !loaded || value.parse(loaded->json)) return "cannot be read";
  return testing::schema_fault(schema, value);
}

TEST(Examples, EveryFileCanRun) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    names.push_back(entry.path().stem());
    const std::string yaml = text_of(entry.path());
    EXPECT_EQ(complaints_of(yaml), "") << entry.path();
    EXPECT_EQ(schema_fault_of(yaml), "") << entry.path();
    const auto spec = read_dag_yaml(yaml);
    ASSERT_TRUE(spec.has_value()) << entry.path();
    EXPECT_EQ(spec->name, entry.path().stem()) << "a file is called like its DAG";
    EXPECT_TRUE(read_dag(write_dag(*spec)).has_value());
  }
  EXPECT_GE(names.size(), 6U);
}

struct Block {
  std::string text;
  std::size_t line = 0;
};

// The blocks of a page that are fenced as ```yaml; `more` is what follows that word.
std::vector<Block> blocks_of(const std::string& page, std::string_view more) {
  std::vector<Block> blocks;
  std::istringstream lines(page);
  const std::string fence = "```yaml" + std::string(more);
  bool inside = false;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (!inside && line == fence) {
      inside = true;
      blocks.push_back({"", number + 1});
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

TEST(Examples, EveryExampleOfThePageIsWhatItSays) {
  const std::string page = text_of(kRoot / "docs/dag-files.md");
  const auto good = blocks_of(page, "");
  const auto bad = blocks_of(page, " wrong");
  EXPECT_GE(good.size(), 8U);
  EXPECT_GE(bad.size(), 2U);
  for (const Block& block : good) {
    EXPECT_EQ(complaints_of(block.text), "") << "docs/dag-files.md:" << block.line;
    EXPECT_EQ(schema_fault_of(block.text), "") << "docs/dag-files.md:" << block.line;
  }
  for (const Block& block : bad) {
    EXPECT_NE(complaints_of(block.text), "") << "docs/dag-files.md:" << block.line;
  }
}

}  // namespace
}  // namespace vortex::codec
