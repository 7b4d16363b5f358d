#include "tests/house/layers.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vortex::house {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 1> kBase{"base"};
constexpr std::array<std::string_view, 2> kModel{"base", "model"};
constexpr std::array<std::string_view, 3> kCore{"base", "model", "core"};
constexpr std::array<std::string_view, 3> kAgent{"base", "model", "agent"};
constexpr std::array<std::string_view, 4> kEngine{"base", "model", "core", "engine"};
constexpr std::array<std::string_view, 3> kCodec{"base", "model", "codec"};
constexpr std::array<std::string_view, 4> kVault{"base", "model", "codec", "vault"};
constexpr std::array<std::string_view, 4> kStore{"base", "model", "codec", "store"};
constexpr std::array<std::string_view, 2> kNet{"base", "net"};
constexpr std::array<std::string_view, 8> kApi{"base",  "model", "core", "codec",
                                               "vault", "store", "net",  "api"};
constexpr std::array<std::string_view, 10> kController{
    "base", "model", "core", "engine", "codec", "vault", "store", "net", "api", "controller"};
constexpr std::array<std::string_view, 7> kWorker{"base",  "model", "agent", "codec",
                                                  "vault", "net",   "worker"};
constexpr std::array<std::string_view, 13> kCli{"base",       "model",  "core",  "agent", "engine",
                                                "codec",      "vault",  "store", "net",   "api",
                                                "controller", "worker", "cli"};

struct Layer {
  std::string_view folder;
  Names may_include;
};

constexpr Layer kLayers[] = {
    {"base", kBase},   {"model", kModel},           {"core", kCore},
    {"agent", kAgent}, {"engine", kEngine},         {"codec", kCodec},
    {"vault", kVault}, {"store", kStore},           {"net", kNet},
    {"api", kApi},     {"controller", kController}, {"worker", kWorker},
    {"cli", kCli},
};

// Folders that are not the product: the product includes none of them.
constexpr std::array<std::string_view, 3> kOutside{"sim", "tests", "bench"};

std::string first_folder(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}

const Layer* layer_of(std::string_view folder) {
  const auto* layer = std::ranges::find(kLayers, folder, &Layer::folder);
  return layer == std::end(kLayers) ? nullptr : layer;
}

bool contains(Names names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The judges of histories: they know the core's data and none of its code.
constexpr std::array<std::string_view, 2> kJudges{"sim/check/", "sim/model/"};
constexpr std::array<std::string_view, 3> kDataOfCore{"core/command.h", "core/effects.h",
                                                      "core/state/policy.h"};

// A checker that shares code with what it checks shares its mistakes.
std::string bias(const SourceFile& file, const std::string& include) {
  const bool judges = std::ranges::any_of(
      kJudges, [&](std::string_view folder) { return file.path.starts_with(folder); });
  const std::string target = first_folder(include);
  if (!judges || (target != "core" && target != "agent")) return {};
  if (contains(kDataOfCore, include)) return {};
  return fmt::format("sim/check and sim/model may know of core only {}: state the rule anew",
                     fmt::join(kDataOfCore, ", "));
}

// What this file may not include although it is ours; empty when all is well.
std::string objection(const SourceFile& file, const std::string& target) {
  const std::string area = first_folder(file.path);
  if (area == "tests") return {};
  if (area == "sim" || area == "bench") {
    const bool fine = layer_of(target) != nullptr || target == area || target == "sim";
    return fine ? "" : fmt::format("{}/ may include src/ and itself only", area);
  }
  // The program is the product and its benchmarks.
  if (file.path == "src/main.cc" && target == "bench") return {};
  if (contains(kOutside, target)) return "src/ never includes sim/, tests/ or bench/";
  const std::string rest = file.path.substr(std::min(file.path.size(), area.size() + 1));
  if (!rest.contains('/')) return {};  // src/main.cc wires everything
  const Layer* layer = layer_of(first_folder(rest));
  if (layer == nullptr) {
    return fmt::format("src/{} has no place in the table of tests/house/layers.cc: give it one",
                       first_folder(rest));
  }
  if (contains(layer->may_include, target)) return {};
  return fmt::format("src/{} may include only {}; move the code down or pass data instead",
                     layer->folder, fmt::join(layer->may_include, ", "));
}

}  // namespace

Findings wrong_directions(const SourceFile& file) {
  Findings findings;
  for (const Include& include : includes_of(file.text)) {
    if (!include.quoted) continue;
    std::string message =
        include.name.contains('/')
            ? objection(file, first_folder(include.name)) + bias(file, include.name)
            : "write the include from the root: \"folder/file.h\"";
    if (message.empty()) continue;
    findings.push_back(
        {file.path, include.line, fmt::format("includes '{}': {}", include.name, message)});
  }
  return findings;
}

}  // namespace vortex::house
