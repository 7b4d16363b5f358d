#include "codec/parts.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "codec/json_writer.h"
#include "codec/units.h"
#include "model/check.h"

namespace vortex::codec {
namespace {

void amount_fault(Reading& in, NodeIx node, std::string_view fault, std::string help) {
  if (in.full()) return;
  in.problem(node,
             fmt::format("{} is {}, which {}", in.document().name_of(node), in.shown(node), fault),
             std::move(help));
}

void read_cpu(Reading& in, NodeIx node, Resources& out) {
  const NodeKind kind = in.document().kind(node);
  if (kind != NodeKind::kInteger && kind != NodeKind::kDecimal) {
    return in.wrong_type(node, "a number such as 1.5");
  }
  const auto milli = parse_thousandths(in.document().text(node));
  if (!milli) return amount_fault(in, node, milli.error(), "write a number such as 1.5");
  if (*milli > kAmountMax) return amount_fault(in, node, "is too large", "");
  out.cpu_milli = *milli;
}

void read_memory(Reading& in, NodeIx node, Resources& out) {
  if (in.document().kind(node) != NodeKind::kText) {
    return in.wrong_type(node, "a string with a unit", size_help(in.document().text(node)));
  }
  const std::string_view text = in.document().text(node);
  const auto bytes = parse_size(text);
  if (!bytes) return amount_fault(in, node, bytes.error(), size_help(text));
  if (*bytes > kAmountMax) return amount_fault(in, node, "is too large", "");
  out.memory_bytes = *bytes;
}

void read_named(Reading& in, NodeIx node, Resources& out) {
  if (!is_object_of_names(in, node)) return;
  out.named.clear();
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    std::int64_t amount = 0;
    read_number(in, value, amount, 0, kAmountMax);
    out.named.emplace_back(in.document().text(key), amount);
  });
  std::ranges::sort(out.named);
}

constexpr Field<Resources> kResourceFields[] = {
    {"cpu", read_cpu},
    {"memory", read_memory},
    {"named", read_named},
};

}  // namespace

void read_duration(Reading& in, NodeIx node, Duration& out, Duration low, Duration high) {
  const std::string_view text = in.document().text(node);
  if (in.document().kind(node) != NodeKind::kText) {
    return in.wrong_type(node, "a string with a unit", duration_help(text));
  }
  const auto duration = parse_duration(text);
  if (!duration) return amount_fault(in, node, duration.error(), duration_help(text));
  if (*duration < low || *duration > high) {
    if (in.full()) return;
    if (*duration == Duration{}) {
      return in.problem(node, fmt::format("{} is {}; it must be more than 0",
                                          in.document().name_of(node), in.shown(node)));
    }
    return in.problem(
        node, fmt::format("{} is {}; the allowed range is {} to {}", in.document().name_of(node),
                          in.shown(node), duration_text(low), duration_text(high)));
  }
  out = *duration;
}

void read_millis(Reading& in, NodeIx node, Duration& out) {
  std::uint64_t millis = 0;
  if (!parse_unsigned(in, node, 0, whole_millis(kForever), millis)) return;
  out = Duration{std::min(static_cast<std::int64_t>(millis) * 1'000, kForever.us)};
}

void read_labels(Reading& in, NodeIx node, Labels& out) {
  read_env(in, node, out);
  std::ranges::sort(out);
  if (in.document().kind(node) != NodeKind::kObject) return;
  // How long they may be is the model's business; here the place is known.
  const LineRule rule{.bytes_min = 0, .bytes_max = std::numeric_limits<std::size_t>::max()};
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    if (in.full() || in.document().kind(value) != NodeKind::kText) return;
    auto complaint = complain_of_line("label name", in.document().text(key), rule);
    if (!complaint) complaint = complain_of_line("label value", in.document().text(value), rule);
    if (complaint) in.problem(value, *std::move(complaint));
  });
}

void read_env(Reading& in, NodeIx node, std::vector<std::pair<std::string, std::string>>& out) {
  if (!is_object_of_names(in, node)) return;
  out.clear();
  out.reserve(in.document().count(node));
  in.document().each_member(node, [&](NodeIx key, NodeIx value) {
    if (in.full()) return;
    if (const auto text = text_of(in, value)) out.emplace_back(in.document().text(key), *text);
  });
}

void read_resources(Reading& in, NodeIx node, Resources& out) {
  read_object(in, node, "", kResourceFields, out);
}

void read_passed_object(Reading& in, NodeIx node, std::string& out) {
  if (!is_object(in, node)) return;
  out.clear();
  append_compact(out, in.document(), node);
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json.key(name).begin_array();
  for (const std::string& text : texts) json.text(text);
  json.end_array();
}

void write_pairs(JsonWriter& json, std::string_view name,
                 const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (pairs.empty()) return;
  json.key(name).begin_object();
  for (const auto& [key, value] : pairs) json.field(key, std::string_view(value));
  json.end_object();
}

void write_resources(JsonWriter& json, const Resources& resources) {
  if (resources == Resources{}) return;
  json.key("resources").begin_object();
  if (resources.cpu_milli != 0) json.key("cpu").raw(thousandths_text(resources.cpu_milli));
  if (resources.memory_bytes != 0) {
    json.field("memory", std::string_view(size_text(resources.memory_bytes)));
  }
  if (!resources.named.empty()) {
    json.key("named").begin_object();
    for (const auto& [name, amount] : resources.named) json.field(name, amount);
    json.end_object();
  }
  json.end_object();
}

void write_command(JsonWriter& json, const CommandLine& command) {
  if (!command.shell.empty() && command.argv.size() == 1) {
    json.field("run", std::string_view(command.argv.front()));
  } else {
    write_texts(json, "run", command.argv);
  }
  write_texts(json, "shell", command.shell);
  write_pairs(json, "env", command.env);
  if (!command.workdir.empty()) json.field("workdir", std::string_view(command.workdir));
}

void read_run(Reading& in, NodeIx node, CommandDraft& out) {
  out.run = node;
  const NodeKind kind = in.document().kind(node);
  if (kind == NodeKind::kArray) {
    if (in.document().count(node) == 0) {
      in.problem(node, "the command is empty", "specify a program: [echo, hello]");
    }
    return read_texts(in, node, out.command.argv);
  }
  if (kind != NodeKind::kText) return in.wrong_type(node, "a list of strings");
  out.command.argv.assign(1, std::string(in.document().text(node)));
}

void finish_command(Reading& in, const CommandDraft& draft) {
  if (draft.run == 0 || in.document().kind(draft.run) != NodeKind::kText) return;
  if (!draft.command.shell.empty() || in.full()) return;
  const bool yaml = in.document().syntax() == Syntax::kYaml;
  in.problem(draft.run, "'run' is a string, but there is no shell to run it",
             yaml ? "write a list of arguments: [echo, hello], or add shell: [bash, -euc]"
                  : R"(write the words as a list, or add "shell": ["bash", "-euc"])");
}

}  // namespace vortex::codec
