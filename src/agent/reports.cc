#include "agent/reports.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace vortex::agent {

namespace {

constexpr std::size_t kReportOverhead = 64;  // ids and names on the wire

std::size_t bytes_of(const Report& report) {
  std::size_t bytes = kReportOverhead;
  if (const auto* checkpoint = std::get_if<Checkpoint>(&report.body)) {
    bytes += checkpoint->data.size();
  } else if (const auto* completed = std::get_if<Completed>(&report.body)) {
    bytes += completed->outputs.size();
  } else if (const auto* failed = std::get_if<Failed>(&report.body)) {
    bytes += failed->message.size();
  } else if (const auto* released = std::get_if<Released>(&report.body)) {
    bytes += released->message.size();
  }
  return bytes;
}

}  // namespace

bool is_end(const ReportBody& body) {
  return !std::holds_alternative<Started>(body) && !std::holds_alternative<Checkpoint>(body);
}

void ReportQueue::add(Report report) {
  if (std::holds_alternative<Checkpoint>(report.body)) {
    const auto outdated = [&](const Report& old) {
      return old.attempt == report.attempt && std::holds_alternative<Checkpoint>(old.body);
    };
    const auto waiting = queue_.begin() + static_cast<std::ptrdiff_t>(in_flight_);
    queue_.erase(std::remove_if(waiting, queue_.end(), outdated), queue_.end());
  }
  queue_.push_back(std::move(report));
}

void ReportQueue::drop(Attempt attempt) {
  const auto of_attempt = [&](const Report& report) { return report.attempt == attempt; };
  const auto waiting = queue_.begin() + static_cast<std::ptrdiff_t>(in_flight_);
  const auto dropped_in_flight = std::count_if(queue_.begin(), waiting, of_attempt);
  in_flight_ -= static_cast<std::size_t>(dropped_in_flight);
  std::erase_if(queue_, of_attempt);
}

void ReportQueue::clear() { *this = ReportQueue{}; }

std::vector<Report> ReportQueue::send_with(CallId call, std::size_t bytes_max) {
  VX_ASSERT(!carrier_);
  std::vector<Report> batch;
  std::size_t bytes = 0;
  for (const Report& report : queue_) {
    bytes += bytes_of(report);
    if (!batch.empty() && bytes > bytes_max) break;
    batch.push_back(report);
  }
  in_flight_ = batch.size();
  carrier_ = call;
  return batch;
}

std::vector<Attempt> ReportQueue::acknowledge(std::uint64_t seq_seen) {
  std::vector<Attempt> ended;
  if (!carrier_ || seq_seen < carrier_->value) return ended;
  for (; in_flight_ > 0; --in_flight_) {
    if (is_end(queue_.front().body)) ended.push_back(queue_.front().attempt);
    queue_.pop_front();
  }
  return ended;
}

void ReportQueue::give_back(CallId call) {
  if (carrier_ != call) return;
  carrier_.reset();
  in_flight_ = 0;
}

}  // namespace vortex::agent
