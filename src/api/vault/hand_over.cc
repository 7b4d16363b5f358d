#include "api/vault/hand_over.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/networks.h"
#include "model/check.h"
#include "net/socket.h"

namespace vortex::api {
namespace {

const NodeSpec& node_of(const Assignment& assignment) {
  const auto& work = std::get<PlannedWork>(assignment.work);
  return work.plan->node_spec(work.node);
}

std::string peer_host(const net::Request& request) {
  return request.peer.substr(0, request.peer.rfind(':'));
}

std::string fault_text(vault::Fault fault) {
  switch (fault) {
    case vault::Fault::kNoKey:
      return "the controller has no master key; configure secrets.master_key_file (`vortex secrets "
             "init` makes one) and restart it";
    case vault::Fault::kOtherKey:
      return "it is sealed with a master key that the controller does not have; configure that key "
             "as secrets.previous_master_key_file and restart it";
    case vault::Fault::kDamaged:
      break;
  }
  return "its sealed value is damaged; set it again with `vortex secrets set`";
}

// Why the task is outside the scope; empty: it is not.
std::string outside(const SecretRow& row, const std::string& dag, const NodeSpec& node) {
  if (!row.dag.empty() && row.dag != dag) {
    return fmt::format("it is only for DAG '{}'", row.dag);
  }
  if (!row.queue.empty() && row.queue != node.requirements.queue) {
    return fmt::format("it is only for queue '{}'", row.queue);
  }
  for (const auto& label : row.labels) {
    if (std::ranges::find(node.requirements.labels, label) != node.requirements.labels.end()) {
      continue;
    }
    return fmt::format("it is only for tasks with the label {}={}; add it to the task's labels",
                       label.first, label.second);
  }
  return {};
}

class Opener {
 public:
  Opener(store::Reader& reader, const vault::Vault& vault, const Assignment& assignment)
      : reader_(reader), vault_(vault), assignment_(assignment) {
    opened_.values = std::make_shared<SecretSet>();
  }

  // The outer error is the store's, the inner one the user's.
  store::Result<std::string> open(const SecretUse& use) {
    const auto row = reader_.secret(use.secret);
    if (!row) return std::unexpected(row.error());
    if (!*row || (*row)->deleted) {
      return refuse(use, fmt::format("there is no such secret; create it with `vortex secrets set "
                                     "{}`",
                                     use.secret));
    }
    const auto& work = std::get<PlannedWork>(assignment_.work);
    std::string wrong = outside(**row, work.plan->spec.name, node_of(assignment_));
    if (!wrong.empty()) return refuse(use, wrong);
    const std::uint32_t version = use.version == 0 ? (*row)->latest : use.version;
    const auto value = reader_.secret_version(use.secret, version);
    if (!value) return std::unexpected(value.error());
    if (!*value) {
      return refuse(use, fmt::format("it has no version {}; `vortex secrets versions {}` lists "
                                     "them",
                                     version, use.secret));
    }
    return take(use, **value);
  }

  OpenedSecrets opened() { return std::move(opened_); }

 private:
  std::string take(const SecretUse& use, const SecretVersionRow& row) {
    auto value = vault_.open(place_of(row), sealed_of(row));
    if (!value) return refuse(use, fault_text(value.error()));
    if (!use.file && value->view().contains('\0')) {
      return refuse(use,
                    "its value contains a zero byte, which no variable can hold; use it under "
                    "files:");
    }
    bytes_ += value->size();
    if (bytes_ > kTaskSecretBytesMax) {
      return fmt::format("the secrets of the task have more than {} bytes together",
                         kTaskSecretBytesMax);
    }
    opened_.values->values.push_back({use.as, use.file, *std::move(value)});
    opened_.uses.push_back({assignment_.attempt, use.secret, row.version, use.as});
    return {};
  }

  static std::string refuse(const SecretUse& use, std::string_view why) {
    return fmt::format("cannot get secret '{}' for {}: {}", use.secret, use.as, why);
  }

  store::Reader& reader_;
  const vault::Vault& vault_;
  const Assignment& assignment_;
  OpenedSecrets opened_;
  std::size_t bytes_ = 0;
};

}  // namespace

bool has_secrets(const Assignment& assignment) { return !node_of(assignment).secrets.empty(); }

bool is_private(const net::Request& request) {
  return request.encrypted || net::is_loopback(peer_host(request));
}

std::string not_private(const net::Request& request) {
  return fmt::format(
      "its secrets cannot be handed to a worker that is connected from {} without TLS; connect "
      "the worker to an https:// address of the controller",
      peer_host(request));
}

store::Result<std::expected<OpenedSecrets, std::string>> open_secrets(
    store::Reader& reader, const vault::Vault& vault, const Assignment& assignment) {
  Opener opener(reader, vault, assignment);
  for (const SecretUse& use : node_of(assignment).secrets) {
    store::Result<std::string> wrong = opener.open(use);
    if (!wrong) return std::unexpected(wrong.error());
    if (!wrong->empty())
      return std::expected<OpenedSecrets, std::string>(std::unexpect, *std::move(wrong));
  }
  return opener.opened();
}

}  // namespace vortex::api
