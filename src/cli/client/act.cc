#include "cli/client/act.h"

#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"

namespace vortex::cli {

ExitCode act(const Context& context, ApiClient& api, Act what) {
  const auto answer = api.call(std::move(what.request));
  if (!answer) return report(what.explained ? what.explained(answer.error()) : answer.error());
  if (context.output == Output::kTable || context.output == Output::kWide) {
    if (!context.quiet) talk(what.done);
    return ExitCode::kOk;
  }
  // Some acts are answered with nothing.
  if (answer->json.is_null() && wants_json(context)) return ExitCode::kOk;
  return show_one(context, answer->json, {what.name, {}});
}

ExitCode act_on_all(const Context& context, ApiClient& api, std::vector<Act> acts) {
  ExitCode first = ExitCode::kOk;
  for (Act& one : acts) {
    const ExitCode code = act(context, api, std::move(one));
    if (first == ExitCode::kOk) first = code;
  }
  return first;
}

}  // namespace vortex::cli
