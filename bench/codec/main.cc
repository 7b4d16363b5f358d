// Reading and writing messages: time per report, assignment, event and task of a DAG.
// "items" in the table are those, so items_per_second is the figure to compare.

#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "base/assert.h"
#include "bench/codec/messages.h"
#include "codec/dag_json.h"
#include "codec/event_json.h"
#include "codec/sync_json.h"

namespace vortex::bench {
namespace {

std::uint32_t size_of(const benchmark::State& bench) {
  return static_cast<std::uint32_t>(bench.range(0));
}

void count_items(benchmark::State& bench) {
  bench.SetItemsProcessed(static_cast<std::int64_t>(bench.iterations()) * bench.range(0));
}

void read_reports(benchmark::State& bench) {
  const std::string text = codec::write_sync(request_with(size_of(bench)));
  const WorkerId worker("w1");
  for ([[maybe_unused]] auto lap : bench) {
    auto request = codec::read_sync(text, worker);
    VX_ASSERT(request.has_value());
    benchmark::DoNotOptimize(request);
  }
  count_items(bench);
}

void write_reports(benchmark::State& bench) {
  const SyncRequest request = request_with(size_of(bench));
  for ([[maybe_unused]] auto lap : bench) benchmark::DoNotOptimize(codec::write_sync(request));
  count_items(bench);
}

void write_map_assignments(benchmark::State& bench) {
  const SyncReply reply = reply_of_map(size_of(bench));
  for ([[maybe_unused]] auto lap : bench) benchmark::DoNotOptimize(codec::write_sync_reply(reply));
  count_items(bench);
}

void write_node_assignments(benchmark::State& bench) {
  const SyncReply reply = reply_of_nodes(size_of(bench));
  for ([[maybe_unused]] auto lap : bench) benchmark::DoNotOptimize(codec::write_sync_reply(reply));
  count_items(bench);
}

void read_assignments(benchmark::State& bench) {
  const std::string text = codec::write_sync_reply(reply_of_map(size_of(bench)));
  for ([[maybe_unused]] auto lap : bench) {
    auto reply = codec::read_sync_reply(text);
    VX_ASSERT(reply.has_value());
    benchmark::DoNotOptimize(reply);
  }
  count_items(bench);
}

void write_events(benchmark::State& bench) {
  Event event = task_event();
  std::string out;
  for ([[maybe_unused]] auto lap : bench) {
    out.clear();
    for (std::int64_t i = 0; i < bench.range(0); ++i) {
      event.at.us += 1'017;
      codec::write_event(out, event);
    }
    benchmark::DoNotOptimize(out);
  }
  count_items(bench);
}

void read_dags(benchmark::State& bench) {
  const std::string text = dag_text(size_of(bench));
  for ([[maybe_unused]] auto lap : bench) {
    auto spec = codec::read_dag(text);
    VX_ASSERT(spec.has_value());
    benchmark::DoNotOptimize(spec);
  }
  count_items(bench);
}

BENCHMARK(read_reports)->Arg(1)->Arg(256)->Arg(4'096);
BENCHMARK(write_reports)->Arg(256);
BENCHMARK(write_map_assignments)->Arg(1)->Arg(256)->Arg(4'096);
BENCHMARK(write_node_assignments)->Arg(256);
BENCHMARK(read_assignments)->Arg(256);
BENCHMARK(write_events)->Arg(256);
BENCHMARK(read_dags)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace vortex::bench

BENCHMARK_MAIN();
