// `parity bench` as the user meets it. What it measures is never asserted.
#include <gtest/gtest.h>

#include "harness/cli/cli_testing.hpp"

namespace parity {
namespace {

ProgramRun bench(std::vector<std::string> words) {
  words.insert(words.begin(), "bench");
  return parity(words, one_thread());
}

TEST(Bench, SaysBelowWhichSizeADeviceLoses) {
  const ProgramRun run =
      bench({"--device", "cpu", "--path", "sequential_f32", "--min-size", "4", "--max-size", "8"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  for (const char* part : {"cpu:0", "runs on the same processor", "gemm sequential_f32",
                           "gru_cell sequential_f32", "in f32, acc f32, out f32", "CPU us", "round trip",
                           "cpu:0 ", "\n       4 ", "\n       6 ", "\n       8 "})
    expect_holds(run.out, part);
}

TEST(Bench, EndsWhereARunTakesTooLong) {
  const ProgramRun run =
      bench({"gemm", "--device", "cpu", "--path", "sequential_f32", "--max-size", "64", "--seconds", "0"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  expect_holds(run.out, "Stopped at n = 16");
  EXPECT_EQ(run.out.find("gru_cell"), std::string::npos);
}

TEST(Bench, WrongArgumentsAreTwoAndAbsentDevicesThree) {
  const ProgramRun rung = bench({"gru_cel", "--device", "cpu"});
  EXPECT_EQ(rung.code, 2);
  expect_holds(rung.err, "gru_cell");
  EXPECT_EQ(bench({"--device", "cpu", "--min-size", "64", "--max-size", "32"}).code, 2);
  EXPECT_EQ(bench({"--device", "no such device"}).code, 3);
  const ProgramRun path = bench({"gemm", "--device", "cpu", "--path", "no_such_path"});
  EXPECT_EQ(path.code, 4);
  expect_holds(path.err, "no_such_path");
}

}  // namespace
}  // namespace parity
