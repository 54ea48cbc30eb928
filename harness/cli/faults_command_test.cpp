// `parity faults` as its users see it, and the program that makes faulty sources.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/cli_testing.hpp"

namespace parity {
namespace {

ProgramRun faults(Words arguments) {
  arguments.insert(arguments.begin(), "faults");
  return parity(arguments, one_thread());
}

TEST(FaultsCommand, PlantsCountsAndKeepsRecords) {
  const ScratchDirectory scratch;
  const ProgramRun run = faults({"--device", "cpu", "--fault", "rope-", "--seeds", "1", "--healthy", "20",
                                 "--out", scratch.file("out")});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  for (const char* part : {"rope-interleaved", "rope-position-of-batch: the cpu backend has no such kernel",
                           "3 of 3 faults caught", "false alarms: 0 of "})
    expect_holds(run.out, part);
  std::ifstream lines(scratch.file("out/faults.jsonl"));
  int trials = 0, healthy = 0;
  std::string line, last;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    last = json["kind"];
    trials += last == "trial";
    healthy += last == "healthy";
    if (last == "trial") {
      EXPECT_EQ(json["outcome"], "caught") << line;
    }
  }
  EXPECT_EQ(last, "faults_end");
  EXPECT_GE(trials, 3);
  EXPECT_GE(healthy, 5);
  EXPECT_TRUE(std::filesystem::exists(scratch.file("out/faults.md")));
  // Records are not overwritten, and reports come from them alone.
  EXPECT_EQ(faults({"--device", "cpu", "--fault", "rope-", "--out", scratch.file("out")}).code, 2);
  const ProgramRun again = faults({"--from", scratch.file("out/faults.jsonl")});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, run.out);
  // A second file is no filter.
  EXPECT_EQ(faults({"--from", scratch.file("out/faults.jsonl"), scratch.file("out/faults.jsonl")}).code, 2);
}

TEST(FaultsCommand, AMissIsNoSuccess) {
  EXPECT_EQ(faults({"--device", "cpu", "--fault", "reduction-other-order"}).code, 0);
  const ProgramRun blind =
      faults({"--device", "cpu", "--fault", "reduction-other-order", "--withhold-order"});
  EXPECT_EQ(blind.code, 1) << blind.out;
  expect_holds(blind.out, "reduction-other-order: another order is no fault where none is declared");
}

TEST(FaultsCommand, ExitCodesSayWhatWasWrong) {
  EXPECT_EQ(faults({"--seeds", "0"}).code, 2);
  EXPECT_EQ(faults({"--device", "cpu:7"}).code, 3);
  EXPECT_EQ(faults({"--device", "cpu", "--fault", "nothing-like-it"}).code, 4);
  EXPECT_EQ(faults({"--device", "cpu", "--fault", "coopmat-tile-at-zero"}).code, 4);
  EXPECT_EQ(faults({"--from", "/nowhere/faults.jsonl"}).code, 2);
  const ProgramRun list = faults({"--list", "--fault", "barrier"});
  EXPECT_EQ(list.code, 0);
  expect_holds(list.out, "gemm-no-barrier-before-tile");
}

// The device need not be here; where it is, a kernel made from a changed source is caught.
TEST(FaultsCommand, PlantsMutantsOnVulkan) {
  const ProgramRun run =
      faults({"--device", "vulkan:0", "--fault", "rope-interleaved", "--nominal", "--seeds", "1"});
  if (run.code == 3) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  expect_holds(run.out, "1 of 1 faults caught");
}

TEST(Mutator, EndsTheBuildWhenASourceHasMovedOn) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch.path() / "shaders");
  std::ofstream(scratch.file("shaders/a.comp")) << "void main() { x = 1; }\n";
  std::ofstream(scratch.file("faults.txt"))
      << "fault off\nwhat w\ncase gemm\nin vulkan a.comp\n- x = 2;\n+ x = 3;\n";
  const Words words = {"vulkan", scratch.file("shaders"), scratch.file("out"), scratch.file("faults.txt")};
  const ProgramRun moved = run_program(PARITY_MUTATE, words);
  EXPECT_EQ(moved.code, 1);
  expect_holds(moved.err, "fault 'off': the text to change stands 0 times in a.comp, not once");
  std::ofstream(scratch.file("shaders/a.comp")) << "void main() { x = 2; }\n";
  EXPECT_EQ(run_program(PARITY_MUTATE, words).code, 0);
  EXPECT_EQ(contents(scratch.file("out/off/a.comp")), "void main() { x = 3; }\n");
  EXPECT_EQ(contents(scratch.file("out/mutants.txt")), "off a \n");
}

}  // namespace
}  // namespace parity
