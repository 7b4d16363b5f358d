#include "cli/completion.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/version.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

using Word = CompletionPoint::Word;

void add_options(CompletionPoint& point, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional()) {
      const std::string name = option->get_name(true, false);
      point.files = point.files || name == "file" || name == "dir";
      continue;
    }
    std::vector<std::string> names;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : names) {
      const bool known = std::ranges::find(point.options, name, &Word::text) != point.options.end();
      if (known) continue;
      point.options.push_back({name, option->get_description()});
      if (option->get_type_size() == 0) continue;
      const bool file = option->get_type_name() == "FILE";
      (file ? point.takes_file : point.takes_value).push_back(name);
    }
  }
}

void walk(std::vector<CompletionPoint>& points, const CLI::App& command, const std::string& path) {
  CompletionPoint point;
  point.path = path;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) add_options(point, *at);
  const auto below = command.get_subcommands({});
  for (const CLI::App* sub : below)
    point.commands.push_back({sub->get_name(), sub->get_description()});
  points.push_back(std::move(point));
  for (const CLI::App* sub : below) {
    walk(points, *sub, path.empty() ? sub->get_name() : path + " " + sub->get_name());
  }
}

std::string texts(const std::vector<Word>& words) {
  std::vector<std::string_view> all;
  all.reserve(words.size());
  for (const Word& word : words) all.push_back(word.text);
  return fmt::format("{}", fmt::join(all, " "));
}

// For single quotes in sh.
std::string shell_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
  return "'" + out + "'";
}

// "case" branches that lead from a command and a word to the command below it.
std::string path_steps(const std::vector<CompletionPoint>& points) {
  std::string out;
  for (const CompletionPoint& point : points) {
    if (point.path.empty()) continue;
    const auto space = point.path.rfind(' ');
    const std::string parent = space == std::string::npos ? "" : point.path.substr(0, space);
    const std::string last = point.path.substr(space == std::string::npos ? 0 : space + 1);
    out += fmt::format("      '{}:{}') path='{}' ;;\n", parent, last, point.path);
  }
  return out;
}

std::string value_options(const std::vector<CompletionPoint>& points, bool files) {
  std::vector<std::string> all;
  for (const CompletionPoint& point : points) {
    for (const auto& name : files ? point.takes_file : point.takes_value) all.push_back(name);
  }
  std::ranges::sort(all);
  const auto extra = std::ranges::unique(all);
  all.erase(extra.begin(), extra.end());
  return all.empty() ? "--none" : fmt::format("{}", fmt::join(all, "|"));
}

}  // namespace

std::vector<CompletionPoint> completion_points(const CLI::App& app) {
  std::vector<CompletionPoint> points;
  walk(points, app, "");
  return points;
}

std::string bash_completion(const std::vector<CompletionPoint>& points) {
  const std::string values = value_options(points, false);
  const std::string files = value_options(points, true);
  std::string out = fmt::format(
      "# vortex: completion for bash. Use: source <(vortex completion bash)\n"
      "_vortex() {{\n"
      "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local path='' i word commands='' options='' files=''\n"
      "  COMPREPLY=()\n"
      "  case \"$prev\" in\n"
      "    {0}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
      "    {1}) return ;;\n"
      "  esac\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    word=\"${{COMP_WORDS[i]}}\"\n"
      "    case \"$word\" in {0}|{1}) ((i++)); continue ;; -*) continue ;; esac\n"
      "    case \"$path:$word\" in\n",
      files, values);
  out += path_steps(points);
  out += "    esac\n  done\n  case \"$path\" in\n";
  for (const CompletionPoint& point : points) {
    out += fmt::format("    '{}') commands='{}' options='{}' files='{}' ;;\n", point.path,
                       texts(point.commands), texts(point.options), point.files ? "yes" : "");
  }
  return out +
         "  esac\n"
         "  if [[ $cur == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
         "  elif [[ $files ]]; then\n"
         "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _vortex vortex\n";
}

std::string zsh_completion(const std::vector<CompletionPoint>& points) {
  const std::string values = value_options(points, false);
  const std::string files = value_options(points, true);
  std::string out = fmt::format(
      "#compdef vortex\n"
      "# vortex: completion for zsh. Use: vortex completion zsh > \"${{fpath[1]}}/_vortex\"\n"
      "_vortex() {{\n"
      "  local path='' i word\n"
      "  local -a commands options\n"
      "  local files=''\n"
      "  case \"${{words[CURRENT-1]}}\" in\n"
      "    {0}) _files; return ;;\n"
      "    {1}) return ;;\n"
      "  esac\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    word=\"${{words[i]}}\"\n"
      "    case \"$word\" in {0}|{1}) ((i++)); continue ;; -*) continue ;; esac\n"
      "    case \"$path:$word\" in\n",
      files, values);
  out += path_steps(points);
  out += "    esac\n  done\n  case \"$path\" in\n";
  const auto described = [](const std::vector<Word>& words) {
    std::string all;
    for (const Word& word : words) {
      std::string help = word.help;
      std::ranges::replace(help, ':', ',');
      all += " " + shell_quoted(word.text + ":" + help);
    }
    return all;
  };
  for (const CompletionPoint& point : points) {
    out +=
        fmt::format("    '{}') commands=({}) options=({}) files='{}' ;;\n", point.path,
                    described(point.commands), described(point.options), point.files ? "yes" : "");
  }
  return out +
         "  esac\n"
         "  if [[ ${words[CURRENT]} == -* ]]; then\n"
         "    _describe 'option' options\n"
         "  elif [[ -n $files ]]; then\n"
         "    _files\n"
         "  else\n"
         "    _describe 'command' commands\n"
         "  fi\n"
         "}\n"
         "compdef _vortex vortex\n";
}

std::string fish_completion(const std::vector<CompletionPoint>& points) {
  std::string out =
      "# vortex: completion for fish. Use: vortex completion fish | source\n"
      "function __vortex_at\n"
      "  set -l words (commandline -opc)[2..-1]\n"
      "  set -l given (string match -v -- '-*' $words)\n"
      "  test \"$given\" = \"$argv[1]\"\n"
      "end\n"
      "function __vortex_in\n"
      "  set -l words (commandline -opc)[2..-1]\n"
      "  set -l given (string match -v -- '-*' $words)\n"
      "  string match -q -- \"$argv[1]*\" \"$given\"\n"
      "end\n"
      "complete -c vortex -f\n";
  for (const CompletionPoint& point : points) {
    for (const Word& word : point.commands) {
      out += fmt::format("complete -c vortex -n '__vortex_at \"{}\"' -a {} -d {}\n", point.path,
                         word.text, shell_quoted(word.help));
    }
    if (point.files) {
      out += fmt::format("complete -c vortex -n '__vortex_in \"{}\"' -F\n", point.path);
    }
    for (const Word& word : point.options) {
      if (!word.text.starts_with("--")) continue;
      const bool file = std::ranges::find(point.takes_file, word.text) != point.takes_file.end();
      const bool value = std::ranges::find(point.takes_value, word.text) != point.takes_value.end();
      out += fmt::format("complete -c vortex -n '__vortex_in \"{}\"' -l {}{} -d {}\n", point.path,
                         word.text.substr(2), file ? " -rF" : (value ? " -x" : ""),
                         shell_quoted(word.help));
    }
  }
  return out;
}

// vortex completion: a script for the shell, made from the commands that this program has.

void add_completion(CommandSpec app, Command& chosen) {
  auto shell = std::make_shared<std::string>();
  CommandSpec command =
      app.command("completion", "Print a completion script for a shell").group(kOperate);
  command.option("shell", *shell, "bash, zsh or fish")
      .required()
      .one_of({"bash", "zsh", "fish"})
      .value_name("WORD");
  command.example("source <(vortex completion bash)");
  command.on_chosen(chosen, [shell, app](Context&) {
    const std::vector<CompletionPoint> points = completion_points(app.tree());
    if (*shell == "bash") print(bash_completion(points));
    if (*shell == "zsh") print(zsh_completion(points));
    if (*shell == "fish") print(fish_completion(points));
    return ExitCode::kOk;
  });
}

// vortex version: which vortex this is.

void add_version(CommandSpec app, Command& chosen) {
  CommandSpec command = app.command("version", "Print the version").group(kOperate);
  command.example("vortex version -o json");
  command.on_chosen(chosen, [](Context& context) {
    const std::string text(version());
    return show_one(context, boost::json::object{{"version", text}},
                    {text, fmt::format("vortex {}\n", text)});
  });
}

}  // namespace vortex::cli
