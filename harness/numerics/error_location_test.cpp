#include "harness/numerics/error_location.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace parity {
namespace {

std::string pattern(std::int64_t rows, std::int64_t columns,
                    const std::function<bool(std::int64_t, std::int64_t)>& wrong, std::int64_t batches = 1,
                    std::int64_t wrong_batch = -1) {
  WrongMarginals m;
  m.rows.resize(static_cast<std::size_t>(rows));
  m.columns.resize(static_cast<std::size_t>(columns));
  m.batches.resize(static_cast<std::size_t>(batches));
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        if (!wrong(r, c) || (wrong_batch >= 0 && b != wrong_batch)) continue;
        ++m.rows[static_cast<std::size_t>(r)], ++m.columns[static_cast<std::size_t>(c)];
        ++m.batches[static_cast<std::size_t>(b)], ++m.total;
      }
    }
  }
  return locate(m).pattern;
}

TEST(ErrorLocation, Patterns) {
  const auto in = [](std::int64_t x, std::int64_t a, std::int64_t b) { return x >= a && x <= b; };
  EXPECT_EQ(pattern(64, 64, [](auto, auto) { return false; }), "none");
  EXPECT_EQ(pattern(64, 64, [](auto, auto) { return true; }), "all elements");
  EXPECT_EQ(pattern(64, 64, [](auto r, auto c) { return r == 3 && c == 9; }), "one element");
  EXPECT_EQ(pattern(64, 64, [](auto r, auto) { return r == 5; }), "row 5");
  EXPECT_EQ(pattern(64, 64, [](auto, auto c) { return c == 7; }), "column 7");
  EXPECT_EQ(pattern(64, 64, [&](auto r, auto) { return in(r, 32, 47); }), "rows 32..47");
  EXPECT_EQ(pattern(64, 64, [&](auto, auto c) { return in(c, 8, 15); }), "columns 8..15");
  EXPECT_EQ(
      pattern(64, 64, [&](auto r, auto c) { return in(r, 16, 31) && in(c, 32, 47) && r - 16 != c - 32; }),
      "tile at (16, 32), 16x16");
  EXPECT_EQ(pattern(256, 256, [&](auto r, auto c) { return in(r, 128, 191) && in(c, 64, 127); }),
            "tile at (128, 64), 64x64");
  EXPECT_EQ(pattern(64, 64, [](auto, auto c) { return c % 16 == 15; }), "columns that are 15 mod 16");
  EXPECT_EQ(pattern(128, 64, [](auto r, auto) { return r % 32 == 0; }), "rows that are 0 mod 32");
  EXPECT_EQ(pattern(65, 63, [](auto r, auto) { return r == 64; }), "row 64");
  EXPECT_EQ(pattern(68, 63, [](auto r, auto) { return r >= 64; }),
            "the tail rows 64..67 (beyond the last multiple of 64)");
  EXPECT_EQ(pattern(64, 63, [](auto, auto c) { return c >= 48; }),
            "the tail columns 48..62 (beyond the last multiple of 16)");
  EXPECT_EQ(pattern(64, 64, [](auto r, auto c) { return r == c && r % 7 == 1; }), "scattered");
  EXPECT_EQ(pattern(64, 64, [](auto r, auto c) { return (r * 31 + c * 17) % 3 != 0; }),
            "nearly all elements (67 %)");
}

TEST(ErrorLocation, Batches) {
  const auto row = [](std::int64_t r, std::int64_t) { return r == 2; };
  EXPECT_EQ(pattern(8, 8, row, 4, 3), "row 2 of batch 3");
  EXPECT_EQ(pattern(8, 8, row, 4), "row 2 in 4 of 4 batches");
  EXPECT_EQ(pattern(
                8, 8, [](auto, auto) { return true; }, 4),
            "all elements");
}

}  // namespace
}  // namespace parity
