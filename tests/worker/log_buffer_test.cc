#include <string>

#include <gtest/gtest.h>

#include "worker/log_shipper.h"

namespace vortex::worker {
namespace {

// What a receiver has that keeps pieces by offset.
std::string ship_all(LogBuffer& buffer, std::size_t piece) {
  std::string out;
  while (!buffer.empty()) {
    const LogBuffer::Piece next = buffer.take(piece);
    EXPECT_EQ(next.offset, out.size()) << "pieces follow each other without a gap";
    out += next.data;
    buffer.arrived();
  }
  return out;
}

TEST(LogBufferTest, PiecesFollowEachOtherAndAddUp) {
  LogBuffer buffer(1000);
  buffer.write("hello ");
  buffer.write("world");
  EXPECT_EQ(ship_all(buffer, 4), "hello world");
}

TEST(LogBufferTest, APieceStaysTheSameUntilItArrived) {
  LogBuffer buffer(1000);
  buffer.write("first");
  EXPECT_EQ(buffer.take(100).data, "first");
  buffer.write(" second");
  EXPECT_EQ(buffer.take(100).data, "first");
  EXPECT_EQ(buffer.take(100).offset, 0u);
  buffer.arrived();
  EXPECT_EQ(buffer.take(100).offset, 5u);
  EXPECT_EQ(buffer.take(100).data, " second");
}

TEST(LogBufferTest, WhatDoesNotFitIsLeftOutWithAMarkThatCountsIt) {
  LogBuffer buffer(100);
  buffer.write(std::string(10, 'a'));
  EXPECT_EQ(buffer.take(1000).data, std::string(10, 'a'));
  for (int i = 0; i < 100; ++i) buffer.write(std::string(10, static_cast<char>('0' + i % 10)));
  EXPECT_LE(buffer.size(), 110u);
  buffer.write("the end");
  const std::string all = ship_all(buffer, 1000);
  EXPECT_TRUE(all.starts_with(std::string(10, 'a') + "\n[vortex: ")) << all;
  EXPECT_TRUE(all.ends_with("the end")) << all;
  const std::string mark =
      "\n[vortex: " + std::to_string(buffer.left_out()) + " bytes of output dropped here]\n";
  EXPECT_NE(all.find(mark), std::string::npos) << all;
  EXPECT_EQ(all.size() - mark.size() + buffer.left_out(), 10u + 1000 + 7);
}

TEST(LogBufferTest, AWriteLargerThanEverythingKeepsItsEnd) {
  LogBuffer buffer(100);
  buffer.write(std::string(100'000, 'x') + "end");
  EXPECT_LE(buffer.size(), 100u);
  EXPECT_EQ(buffer.left_out() + buffer.size(), 100'003u);
  EXPECT_TRUE(ship_all(buffer, 64).ends_with("end"));
}

}  // namespace
}  // namespace vortex::worker
