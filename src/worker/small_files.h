#pragma once
// Small files and folders, read and written in one go: those of the kernel and our own.
//
// No exception leaves these; what cannot be read is empty. They block like any file does, so they
// are for files that are in memory or read at start only.

#include <string>
#include <string_view>
#include <vector>

namespace vortex::worker {

std::string path_in(std::string_view folder, std::string_view name);

// Whole contents; empty when it cannot be read.
std::string read_text_file(const std::string& path);
// Into a file that is there, with one write.
bool write_text_file(const std::string& path, std::string_view text);
// The names in a folder, in no order; those that could be read.
std::vector<std::string> names_in(const std::string& folder);
std::vector<std::string> folders_in(const std::string& folder);

}  // namespace vortex::worker
