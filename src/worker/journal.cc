#include "worker/journal.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/json_writer.h"
#include "worker/answers.h"
#include "worker/own_folder.h"
#include "worker/quiet_thread.h"

namespace vortex::worker {

namespace {

constexpr std::size_t kSentAtOnce = 100;
constexpr Duration kJournalCallLimit = seconds(2);
constexpr Duration kJournalRetryMin = millis(50);
constexpr Duration kJournalRetryMax = seconds(10);
// On disk: `vxjournal1 <id> <number of the last entry>`, then `<number> <JSON>` a line.
constexpr std::string_view kMagic = "vxjournal1";

std::string new_id() {
  std::random_device chance;
  return fmt::format("{:08x}{:08x}{:08x}", chance(), chance(), chance());
}

std::string json_of(std::uint64_t number, const JournalEntry& entry) {
  std::string out;
  codec::JsonWriter json(out);
  json.begin_object().field("id", number).field("event", to_text(entry.kind));
  json.field("worker", std::string_view(entry.worker.text));
  if (entry.incarnation.value != 0) json.field("incarnation", entry.incarnation.value);
  if (!entry.session.empty()) json.field("session", std::string_view(entry.session));
  json.field("at", wall_clock_now()).key("data").begin_object();
  for (const auto& [name, value] : entry.data) {
    const auto* count = std::get_if<std::int64_t>(&value);
    json.key(name);
    count != nullptr ? json.number(*count) : json.text(std::get<std::string>(value));
  }
  json.end_object().end_object();
  return out;
}

bool append_to(const std::string& path, std::string_view text, int flags) {
  const Fd file = open_own_file(path, O_WRONLY | flags);
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// As one segment of a path.
std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Journal::Journal(Config config) : config_(std::move(config)) {
  read_file();
  if (journal_.empty()) begin_anew();
  rewrite();
  thread_ = quiet_thread([this] { run(); });
}

Journal::~Journal() {
  {
    const std::lock_guard lock(guard_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (waiting_.empty()) ::unlink(config_.path.c_str());
}

void Journal::begin_anew() {
  journal_ = new_id();
  last_ = 0;
}

// A last line that was cut short by a crash of the machine is left out.
void Journal::read_file() {
  std::istringstream lines(read_own_file(config_.path));
  std::string line;
  std::string magic;
  if (!std::getline(lines, line)) return;
  std::istringstream head(line);
  head >> magic >> journal_ >> last_;
  if (magic != kMagic || !head) {
    journal_.clear();
    return;
  }
  while (std::getline(lines, line) && !lines.eof()) {
    const std::size_t space = line.find(' ');
    const std::uint64_t number = number_in(line);
    if (space == line.npos || !line.ends_with('}') || number == 0) continue;
    waiting_.push_back({number, line.substr(space + 1)});
    last_ = std::max(last_, number);
  }
  while (waiting_.size() > kEntriesMax) waiting_.pop_front();
  if (!waiting_.empty()) {
    config_.log(LogLevel::kInfo,
                fmt::format("entries in the journal of an earlier supervisor still to send: {}",
                            waiting_.size()));
  }
}

// Precondition: locked, or before there is a thread. Whole under another name, then in its place.
void Journal::rewrite() {
  std::string text = fmt::format("{} {} {}\n", kMagic, journal_, last_);
  for (const Waiting& entry : waiting_) text += fmt::format("{} {}\n", entry.number, entry.json);
  const std::string draft = config_.path + ".new";
  if (!append_to(draft, text, O_TRUNC) || ::rename(draft.c_str(), config_.path.c_str()) != 0) {
    config_.log(
        LogLevel::kWarn,
        fmt::format("cannot write the journal {}: entries are kept in memory only", config_.path));
  }
}

void Journal::write(const JournalEntry& entry) {
  {
    const std::lock_guard lock(guard_);
    JournalEntry whole = entry;
    if (waiting_.size() >= kEntriesMax) {
      waiting_.pop_front();
      ++lost_;
    } else if (lost_ > 0) {
      whole.data.emplace_back("lost_entries", static_cast<std::int64_t>(std::exchange(lost_, 0)));
    }
    const std::uint64_t number = ++last_;
    waiting_.push_back({number, json_of(number, whole)});
    append_to(config_.path, fmt::format("{} {}\n", number, waiting_.back().json), O_APPEND);
  }
  changed_.notify_all();
}

void Journal::run() {
  std::unique_lock lock(guard_);
  Duration wait = kJournalRetryMin;
  Instant last_try = kNever;
  std::size_t last_tries = 0;
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    if (ending_ && last_try == kNever) last_try = boot_clock_now() + kLastWords;
    const std::size_t count = std::min(waiting_.size(), kSentAtOnce);
    const std::vector<Waiting> next(waiting_.begin(),
                                    waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    lock.unlock();
    const Told told = tell(next);
    lock.lock();
    if (told != Told::kNotNow) {
      const std::uint64_t done = next.back().number;
      while (!waiting_.empty() && waiting_.front().number <= done) waiting_.pop_front();
      rewrite();
      wait = kJournalRetryMin;
      continue;
    }
    // What is left stays in the file for the next supervisor, so nobody waits for it here.
    if (ending_ && ++last_tries >= config_.controllers->size()) return;
    if (boot_clock_now() >= last_try) return;
    const Duration pause = ending_ ? kJournalRetryMin : wait;
    changed_.wait_for(lock, std::chrono::microseconds(pause.us));
    wait = std::min(wait * 2, kJournalRetryMax);
  }
}

Journal::Told Journal::tell(const std::vector<Waiting>& entries) {
  net::ClientConfig client = config_.controllers->at(turn_);
  client.connect_limit = kJournalCallLimit;
  net::Call call;
  call.method = net::Method::kPost;
  call.target = "/api/supervisors/" + encoded(config_.supervisor) + "/events";
  codec::JsonWriter json(call.body);
  json.begin_object().field("machine", std::string_view(config_.machine));
  {
    const std::lock_guard lock(guard_);
    json.field("journal", std::string_view(journal_));
  }
  json.key("entries").begin_array();
  for (const Waiting& entry : entries) json.raw(entry.json);
  json.end_array().end_object();
  call.limit = kJournalCallLimit;
  if (!told_.empty()) call.headers.emplace_back(kControllersHeader, told_);
  const CallResult result = net::send_and_wait(client, std::move(call));
  if (result && result->status / 100 == 2) {
    trouble_.clear();
    if (const auto named = net::find_header(result->headers, kControllersHeader)) {
      told_ = *named;
      config_.controllers->learn(client, told_);
    }
    return Told::kYes;
  }
  std::string trouble = fmt::format("{}:{}: did not accept the journal: {}", client.endpoint.host,
                                    client.endpoint.port, trouble_of(result));
  if (trouble != trouble_) config_.log(LogLevel::kWarn, trouble);
  trouble_ = std::move(trouble);
  ++turn_;
  // It is understood and refused: asking again would hold up what comes after. Missing rights, and
  // a controller that does not know the route, may change.
  const bool refused = result && (result->status == 400 || result->status == 422);
  return refused ? Told::kNever : Told::kNotNow;
}

}  // namespace vortex::worker
