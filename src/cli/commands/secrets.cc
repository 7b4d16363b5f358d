// vortex secrets: values that tasks need and nobody else may see, and the key that seals them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/file_text.h"
#include "base/text.h"
#include "base/wiped.h"
#include "cli/arguments.h"
#include "cli/client/act.h"
#include "cli/commands/commands.h"
#include "cli/context.h"
#include "cli/screen/json_view.h"
#include "cli/screen/listing.h"
#include "codec/text.h"
#include "model/check.h"
#include "vault/key_source.h"
#include "vault/mask.h"

namespace vortex::cli {
namespace {

using boost::json::object;

struct SecretOptions {
  std::string name;
  std::string file;
  std::string dag;
  std::string queue;
  std::vector<std::string> labels;
  bool any_scope = false;
  bool raw = false;
  std::optional<std::uint64_t> version;
  std::string new_key_file;
};

std::string secret_path(const std::string& name) { return "/api/secrets/" + escaped(name); }

std::string scope_of(const object& secret) {
  std::string scope;
  const auto add = [&scope](const std::string& text) {
    scope += (scope.empty() ? "" : ", ") + text;
  };
  if (const std::string dag = text_at(secret, "dag"); !dag.empty()) add("DAG " + dag);
  if (const std::string queue = text_at(secret, "queue"); !queue.empty()) add("queue " + queue);
  if (const auto* labels = secret.if_contains("labels"); labels && labels->is_object()) {
    for (const auto& label : labels->get_object()) {
      add(fmt::format("{}={}", std::string(label.key()), text_of(label.value())));
    }
  }
  return scope.empty() ? "any task" : scope;
}

constexpr ListColumn kSecretColumns[] = {
    {"NAME", [](const object& o, const Look&) { return plain_cell(o, "name"); }},
    {"VERSION", [](const object& o, const Look&) { return plain_cell(o, "latest"); },
     Align::kRight},
    {"SCOPE", [](const object& o, const Look&) { return Cell{scope_of(o)}; }},
    {"CHANGED", [](const object& o, const Look& l) { return time_cell(o, "updated_at", l); }},
    {"BY", [](const object& o, const Look&) { return plain_cell(o, "updated_by"); }},
};
constexpr Listing kSecrets{"secrets", "secrets", [](const object& o) { return text_at(o, "name"); },
                           kSecretColumns};

constexpr ListColumn kVersionColumns[] = {
    {"VERSION", [](const object& o, const Look&) { return plain_cell(o, "version"); },
     Align::kRight},
    {"BYTES", [](const object& o, const Look&) { return plain_cell(o, "bytes"); }, Align::kRight},
    {"CREATED", [](const object& o, const Look& l) { return time_cell(o, "created_at", l); }},
    {"BY", [](const object& o, const Look&) { return plain_cell(o, "created_by"); }},
    {"KEY", [](const object& o, const Look&) { return plain_cell(o, "key_id"); }, Align::kLeft,
     Shown::kWide},
};
constexpr Listing kVersions{"versions", "versions",
                            [](const object& o) { return text_at(o, "version"); }, kVersionColumns};

// The newline that ends a value of one line was typed by accident.
void drop_end_of_line(std::string& value) {
  const std::size_t end = value.find('\n');
  if (end == value.npos || end + 1 != value.size()) return;
  value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
}

// Unset: the reason was told.
std::optional<std::string> read_value(const SecretOptions& options) {
  const bool piped = options.file.empty() || options.file == "-";
  if (piped && ::isatty(STDIN_FILENO) == 1) {
    complain(
        "the value is read from standard input, which is a terminal",
        fmt::format("write `vortex secrets set {0} < FILE` or `--file FILE`; never put a value "
                    "on the command line",
                    options.name));
    return std::nullopt;
  }
  auto value = read_file_text(piped ? "/dev/stdin" : options.file, kSecretBytesMax);
  if (!value) {
    complain(fmt::format("{} {}", piped ? "standard input" : options.file, value.error().why),
             fmt::format("a secret has at most {} bytes", kSecretBytesMax));
    return std::nullopt;
  }
  if (!options.raw) drop_end_of_line(*value);
  if (value->empty()) {
    complain("the value is empty", "pass it on standard input or with --file");
    return std::nullopt;
  }
  return std::move(*value);
}

// Unset: the reason was told.
std::optional<object> read_scope(const SecretOptions& options) {
  object scope;
  if (options.any_scope) {
    scope["dag"] = "";
    scope["queue"] = "";
    scope["labels"] = object();
  }
  if (!options.dag.empty()) scope["dag"] = options.dag;
  if (!options.queue.empty()) scope["queue"] = options.queue;
  object labels;
  for (const std::string& label : options.labels) {
    const std::size_t mark = label.find('=');
    if (mark == label.npos || mark == 0) {
      complain(fmt::format("--label {} is not a label", label), "write --label key=value");
      return std::nullopt;
    }
    labels[label.substr(0, mark)] = label.substr(mark + 1);
  }
  if (!labels.empty()) scope["labels"] = std::move(labels);
  return scope;
}

// The body is written by hand: no copy of the value stays in a parsed document.
std::string body_with(object scope, std::string& value) {
  std::string body = compact_json(scope);
  body.pop_back();
  body.reserve(body.size() + 2 * value.size() + 64);
  if (!scope.empty()) body += ',';
  body += R"("value_base64":")";
  codec::append_base64(body, value);
  wipe(value);
  return body + "\"}";
}

ExitCode send_value(const Context& context, const SecretOptions& options, net::Method method) {
  if (const auto wrong = complain_of_secret_name(options.name)) {
    complain(*wrong, "for example: db/password");
    return ExitCode::kUsage;
  }
  auto scope = read_scope(options);
  if (!scope) return ExitCode::kUsage;
  auto value = read_value(options);
  if (!value) return ExitCode::kUsage;
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const bool is_short = value->size() < vault::Mask::kValueBytesMin;
  ApiRequest request;
  request.method = method;
  request.target = secret_path(options.name) + (method == net::Method::kPost ? "/rotate" : "");
  request.body = body_with(*std::move(scope), *value);
  const auto made = (*api)->call(std::move(request));
  if (!made) return report(made.error());
  if (is_short) {
    talk(fmt::format("warning: the value has fewer than {} bytes, so it is not masked in output",
                     vault::Mask::kValueBytesMin));
  }
  const object& o = made->object();
  return show_one(context, made->json,
                  {options.name, fmt::format("Secret {} is now at version {}, for {}\n",
                                             options.name, text_at(o, "latest"), scope_of(o))});
}

ExitCode show_secret(const Context& context, const SecretOptions& options) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto found = (*api)->get(secret_path(options.name));
  if (!found) return report(found.error());
  const Look look = look_at(context, STDOUT_FILENO);
  const object& o = found->object();
  Record record;
  record.add("secret", text_at(o, "name")).add("version", text_at(o, "latest"));
  record.add("scope", scope_of(o)).add("created", time_cell(o, "created_at", look).text);
  record.add("changed", time_cell(o, "updated_at", look).text);
  if (const std::string by = text_at(o, "updated_by"); !by.empty()) record.add("by", by);
  return show_one(context, found->json, {options.name, record.text(look)});
}

ExitCode delete_secret(const Context& context, const SecretOptions& options) {
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const std::string what =
      options.version ? fmt::format("version {} of secret {}", *options.version, options.name)
                      : fmt::format("secret {} with all its versions", options.name);
  if (const auto no = confirm(context, "delete " + what)) return *no;
  std::string target = secret_path(options.name);
  if (options.version) target += fmt::format("?version={}", *options.version);
  ApiRequest request{net::Method::kDelete, std::move(target), {}, {}, {}};
  return act(context, **api, {std::move(request), options.name, fmt::format("Deleted {}", what)});
}

constexpr std::string_view kKeyAdvice =
    "Keep a copy in a safe place, apart from backups of the database: without this key a backup "
    "contains no readable secret.";

ExitCode init_key(const Context& context, const SecretOptions& options) {
  const std::string path = options.file.empty() ? "vortex-master.key" : options.file;
  const auto key = vault::make_key_file(path);
  if (!key) {
    complain(key.error(), "pass another file with --file");
    return ExitCode::kConflict;
  }
  if (!context.quiet) {
    talk(
        fmt::format("Wrote master key {} to {} (mode 0600). {}\nStart the controller with "
                    "--secrets.master-key-file={}, or set in its configuration:\n",
                    (*key)->id(), path, kKeyAdvice, path));
  }
  print(fmt::format("[secrets]\nmaster_key_file = \"{}\"\n", path));
  return ExitCode::kOk;
}

ExitCode rotate_master(const Context& context, const SecretOptions& options) {
  std::string body = "{}";
  if (!options.new_key_file.empty()) {
    const auto key = vault::read_key_file(options.new_key_file);
    if (!key) {
      complain(key.error(), "make one with `vortex secrets init --file FILE`");
      return ExitCode::kInvalid;
    }
    body = fmt::format(R"({{"key":"{}"}})", (*key)->text().view());
  }
  const auto api = ApiClient::open(context);
  if (!api) return api.error();
  const auto done = (*api)->post("/api/master-key/rotate", body);
  wipe(body);
  if (!done) return report(done.error());
  const object& o = done->object();
  if (!options.new_key_file.empty() && !context.quiet) {
    talk(
        fmt::format("Now set secrets.master_key_file to this key: a controller that starts with "
                    "the old one is refused. {}",
                    kKeyAdvice));
  }
  return show_one(
      context, done->json,
      {text_at(o, "key_id"),
       fmt::format(
           "Master key {} seals everything now; sealed again: versions of secrets {}, webhooks "
           "{}\n",
           text_at(o, "key_id"), text_at(o, "versions"), text_at(o, "webhooks"))});
}

using Shared = std::shared_ptr<SecretOptions>;

void add_value_options(CommandSpec& command, const Shared& options) {
  command.option("name", options->name, "Name of the secret, such as db/password").required();
  command.option("--file", options->file, "Read the value from a file (default: standard input)")
      .value_name("FILE");
  command.flag("--raw", options->raw, "Keep the newline at the end of a single-line value");
}

void add_set(CommandSpec secrets, const Shared& options, Command& chosen) {
  CommandSpec set = secrets.command(
      "set", "Create a secret or a new version of it, from standard input or a file");
  add_value_options(set, options);
  set.option("--dag", options->dag, "Only for tasks of this DAG").value_name("DAG");
  set.option("--queue", options->queue, "Only for tasks of this queue").value_name("QUEUE");
  set.option("--label", options->labels,
             "Only for tasks that require this label of their worker; repeat for more")
      .value_name("KEY=VALUE")
      .one_word();
  set.flag("--any", options->any_scope, "Remove the limits that were set before");
  set.example(
      "vortex secrets set db/password --dag etl < password.txt\n"
      "pass show tls/key | vortex secrets set tls/key --label env=prod");
  set.on_chosen(chosen,
                [options](Context& c) { return send_value(c, *options, net::Method::kPut); });
  CommandSpec rotate = secrets.command("rotate", "Create a new version of a secret that exists");
  add_value_options(rotate, options);
  rotate.example("vortex secrets rotate db/password < password.txt");
  rotate.on_chosen(chosen,
                   [options](Context& c) { return send_value(c, *options, net::Method::kPost); });
}

void add_keys(CommandSpec secrets, const Shared& options, Command& chosen) {
  CommandSpec init = secrets.command("init", "Create a master key file and print what to set");
  init.option("--file", options->file, "File to create (default: vortex-master.key)")
      .value_name("FILE");
  init.example("vortex secrets init --file /etc/vortex/master.key");
  init.on_chosen(chosen, [options](Context& c) { return init_key(c, *options); });
  CommandSpec rotate = secrets.command(
      "rotate-master", "Start using another master key for all secrets, without a restart");
  rotate
      .option("--new-key-file", options->new_key_file,
              "The new key (default: the one that the controller is configured with now)")
      .value_name("FILE");
  rotate.example(
      "vortex secrets init --file new.key && vortex secrets rotate-master --new-key-file new.key");
  rotate.on_chosen(chosen, [options](Context& c) { return rotate_master(c, *options); });
}

}  // namespace

void add_secrets(CommandSpec app, Command& chosen) {
  CommandSpec secrets = app.command("secrets", "Manage secrets that tasks can use").group(kOperate);
  secrets.needs_command();
  secrets.example("vortex secrets set db/password < password.txt");
  auto options = std::make_shared<SecretOptions>();
  add_keys(secrets, options, chosen);
  add_set(secrets, options, chosen);
  CommandSpec all = secrets.command("list", "List secrets, without their values");
  all.example("vortex secrets list");
  all.on_chosen(chosen, [](Context& c) { return list_whole(c, kSecrets, "/api/secrets"); });
  CommandSpec show = secrets.command("show", "Show a secret and its scope, without its value");
  show.option("name", options->name, "Name of the secret").required();
  show.example("vortex secrets show db/password");
  show.on_chosen(chosen, [options](Context& c) { return show_secret(c, *options); });
  CommandSpec versions = secrets.command("versions", "List the versions of a secret");
  versions.option("name", options->name, "Name of the secret").required();
  versions.example("vortex secrets versions db/password");
  versions.on_chosen(chosen, [options](Context& c) {
    return list_whole(c, kVersions, secret_path(options->name) + "/versions");
  });
  CommandSpec end = secrets.command("delete", "Delete a secret, or one of its versions");
  end.option("name", options->name, "Name of the secret").required();
  end.option("--version", options->version, "Only this version").value_name("N");
  end.example("vortex secrets delete db/password --yes");
  end.on_chosen(chosen, [options](Context& c) { return delete_secret(c, *options); });
}

}  // namespace vortex::cli
