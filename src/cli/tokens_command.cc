#include <memory>
#include <string>

#include <fmt/format.h>

#include "api/access.h"
#include "api/tokens.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/server.h"
#include "codec/json_writer.h"
#include "store/sqlite/open.h"

namespace vortex::cli {
namespace {

struct Options {
  std::string name;
  std::string role = "viewer";
  bool offline = false;
};

std::expected<void, store::Error> write_row(const std::string& path, const store::TokenRow& row) {
  store::SqliteOptions options;
  options.path = path;
  auto store = store::open_sqlite(options);
  if (!store) return std::unexpected(store.error());
  store::Writer& writer = (*store)->writer();
  const auto won = writer.acquire(ControllerId("vortex-tokens"), seconds(10));
  if (!won) return std::unexpected(won.error());
  const auto* lead = std::get_if<store::Won>(&*won);
  if (lead == nullptr) {
    return std::unexpected(store::Error{store::Fault::kLocked, "a controller leads this database"});
  }
  store::Commit commit;
  commit.term = lead->term;
  commit.now = lead->database_now;
  commit.tokens.push_back(row);
  const auto done = writer.commit(commit);
  writer.release(lead->term);
  return done;
}

ExitCode create_offline(Context& context, const Options& options, store::Role role) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  const std::string secret = api::mint_token();
  store::TokenRow row{options.name, role, api::hash_token(secret), wall_clock_now(), false};
  if (const auto done = write_row(loaded->settings.database.path, row); !done) {
    complain(done.error().detail, "while a controller runs, leave --offline out");
    return ExitCode::kFailed;
  }
  talk(fmt::format("token '{}' with role {}: shown once, kept only as a hash", options.name,
                   options.role));
  print(secret + "\n");
  return ExitCode::kOk;
}

ExitCode show_answer(const std::expected<net::Response, ExitCode>& answer) {
  if (!answer) return answer.error();
  if (answer->status < 300) {
    print(answer->body + "\n");
    return ExitCode::kOk;
  }
  complain(answer->body);
  const bool auth = answer->status == 401 || answer->status == 403;
  if (auth) return ExitCode::kAuth;
  return answer->status == 404 ? ExitCode::kNotFound : ExitCode::kFailed;
}

ExitCode create(Context& context, const Options& options) {
  const auto role = api::role_from_text(options.role);
  if (!role) {
    complain(fmt::format("'{}' is not a role", options.role),
             "roles are viewer, submitter, operator, worker and admin");
    return ExitCode::kUsage;
  }
  if (options.offline) return create_offline(context, options, *role);
  std::string body;
  codec::JsonWriter json(body);
  json.begin_object().field("name", options.name).field("role", options.role).end_object();
  return show_answer(call_server(context, net::Method::kPost, "/api/tokens", body));
}

}  // namespace

void add_tokens(CLI::App& app, Command& chosen) {
  CLI::App* tokens = app.add_subcommand("tokens", "Tokens: who may talk to the controller");
  tokens->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* make = tokens->add_subcommand("create", "Make a token; its secret is shown once");
  make->add_option("name", options->name, "What to call it")->required();
  make->add_option("--role", options->role, "viewer, submitter, operator, worker or admin");
  make->add_flag("--offline", options->offline,
                 "Write into the database file itself; no controller may be running on it");
  make->callback([&chosen, options] {
    chosen = [options](Context& context) { return create(context, *options); };
  });
  tokens->add_subcommand("list", "The tokens there are")->callback([&chosen] {
    chosen = [](Context& context) {
      return show_answer(call_server(context, net::Method::kGet, "/api/tokens"));
    };
  });
  CLI::App* revoke = tokens->add_subcommand("revoke", "End a token at once");
  revoke->add_option("name", options->name, "Which one")->required();
  revoke->callback([&chosen, options] {
    chosen = [options](Context& context) {
      return show_answer(
          call_server(context, net::Method::kDelete, "/api/tokens/" + options->name));
    };
  });
}

}  // namespace vortex::cli
