#pragma once
// Small things that rot when nobody looks: header comments, white space, scripts that cannot be
// run, paths of one person's machine, settings that nobody reads.

#include <string>
#include <vector>

#include "tests/house/source_text.h"

namespace vortex::house {

// A header tells its purpose at the top; somewhere before its first type it says so in two lines or
// more.
Findings missing_header_comment(const SourceFile& file);

Findings untidy_lines(const SourceFile& file);
Findings machine_paths(const SourceFile& file);

// Members of the settings that only the settings themselves know: nobody would notice their value.
// `header` declares them; `sources` are all files that could read them.
Findings unread_settings(const SourceFile& header, const std::vector<SourceFile>& sources);

// All text files of the repository; with a folder and endings only those.
std::vector<SourceFile> repository_files();
std::vector<SourceFile> sources_in(const std::vector<std::string>& folders);

// Files that begin with #! but may not be run.
Findings scripts_not_executable();

}  // namespace vortex::house
