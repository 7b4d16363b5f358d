#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "api/access.h"
#include "api/bodies.h"
#include "api/secrets.h"
#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "store/open.h"

namespace vortex::cli {
namespace {

struct Options {
  std::string name;
  std::string role = "viewer";
  std::vector<std::string> workers;
  bool offline = false;
};

std::expected<bool, store::Error> exists(store::Store& store, const std::string& name) {
  auto reader = store.reader();
  if (!reader) return std::unexpected(reader.error());
  const auto rows = (*reader)->tokens();
  if (!rows) return std::unexpected(rows.error());
  return std::ranges::any_of(*rows,
                             [&](const TokenRow& row) { return row.name == name && !row.revoked; });
}

std::expected<void, store::Error> write_row(store::Store& store, const TokenRow& row) {
  store::Writer& writer = store.writer();
  const auto won = writer.acquire({ControllerId("vortex-tokens"), {}}, seconds(10));
  if (!won) return std::unexpected(won.error());
  const auto* lead = std::get_if<store::Won>(&*won);
  if (lead == nullptr) {
    return std::unexpected(store::Error{store::Fault::kLocked, "a controller leads this database"});
  }
  Commit commit;
  commit.term = lead->term;
  commit.now = lead->database_now;
  commit.tokens.push_back(row);
  const auto done = writer.commit(commit);
  writer.release(lead->term);
  return done;
}

boost::json::object body_of(const Options& options) {
  boost::json::object body{{"name", options.name}, {"role", options.role}};
  if (options.workers.empty()) return body;
  boost::json::array& workers = body["workers"].emplace_array();
  for (const std::string& worker : options.workers) workers.emplace_back(worker);
  return body;
}

ExitCode create_offline(Context& context, const Options& options, Role role) {
  const auto loaded = load(context);
  if (!loaded) return ExitCode::kInvalid;
  constexpr std::string_view kHelp = "omit --offline while a controller is running";
  auto store = store::open_store(loaded->settings.database);
  const auto known =
      store ? exists(**store, options.name) : std::unexpected(std::move(store.error()));
  if (!known) {
    complain(known.error().detail, kHelp);
    return ExitCode::kFailed;
  }
  const auto request = api::read_token_request(compact_json(body_of(options)));
  if (!request) {
    complain(request.error().front().message, request.error().front().help);
    return ExitCode::kUsage;
  }
  if (*known) {
    complain(fmt::format("a token '{}' already exists", options.name),
             "revoke it first or choose another name");
    return ExitCode::kConflict;
  }
  const std::string secret = api::mint_token();
  const TokenRow row{options.name,     role,  api::hash_token(secret),
                     wall_clock_now(), false, request->workers};
  if (const auto done = write_row(**store, row); !done) {
    complain(done.error().detail, kHelp);
    return ExitCode::kFailed;
  }
  talk(fmt::format("Token '{}' with role {}; it is shown only once and stored as a hash",
                   options.name, options.role));
  print(secret + "\n");
  return ExitCode::kOk;
}

constexpr ListColumn kTokenColumns[] = {
    {"NAME", [](const boost::json::object& o, const Look&) { return plain_cell(o, "name"); }},
    {"ROLE", [](const boost::json::object& o, const Look&) { return plain_cell(o, "role"); }},
    {"WORKERS",
     [](const boost::json::object& o, const Look&) {
       std::string all;
       if (const auto* list = o.if_contains("workers"); list != nullptr && list->is_array()) {
         for (const auto& one : list->as_array()) {
           all += (all.empty() ? "" : ",") + std::string(one.as_string());
         }
       }
       return Cell{all.empty() ? "-" : all, Tone::kPlain};
     }},
    {"STATE",
     [](const boost::json::object& o, const Look&) {
       const bool revoked = flag_at(o, "revoked");
       return Cell{revoked ? "revoked" : "valid", revoked ? Tone::kDim : Tone::kGood};
     }},
    {"CREATED",
     [](const boost::json::object& o, const Look& l) { return time_cell(o, "created_at", l); }},
};
constexpr Listing kTokens{"tokens", "tokens",
                          [](const boost::json::object& o) { return text_at(o, "name"); },
                          kTokenColumns};

ExitCode create(Context& context, const Options& options) {
  const auto role = from_text<Role>(options.role);
  if (!role) {
    complain(fmt::format("'{}' is not a role", options.role),
             "roles are viewer, submitter, operator, worker and admin");
    return ExitCode::kUsage;
  }
  if (!options.workers.empty() && *role != Role::kWorker) {
    complain("--worker requires --role worker",
             "only tokens with the role worker can be bound to workers");
    return ExitCode::kUsage;
  }
  if (options.offline) return create_offline(context, options, *role);
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto made = (*api)->post("/api/tokens", compact_json(body_of(options)));
  if (!made) return report(made.error());
  const std::string secret = text_at(made->object(), "secret");
  if (!wants_json(context) && !context.quiet) {
    talk(fmt::format("Token '{}' with role {}; it is shown only once and stored as a hash",
                     options.name, options.role));
  }
  return show_one(context, made->json, {options.name, secret + "\n"});
}

ExitCode revoke(const Context& context, const std::string& name) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  if (const auto no = confirm(context, fmt::format("revoke the token {}", name))) return *no;
  ApiRequest request{net::Method::kDelete, "/api/tokens/" + escaped(name), {}, {}, {}};
  return act(context, **api, {std::move(request), name, fmt::format("Token {} revoked", name)});
}

}  // namespace

void add_tokens(CommandSpec app, Command& chosen) {
  CommandSpec tokens = app.command("tokens", "Manage access tokens").group(kOperate);
  tokens.needs_command();
  tokens.example("vortex tokens create ci --role submitter");
  auto options = std::make_shared<Options>();
  CommandSpec make = tokens.command("create", "Create a token; its secret is shown only once");
  make.option("name", options->name, "Name of the token").required();
  make.option("--role", options->role, "Role: viewer, submitter, operator, worker or admin")
      .value_name("ROLE")
      .shows_default();
  make.option("--worker", options->workers,
              "Bind the token to this worker id, exact or ending with *; repeat for more")
      .value_name("ID");
  make.flag("--offline", options->offline,
            "Write directly to the database file; no controller may be using it");
  make.example(
      "vortex tokens create first --role admin --offline > admin.token\n"
      "vortex tokens create gpu --role worker --worker 'gpu-*' > gpu.token");
  make.on_chosen(chosen, [options](Context& context) { return create(context, *options); });
  CommandSpec all = tokens.command("list", "List tokens");
  all.example("vortex tokens list");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kTokens, "/api/tokens"); });
  CommandSpec end = tokens.command("revoke", "Revoke a token immediately");
  end.option("name", options->name, "Name of the token").required();
  end.example("vortex tokens revoke ci --yes");
  end.on_chosen(chosen, [options](Context& c) { return revoke(c, options->name); });
}

}  // namespace vortex::cli
