#pragma once
// A document that is refused, and where and with which words. Tables of them are the tests of
// what people see when they make a mistake.

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "codec/document.h"

namespace vortex::testing {

struct BadDocument {
  std::string json;
  std::string_view pointer;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string_view message;    // a part of it
  std::string_view help = "";  // a part of it
};

// Some problem of the document is the expected one.
inline void expect_problem(const codec::Problems& problems, const BadDocument& bad) {
  std::string all;
  for (const codec::Problem& p : problems) {
    if (p.pointer == bad.pointer && p.line == bad.line && p.column == bad.column &&
        p.message.find(bad.message) != p.message.npos && p.help.find(bad.help) != p.help.npos) {
      return;
    }
    all += p.pointer + " " + std::to_string(p.line) + ":" + std::to_string(p.column) + " " +
           p.message + " [" + p.help + "]\n";
  }
  ADD_FAILURE() << bad.json << "\nis refused with\n" << all;
}

template <class Read>
void expect_refused(const BadDocument& bad, Read&& read) {
  const auto result = read(bad.json);
  if (result) {
    ADD_FAILURE() << bad.json << "\nis accepted";
    return;
  }
  EXPECT_FALSE(result.error().empty());
  expect_problem(result.error(), bad);
}

}  // namespace vortex::testing
