#include "cli/client/failure.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/screen/json_view.h"
#include "cli/screen/terminal.h"

namespace vortex::cli {
namespace {

constexpr std::size_t kRawShownMax = 200;
constexpr std::string_view kBadBody = "VX-REQ-002";
constexpr std::string_view kBadQuery = "VX-REQ-003";
constexpr std::string_view kImpossible = "VX-REQ-012";

// The controller's hints are for programs; at the command line the same is said with its commands.
struct CommandHint {
  std::string_view code;
  std::string_view help;
};
constexpr CommandHint kCommandHints[] = {
    {"VX-AUTH-001",
     "pass a token file with --token-file FILE or VORTEX_TOKEN_FILE; the user of the controller "
     "has "
     "one next to its database (vortex.db.token) and can create more with `vortex tokens create`"},
    {"VX-AUTH-006", "`vortex tokens list` shows them"},
    {"VX-TASK-001", "`vortex tasks list RUN` shows the tasks of a run"},
    {"VX-TASK-003", "`vortex tasks show TASK` shows its attempts"},
    {"VX-WORKER-001", "`vortex workers list` shows them"},
    {"VX-QUEUE-001", "no worker has ever listened to it; `vortex queues list` shows the queues"},
    {"VX-LEASE-003", "`vortex leases list` shows all leases"},
    {"VX-DLQ-001", "`vortex dlq list` shows the dead letters"},
    {"VX-DLQ-002", "nothing was done; `vortex dlq list` shows the dead letters of now"},
    {"VX-REC-001", "`vortex recoveries list` shows them"},
    {"VX-RUN-001", "`vortex runs list` shows them; a run id looks like r42"},
    {"VX-RUN-005", "`vortex dag show NAME` shows its params"},
    {"VX-DAG-015", "`vortex dag list` shows them; `vortex dag apply FILE` adds one"},
    {"VX-HOOK-002", "`vortex webhooks list` shows them"},
    {"VX-SECRET-001", "`vortex secrets list` shows them; `vortex secrets set NAME` creates one"},
    {"VX-REQ-003", "--help shows the arguments of the command"},
};

std::string help_for(const std::string& code, std::string hint) {
  const auto found = std::ranges::find(kCommandHints, code, &CommandHint::code);
  return found == std::end(kCommandHints) ? std::move(hint) : std::string(found->help);
}

// What was sent was made from arguments: the user knows their names, not the JSON.
struct ArgumentName {
  std::string_view field;
  std::string_view argument;
};
constexpr ArgumentName kArgumentNames[] = {
    {"agent", "--agent"}, {"epoch", "--epoch"}, {"deadline", "--deadline"},
    {"dag", "--dag"},     {"kinds", "--kind"},  {"role", "--role"},
};

Failure::Mistake argument_place(Failure::Mistake place) {
  std::string field = place.where.substr(0, place.where.find(' '));
  if (field.starts_with('/')) field.erase(0, 1);
  field = field.substr(0, field.find('/'));
  const auto known = std::ranges::find(kArgumentNames, field, &ArgumentName::field);
  place.where = known == std::end(kArgumentNames) ? field : std::string(known->argument);
  const std::string quoted = fmt::format("'{}' ", field);
  if (place.message.starts_with(quoted)) place.message.erase(0, quoted.size());
  return place;
}

// "--agent must have 1 to 200 bytes", or "name: ..." where the message does not begin with it.
std::string argument_text(const Failure::Mistake& place, const std::string& message) {
  const bool goes_on = place.message.size() < message.size();
  return fmt::format("{}{}{}", place.where, goes_on ? " " : ": ", place.message);
}

// Only what is wrong with which argument: no code, title or hint that speaks of a document.
void speak_of_arguments(Failure& failure) {
  std::vector<Failure::Mistake> rest;
  for (Failure::Mistake& place : failure.places) {
    const std::string message = place.message;
    place = argument_place(std::move(place));
    const std::string text = argument_text(place, message);
    if (&place == &failure.places.front()) {
      failure.what = text;
      failure.help = place.help.empty() ? "--help shows what the command takes" : place.help;
    } else {
      rest.push_back({place.where, place.message, place.help});
    }
  }
  failure.places = std::move(rest);
  failure.code.clear();
}

// What the controller knows that is called much the same, or the newest few.
std::string near_text(const boost::json::object& problem) {
  std::vector<std::string> names;
  for (const auto& name : list_at(problem, "near")) {
    if (name.is_string()) names.push_back(fmt::format("'{}'", std::string_view(name.get_string())));
  }
  if (names.empty()) return {};
  return fmt::format("did you mean {}{}? ", names.size() > 1 ? "one of " : "",
                     fmt::join(names, ", "));
}

Failure::Mistake place_of(const boost::json::object& error) {
  Failure::Mistake place;
  place.where = text_at(error, "pointer");
  if (place.where.empty()) place.where = "(the whole document)";
  const std::string line = text_at(error, "line");
  if (!line.empty()) place.where += fmt::format(" (line {}:{})", line, text_at(error, "column"));
  place.message = text_at(error, "message");
  place.help = text_at(error, "help");
  return place;
}

std::string help_for_certificate(const net::UntrustedPeer& shown, std::string_view server) {
  if (shown.why.starts_with("unknown CA")) {
    return fmt::format(
        "compare the fingerprint with the one that `vortex tls init` printed, then run `vortex "
        "login {}`, or pass the CA's certificate with --ca-file",
        server);
  }
  if (shown.why.starts_with("it expired")) {
    return "renew it, for example with `vortex tls renew DIR`; the controller reloads it by itself";
  }
  if (shown.why.starts_with("it is not for this host")) {
    return "use one of these names, or add this one with `vortex tls renew DIR --host NAME`";
  }
  return "check the clocks of both machines and the certificate, with `vortex tls show FILE`";
}

// Not one of ours: a proxy, or no controller at all.
Failure foreign_failure(const net::Response& response) {
  Failure failure;
  failure.status = response.status;
  failure.exit = exit_code_of(response.status, {});
  failure.what = fmt::format("the server answered {}: {}", response.status,
                             one_line(response.body.substr(0, kRawShownMax)));
  failure.help = "check that this is the address of a vortex controller";
  failure.body = response.body;
  return failure;
}

}  // namespace

ExitCode exit_code_of(int status, std::string_view code) {
  if (code == "VX-RUN-004") return ExitCode::kConflict;  // 422: the key names another request
  switch (status) {
    case 401:
    case 403:
    case 421:
      return ExitCode::kAuth;
    case 404:
      return ExitCode::kNotFound;
    case 409:
      return ExitCode::kConflict;
    case 400:
    case 413:
    case 415:
    case 422:
      return code.starts_with("VX-DAG-") ? ExitCode::kInvalid : ExitCode::kUsage;
    case 429:
    case 502:
    case 503:
    case 504:
      return ExitCode::kUnreachable;
    default:
      return ExitCode::kFailed;
  }
}

Failure failure_of(const net::Response& response) {
  boost::system::error_code ec;
  const boost::json::value body = boost::json::parse(response.body, ec);
  if (ec || !body.is_object() || !body.get_object().contains("code")) {
    return foreign_failure(response);
  }
  const boost::json::object& problem = body.get_object();
  Failure failure;
  failure.status = response.status;
  failure.body = response.body;
  failure.code = text_at(problem, "code");
  failure.exit = exit_code_of(response.status, failure.code);
  failure.what = text_at(problem, "title");
  const std::string detail = text_at(problem, "detail");
  if (failure.code == kBadQuery && detail.contains('=')) {
    failure.what = "--" + detail;  // a filter is called like the option it was made from
  } else if (!detail.empty() && detail != failure.what && !detail.starts_with('/')) {
    failure.what += ": " + detail;
  }
  failure.help = near_text(problem) + help_for(failure.code, text_at(problem, "hint"));
  failure.request_id = text_at(problem, "request_id");
  if (const auto* errors = problem.if_contains("errors"); errors != nullptr && errors->is_array()) {
    for (const auto& error : errors->get_array()) {
      if (!error.is_object()) continue;
      failure.places.push_back(place_of(error.get_object()));
    }
  }
  if (failure.code == kBadBody && !failure.places.empty()) speak_of_arguments(failure);
  if (failure.code == kImpossible && !detail.empty()) {
    failure.what = detail;
    failure.help = "--help shows what the command takes";
  }
  return failure;
}

Failure failure_of(const net::CallError& error, std::string_view server) {
  Failure failure;
  failure.exit = ExitCode::kUnreachable;
  failure.what = fmt::format("no answer from {}: {}", server, error.detail);
  failure.help = error.fault == net::CallFault::kTimedOut || error.fault == net::CallFault::kBroken
                     ? "the request may have taken effect; check before you repeat it"
                     : "start one with `vortex controller`, or pass another address with --server";
  if (error.fault == net::CallFault::kUntrusted && error.shown) {
    failure.help = help_for_certificate(*error.shown, server);
  }
  if (error.fault == net::CallFault::kMalformed) {
    failure.help = "the server at this address does not speak HTTP; check --server";
  }
  return failure;
}

std::string failure_text(const Failure& failure) {
  std::string out = failure.code.empty() ? "error: " : fmt::format("error[{}]: ", failure.code);
  out += one_line(failure.what) + "\n";
  for (const Failure::Mistake& place : failure.places) {
    out += fmt::format("  --> {}: {}\n", one_line(place.where), one_line(place.message));
    if (!place.help.empty()) out += fmt::format("   = help: {}\n", one_line(place.help));
  }
  // The hint of the whole is often that of its one mistake.
  const bool said = !failure.places.empty() && failure.places.back().help == failure.help;
  if (!failure.help.empty() && !said) out += fmt::format("  = help: {}\n", one_line(failure.help));
  if (failure.status >= 500 && !failure.request_id.empty()) {
    out += fmt::format("  = request: {}\n", one_line(failure.request_id));
  }
  return out;
}

ExitCode report(const Failure& failure) {
  say_here(failure_text(failure));
  return failure.exit;
}

}  // namespace vortex::cli
