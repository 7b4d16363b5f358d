// vortex explain CODE: what an error code means and what to do about it.
#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "api/codes.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/screen/listing.h"

namespace vortex::cli {
namespace {

// One row for whoever made the code.
struct Meaning {
  std::string_view code;
  int status = 0;  // 0: not an answer of the interface
  std::string_view title;
  std::string_view hint;
};

// In the order of SettingsFault.
constexpr Meaning kSettingsCodes[] = {
    {"VX-CFG-001", 0, "The settings file cannot be read",
     "check that the file passed with --config exists and is readable"},
    {"VX-CFG-002", 0, "The settings file is not valid TOML",
     "fix the error at the given line and column"},
    {"VX-CFG-003", 0, "Unknown setting",
     "`vortex config show` lists all settings; the message suggests the nearest"},
    {"VX-CFG-004", 0, "A setting has the wrong type", "the message says what is expected"},
    {"VX-CFG-005", 0, "A setting is outside its range", "the message gives the range"},
    {"VX-CFG-006", 0, "Settings violate a timing rule",
     "the message shows the rule and the numbers; docs/configuration.md explains it"},
};

std::vector<Meaning> all_meanings() {
  std::vector<Meaning> all;
  for (const api::CodeInfo& info : api::all_codes()) {
    all.push_back({info.text, info.status, info.title, info.hint});
  }
  all.insert(all.end(), std::begin(kSettingsCodes), std::end(kSettingsCodes));
  std::ranges::sort(all, {}, &Meaning::code);
  return all;
}

boost::json::object json_of(const Meaning& meaning) {
  boost::json::object o{{"code", meaning.code}, {"title", meaning.title}, {"hint", meaning.hint}};
  if (meaning.status > 0) o["status"] = meaning.status;
  return o;
}

constexpr ListColumn kCodeColumns[] = {
    {"CODE", [](const boost::json::object& o, const Look&) { return plain_cell(o, "code"); }},
    {"STATUS", [](const boost::json::object& o, const Look&) { return plain_cell(o, "status"); },
     Align::kRight},
    {"MEANING", [](const boost::json::object& o, const Look&) { return plain_cell(o, "title"); },
     Align::kLeft, Shown::kAlways, Shrinks::kMay},
    {"WHAT TO DO", [](const boost::json::object& o, const Look&) { return plain_cell(o, "hint"); },
     Align::kLeft, Shown::kWide, Shrinks::kMay},
};
constexpr Listing kCodes{
    "codes", "codes",
    [](const boost::json::object& o) { return std::string(o.at("code").as_string()); },
    kCodeColumns};

ExitCode list_codes(const Context& context) {
  Fetched all;
  for (const Meaning& meaning : all_meanings()) all.items.push_back(json_of(meaning));
  return show_list(context, kCodes, all);
}

ExitCode no_such_code(const std::string& code, const std::vector<Meaning>& all) {
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const Meaning& meaning : all) names.push_back(meaning.code);
  const std::string_view near = nearest_name(code, names);
  complain(fmt::format("unknown error code '{}'", code),
           near.empty() ? std::string("`vortex explain` lists all codes")
                        : fmt::format("did you mean {}?", near));
  return ExitCode::kNotFound;
}

ExitCode explain(const Context& context, std::string code) {
  if (code.empty()) return list_codes(context);
  std::ranges::transform(code, code.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (!code.starts_with("VX-")) code = "VX-" + code;
  const std::vector<Meaning> all = all_meanings();
  const auto found = std::ranges::find(all, code, &Meaning::code);
  if (found == all.end()) return no_such_code(code, all);
  Record record;
  record.add("code", std::string(found->code), Tone::kStrong);
  record.add("meaning", std::string(found->title)).add("what to do", std::string(found->hint));
  if (found->status > 0) record.add("HTTP status", std::to_string(found->status));
  const Look look = look_at(context, STDOUT_FILENO);
  return show_one(context, json_of(*found), {code, record.text(look)});
}

}  // namespace

void add_explain(CommandSpec app, Command& chosen) {
  auto code = std::make_shared<std::string>();
  CommandSpec command =
      app.command("explain", "Explain an error code and what to do about it").group(kLook);
  command.option("code", *code, "A code such as VX-DAG-014; without it, all are listed");
  command.example("vortex explain VX-DAG-007");
  command.on_chosen(chosen, [code](Context& c) { return explain(c, *code); });
}

}  // namespace vortex::cli
