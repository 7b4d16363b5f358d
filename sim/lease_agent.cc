#include "sim/lease_agent.h"

#include <fmt/format.h>

#include "sim/draw.h"

namespace vortex::sim {

LeaseAgent::LeaseAgent(Scene& scene, Clients& clients, std::uint32_t index, Rng rng)
    : scene_(scene), clients_(clients), id_(fmt::format("agent{}", index)), rng_(rng) {
  // Beyond the agents of their own: workers, whose leases end with them.
  if (index < scene.setup.lease_agents) return;
  const auto& workers = scene.setup.workers;
  id_ = AgentId(workers[(index - scene.setup.lease_agents) % workers.size()].info.id.text);
}

void LeaseAgent::begin() {
  scene_.agenda.after(rng_.between(millis(1), scene_.setup.timings.policy.partition_lease),
                      [this] { next_move(); });
}

void LeaseAgent::next_move() {
  if (stopped_) return;
  const Duration lease = scene_.setup.timings.policy.partition_lease;
  if (epoch_.value == 0) {
    acquire();
  } else if (!past_.empty() && rng_.chance(200)) {
    renew(past_[rng_.below(past_.size())]);
  } else if (rng_.chance(150)) {
    release();
  } else if (rng_.chance(200)) {
    clients_.ask(core::CheckLease{{}, partition(), id_, epoch_}, 1, {});
  } else {
    renew(epoch_);
  }
  const bool oversleeps = rng_.chance(150);
  const Duration wait = oversleeps ? share(rng_, lease, 900, 2200) : share(rng_, lease, 200, 700);
  scene_.agenda.after(wait, [this] { next_move(); });
}

void LeaseAgent::acquire() {
  partition_ = static_cast<std::uint32_t>(rng_.below(scene_.setup.partitions));
  clients_.ask(core::AcquireLease{{}, partition(), id_}, 1,
               [this](const core::ReplyBody* answer) { granted(answer); });
}

void LeaseAgent::granted(const core::ReplyBody* answer) {
  if (answer == nullptr) return;
  const auto* lease = std::get_if<core::LeaseGranted>(answer);
  if (lease == nullptr) return;
  epoch_ = lease->epoch;
  past_.push_back(lease->epoch);
}

void LeaseAgent::renew(Epoch epoch) {
  clients_.ask(core::RenewLease{{}, partition(), id_, epoch}, 1,
               [this, epoch](const core::ReplyBody* answer) {
                 if (answer != nullptr && std::holds_alternative<core::Refusal>(*answer) &&
                     epoch == epoch_) {
                   epoch_ = Epoch{};
                 }
               });
}

void LeaseAgent::release() {
  clients_.ask(core::ReleaseLease{{}, partition(), id_, epoch_}, 1, {});
  epoch_ = Epoch{};
}

}  // namespace vortex::sim
