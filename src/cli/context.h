#pragma once
// What every command gets: the global options, and where to write.
//
// Filled by the parser before a command runs. A command returns its exit code and never calls exit.
// Data goes to stdout (print), talk to stderr (talk, complain).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "base/time.h"

namespace vortex::cli {

// What the exit code of `vortex` means. Scripts rely on it: append-only.
// The same numbers are in `vortex --help` and in the docs.

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kAuth = 4,
  kUnreachable = 5,
  kConflict = 6,
  kInvalid = 7,  // file or configuration
  kRunFailed = 8,
  kWaitTimedOut = 9,
  kRunCancelled = 10,
  kInterrupted = 130,
};

enum class Output : std::uint8_t { kTable, kWide, kJson, kJsonl, kName };
enum class ColorMode : std::uint8_t { kAuto, kAlways, kNever };

inline constexpr const char* kDefaultServer = "http://127.0.0.1:8080";

struct Context {
  std::string program;                 // path of this very program, to start it again
  std::vector<std::string> arguments;  // all that it was started with
  std::string config;                  // --config; empty: none
  std::vector<std::string> servers;    // --server, in the order they are tried; empty: the default
  std::string token_file;              // --token-file: never on the command line itself
  std::string ca_file;                 // --ca-file; empty: what the system trusts
  std::string cert_file;               // --cert-file and --key-file: who we are
  std::string key_file;
  std::string token;  // from the environment of a task; preferred to the file
  Output output = Output::kTable;
  ColorMode color = ColorMode::kAuto;
  Duration timeout = seconds(30);          // of one call to a controller, retries included
  std::vector<std::string> setting_flags;  // --section.key value, as given
  bool quiet = false;
  bool verbose = false;
  bool yes = false;  // do not ask before dangerous acts
};

using Command = std::function<ExitCode(Context&)>;

// File, environment and flags together; errors are printed and become kInvalid.
std::optional<LoadedSettings> load(const Context& context);

inline bool wants_json(const Context& context) {
  return context.output == Output::kJson || context.output == Output::kJsonl;
}

// What a terminal would obey is not written to one (for_terminal): text of others may be in it.
void print(std::string_view text);          // stdout
bool print_now(std::string_view text);      // and flush; false: nobody reads
void print_raw(std::string_view text);      // stdout, to a terminal as well byte for byte
bool print_raw_now(std::string_view text);  // and flush
int flush_output();                    // stdout; 0, or the errno of the first write that failed
void talk(std::string_view text);      // stderr, with a newline
void say_here(std::string_view text);  // stderr, as it is
void complain(std::string_view what, std::string_view help = {});  // error: ... = help: ...

// Asks before what cannot be taken back.
//
// With --yes nothing is asked. At a terminal a person answers; anywhere else it is refused, because
// nobody can answer there.

// Unset: go on. Otherwise what the command ends with; the reason was told.
std::optional<ExitCode> confirm(const Context& context, std::string_view question);

}  // namespace vortex::cli
