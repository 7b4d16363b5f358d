// The matrix of a task, written out as a map over all combinations.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/dag_task.h"
#include "codec/json_text.h"
#include "codec/json_writer.h"
#include "codec/reading.h"

namespace vortex::codec {
namespace {

// Written out in the specification, so fewer than a range may have.
constexpr std::size_t kCombinationsMax = 10'000;

struct Axis {
  std::string key;
  std::vector<std::string> values;  // as JSON
};

bool is_plain(NodeKind kind) { return kind != NodeKind::kNull && kind <= NodeKind::kText; }

void read_axis(Reading& in, NodeIx key, NodeIx list, std::vector<Axis>& out) {
  if (in.full() || !is_array(in, list)) return;
  Axis axis{.key = std::string(in.document().text(key)), .values = {}};
  in.document().each_item(list, [&](NodeIx item) {
    if (in.full()) return;
    if (!is_plain(in.document().kind(item))) {
      return in.wrong_type(item, "a string, a number, true or false");
    }
    append_compact(axis.values.emplace_back(), in.document(), item);
  });
  if (axis.values.empty() && in.fine())
    in.problem(list, "every list in a matrix needs at least one item");
  out.push_back(std::move(axis));
}

std::string combination(const std::vector<Axis>& axes, std::size_t number) {
  std::vector<std::size_t> at(axes.size());
  for (std::size_t i = axes.size(); i > 0; --i) {  // the last changes fastest
    at[i - 1] = number % axes[i - 1].values.size();
    number /= axes[i - 1].values.size();
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  for (std::size_t i = 0; i < axes.size(); ++i) json.key(axes[i].key).raw(axes[i].values[at[i]]);
  json.end_object();
  return out;
}

}  // namespace

void read_matrix(Reading& in, TaskDraft& draft) {
  if (draft.map != 0) {
    return in.problem(draft.matrix - 1, "a task can have a map or a matrix, not both");
  }
  std::vector<Axis> axes;
  if (!is_object_of_names(in, draft.matrix)) return;
  in.document().each_member(draft.matrix,
                            [&](NodeIx key, NodeIx list) { read_axis(in, key, list, axes); });
  if (axes.empty() && in.fine()) in.problem(draft.matrix, "a matrix needs at least one list");
  std::size_t combinations = 1;
  for (const Axis& axis : axes) {
    combinations *= axis.values.size();
    if (combinations <= kCombinationsMax) continue;
    return in.problem(draft.matrix,
                      fmt::format("the matrix has more than {} combinations", kCombinationsMax),
                      "use a map over a range");
  }
  if (!in.fine()) return;
  MapSpec& map = draft.spec.map.emplace();
  map.as = "matrix";
  auto& items = map.over.emplace<std::vector<std::string>>();
  for (std::size_t i = 0; i < combinations; ++i) items.push_back(combination(axes, i));
}

}  // namespace vortex::codec
