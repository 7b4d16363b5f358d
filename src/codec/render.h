#pragma once
// Expressions with values: texts of a command become what the process is given.
//
// Typed: a text is taken as it is, numbers and booleans plain, lists and objects as compact JSON.
// What is missing or null is an error unless the expression has a default. Pure and bounded: a
// result has at most kArgumentBytesMax bytes. Values are for one thread at a time.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "codec/document.h"
#include "model/expression.h"
#include "model/sync.h"

namespace vortex::codec {

// What paths can lead to. The texts it views must outlive it.
class Values {
 public:
  struct Facts {
    std::string_view params;  // JSON; empty: none
    std::string_view inputs;  // JSON; empty: none
    const MapItem* map = nullptr;
    std::string_view run_id;
    std::string_view dag;
    std::string_view task;
    std::uint32_t attempt = 1;
  };
  explicit Values(const Facts& facts) : facts_(facts) {}

  const Facts& facts() const { return facts_; }
  // Another task of the same node in the same run: only its item is parsed anew.
  void next_task(const MapItem* map, std::uint32_t attempt) {
    facts_.map = map;
    facts_.attempt = attempt;
    item_ = {};
  }
  // Parsed when first asked for; null: there is none, or it is not JSON.
  const Document* params() { return parsed(params_, facts_.params); }
  const Document* inputs() { return parsed(inputs_, facts_.inputs); }
  const Document* item();

 private:
  struct Part {
    std::unique_ptr<Document> document;
    bool tried = false;
  };
  static const Document* parsed(Part& part, std::string_view json);

  Facts facts_;
  Part params_;
  Part inputs_;
  Part item_;
};

// The error says which expression has no value, and why.
std::expected<std::string, std::string> render(const Template& tmpl, Values& values);

}  // namespace vortex::codec
