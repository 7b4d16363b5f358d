#include "worker/proof.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "worker/answers.h"
#include "worker/quiet_thread.h"

namespace vortex::worker {

namespace {

constexpr Duration kProofCallLimit = seconds(2);
constexpr Duration kProofRetryMin = millis(20);
constexpr Duration kProofRetryMax = seconds(1);

}  // namespace

std::string proof_body(const Proof& proof) {
  std::string out = fmt::format(R"({{"incarnation":{},"started":[)", proof.incarnation.value);
  for (const Attempt& attempt : proof.started) {
    if (out.back() == '}') out += ',';
    out += fmt::format(R"({{"task":"{}","epoch":{}}})", to_text(attempt.task), attempt.epoch.value);
  }
  out += R"(],"incarnations":[)";
  for (const Incarnation life : proof.lives) {
    out += fmt::format("{}{}", out.back() == '[' ? "" : ",", life.value);
  }
  if (!proof.status) return out + "]}";
  const bool by_signal = WIFSIGNALED(*proof.status);
  return out + fmt::format(R"(],"{}":{}}})", by_signal ? "signal" : "exit_code",
                           by_signal ? WTERMSIG(*proof.status) : WEXITSTATUS(*proof.status));
}

ProofTeller::ProofTeller(Config config) : config_(std::move(config)) {
  thread_ = quiet_thread([this] { run(); });
}

ProofTeller::~ProofTeller() {
  {
    const std::lock_guard lock(guard_);
    ending_ = true;
    config_.give_up_after = std::min(config_.give_up_after, kLastWords);
    const Instant now = boot_clock_now();
    for (Pending& pending : pending_) pending.since = now;
  }
  changed_.notify_all();
  thread_.join();
}

void ProofTeller::tell(Proof proof) {
  {
    const std::lock_guard lock(guard_);
    pending_.push_back({std::move(proof), boot_clock_now()});
  }
  changed_.notify_all();
}

void ProofTeller::run() {
  std::unique_lock lock(guard_);
  Duration wait = kProofRetryMin;
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const Pending next = pending_.front();
    lock.unlock();
    const bool over = try_once(next);
    lock.lock();
    Pending& first = pending_.front();
    const bool needless =
        ending_ && first.proof.started.empty() && ++first.tries >= config_.controllers.size();
    const bool late = boot_clock_now() - first.since > config_.give_up_after || needless;
    if (over || late) {
      pending_.pop_front();
      wait = kProofRetryMin;
      continue;
    }
    changed_.wait_for(lock, std::chrono::microseconds(wait.us));
    wait = std::min(wait * 2, kProofRetryMax);
  }
}

bool ProofTeller::try_once(const Pending& pending) {
  net::ClientConfig client = config_.controllers[current_];
  client.connect_limit = kProofCallLimit;
  net::Call call;
  call.method = net::Method::kPost;
  call.target = fmt::format("/api/workers/{}/exited", pending.proof.worker.text);
  call.body = proof_body(pending.proof);
  add_session(call, pending.proof.session);
  call.limit = kProofCallLimit;
  const CallResult result = net::send_and_wait(client, std::move(call));
  // 4xx: it was never registered, or the controller knows already; there is nothing to add.
  const bool answered = result && result->status < 500;
  if (answered && result->status != 401 && result->status != 403) return true;
  config_.log(LogLevel::kWarn,
              fmt::format("{}:{}: could not report the exit of {}: {}", client.endpoint.host,
                          client.endpoint.port, pending.proof.worker.text, trouble_of(result)));
  current_ = (current_ + 1) % config_.controllers.size();
  return answered;
}

}  // namespace vortex::worker
