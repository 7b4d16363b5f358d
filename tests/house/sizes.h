#pragma once
// Sizes that keep the code readable: lines of a file, lines of a function, parameters of a
// constructor. Functions are found by their braces, well enough for this code base; what is inside
// a function (lambdas, local types) counts as part of it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_text.h"

namespace vortex::house {

inline constexpr std::size_t kFileLinesMax = 600;
inline constexpr std::size_t kFunctionLinesMax = 70;
inline constexpr std::size_t kConstructorParametersMax = 6;

struct FunctionSpan {
  std::string header;  // the text before the opening brace
  std::size_t first_line = 0;
  std::size_t last_line = 0;
};

struct ConstructorSeen {
  std::string name;
  std::size_t parameters = 0;
  std::size_t line = 0;
};

struct Outline {
  std::vector<FunctionSpan> functions;
  std::vector<ConstructorSeen> constructors;
};

Outline outline_of(std::string_view text);

Findings oversized_files(const SourceFile& file);
Findings oversized_functions(const SourceFile& file);

}  // namespace vortex::house
