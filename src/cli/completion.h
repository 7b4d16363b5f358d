#pragma once
// Scripts that complete our commands in a shell, made from the tree of commands itself.
// Pure: the same tree gives the same script.

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace vortex::cli {

// What can be written after one command.
struct CompletionPoint {
  struct Word {
    std::string text;
    std::string help;
  };
  std::string path;  // "runs list"; empty: the program itself
  std::vector<Word> commands;
  std::vector<Word> options;             // also those of the commands above
  std::vector<std::string> takes_value;  // of the options
  std::vector<std::string> takes_file;   // of the options
  bool files = false;                    // its arguments are files
};

std::vector<CompletionPoint> completion_points(const CLI::App& app);

std::string bash_completion(const std::vector<CompletionPoint>& points);
std::string zsh_completion(const std::vector<CompletionPoint>& points);
std::string fish_completion(const std::vector<CompletionPoint>& points);

}  // namespace vortex::cli
