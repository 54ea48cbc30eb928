#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/sanitized.hpp"
#include "harness/cli/cli_testing.hpp"
#include "reports/record_log.hpp"

namespace parity {
namespace {

TEST(Cli, HelpTeachesAndSucceeds) {
  const ProgramRun help = parity({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* part : {"devices", "list", "run", "compare", "report", "bench", "Examples:", "Exit codes"})
    expect_holds(help.out, part);
  for (const char* command : {"devices", "list", "run", "compare", "report"}) {
    const ProgramRun run = parity({command, "--help"});
    EXPECT_EQ(run.code, 0) << command;
    EXPECT_GT(run.out.size(), 300u) << command;
  }
  const ProgramRun version = parity({"--version"});
  EXPECT_EQ(version.code, 0);
  expect_holds(version.out, "commit ");
}

TEST(Cli, BadUsageIsTwo) {
  const std::vector<Words> wrong = {{},
                                    {"nosuch"},
                                    {"run", "--nosuch"},
                                    {"run", "--suite", "nosuch"},
                                    {"run", "--suite", "/nonexistent.txt"},
                                    {"run", "--suite", "/"},
                                    {"run", "--case", "nosuch m=1"},
                                    {"run", "--case", "gemm m=1"},
                                    {"run", "--case", "gemm m=1 n=1 k=x"},
                                    {"run", "--case", "gemm m=1 n=1 k={1,2"},
                                    {"run", "--case", "gemm m=1 n=1 k=1 fill=nosuch"},
                                    {"run", "--path", "nosuch"},
                                    {"run", "--path", ""},
                                    {"run", "--out", ""},
                                    {"run", "--device", ""},
                                    {"run", "--case", ""},
                                    {"run", "--suite", "/dev/zero"},
                                    {"run", "--case", "gemm m={1..99999999} n=1 k=1"},
                                    {"run", "--seed", "abc"},
                                    {"run", "--seed", "-1"},
                                    {"run", "--repeats", "0"},
                                    {"run", "--timeout", "-1"},
                                    {"run", "--nan", "perhaps"},
                                    {"run", "--append"},
                                    {"run", "--input", "A"},
                                    {"run", "gemm", "--input", "A=/nonexistent.npy"},
                                    {"run", "--input", "A=/nonexistent.npy"},
                                    {"compare"},
                                    {"compare", "a.npy", "b.npy"},
                                    {"compare", "a.npy", "b.npy", "--op", "nosuch"},
                                    {"report"},
                                    {"report", "/nonexistent.jsonl"},
                                    {"report", "/dev/zero"},
                                    {"faults", "--from", "/dev/zero"},
                                    {"devices", "--nosuch"}};
  for (const Words& words : wrong) {
    const ProgramRun run = parity(words);
    std::string line;
    for (const std::string& word : words) line += " " + word;
    EXPECT_EQ(run.code, 2) << "parity" << line << "\n" << run.out << run.err;
    EXPECT_TRUE(run.err.starts_with("parity: ")) << line << "\n" << run.err;
  }
}

/// No limit that is nan is ever exceeded.
TEST(Cli, NanIsNoNumber) {
  const Words nowhere = {"--device", "none"};  // so that what accepts it ends soon
  const auto refuses = [](Words words, const std::string& option) {
    words.insert(words.end(), {option, "nan"});
    const ProgramRun run = parity(words);
    EXPECT_EQ(run.code, 2) << words[0];
    expect_holds(run.err, option + ": nan is no FLOAT");
  };
  for (const std::string command : {"run", "probe", "bisect", "faults", "bench"}) {
    Words words = {command};
    if (command == "bisect") words.emplace_back("gemm m=1 n=1 k=1");
    words.insert(words.end(), nowhere.begin(), nowhere.end());
    refuses(words, "--timeout");
    if (command == "run") refuses(words, "--case-timeout");
    if (command == "bench") refuses(words, "--seconds");
  }
  for (const std::string option : {"--chance", "--smallest", "--slower"})
    refuses({"history", "h.db"}, option);
}

TEST(Cli, UnknownDeviceIsThreeAndListsWhatIsHere) {
  for (const Words& words : {Words{"run", "--device", "nosuch"}, Words{"devices", "--device", "cpu:7"}}) {
    const ProgramRun run = parity(words);
    EXPECT_EQ(run.code, 3);
    expect_holds(run.err, "cpu:0");
  }
}

TEST(Cli, AbsentModulesAreSaidAndNoFailure) {
  const ScratchDirectory empty;
  const ProgramOptions nowhere{{"PARITY_BACKEND_DIR=" + empty.path().string()}, false, "", {}, 0};
  const ProgramRun devices = parity({"devices"}, nowhere);
  EXPECT_EQ(devices.code, 0);
  expect_holds(devices.out, "vulkan: absent: ");
  expect_holds(devices.out, "cuda: absent: ");
  EXPECT_EQ(parity({"run", "--device", "vulkan"}, nowhere).code, 3);

  // A file that is no module is refused with the reason.
  std::ofstream(empty.file("libparity_vulkan.so")) << "not a library";
  const ProgramRun broken = parity({"devices"}, nowhere);
  EXPECT_EQ(broken.code, 0);
  expect_holds(broken.out, "vulkan: absent: cannot be loaded");
}

TEST(Cli, NothingToJudgeIsFour) {
  const ProgramRun filter = parity({"run", "nothing_fits_this", "--device", "cpu"});
  EXPECT_EQ(filter.code, 4);
  expect_holds(filter.err, "nothing_fits_this");
  EXPECT_EQ(parity({"list", "nothing_fits_this"}).code, 4);

  // A forced path in another precision is a row with the reason, not a silent replacement.
  const ProgramRun forced =
      parity({"run", "--device", "cpu", "--path", "sequential_f32", "--case", "gemm m=2 n=2 k=2 in=f16"});
  EXPECT_EQ(forced.code, 4) << forced.out << forced.err;
  expect_holds(forced.out, "unsupported");
  expect_holds(forced.out, "NOTHING JUDGED");
}

TEST(Cli, ARunOfEmptyResultsAloneIsFour) {
  const Words empty = {"run",    "--device",         "cpu",    "--path",          "sequential_f32",
                       "--case", "gemm m=0 n=0 k=0", "--case", "gemm m=0 n=3 k=4"};
  const ProgramRun alone = parity(empty);
  EXPECT_EQ(alone.code, 4) << alone.out << alone.err;
  expect_holds(alone.out, "NOTHING JUDGED: 2 pass");
  expect_holds(alone.out, "no element was compared");
  Words lines = empty;
  lines.emplace_back("--json");
  const ProgramRun json = parity(lines);
  EXPECT_EQ(json.code, 4);
  expect_holds(json.err, "no element was compared");
  Words beside = empty;
  beside.insert(beside.end(), {"--case", "gemm m=1 n=1 k=1"});
  const ProgramRun judged = parity(beside);
  EXPECT_EQ(judged.code, 0) << judged.out;
  expect_holds(judged.out, "passed: 3 pass");
}

TEST(Cli, APassIsZeroAndShowsTheTable) {
  const ProgramRun run = parity(quick());
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  for (const char* part : {"cpu:0", "err/bound", "cos_sim", "end to end", "sequential_f32", "passed: 1 pass",
                           "norm ratio", "run to run: same bits"})
    expect_holds(run.out, part);
  EXPECT_EQ(run.out.find('\033'), std::string::npos);
}

TEST(Cli, SeedReplacesTheCasesOwn) {
  const ProgramRun run = parity(quick({"--seed", "77", "--json"}));
  EXPECT_EQ(run.code, 0);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["case"], "gemm m=5 n=4 k=3 in=f32 acc=f32 out=f32 fill=normal seed=77");
  EXPECT_EQ(json["verdict"], "pass");
  EXPECT_NE(json["provenance"]["commit"], "");
}

TEST(Cli, CasesLargerThanAskedForAreLeftOutAndThatIsSaid) {
  const Words two = {"run",
                     "--device",
                     "cpu",
                     "--path",
                     "sequential_f32",
                     "--case",
                     "gemm m=2 n=2 k={2,4}",
                     "--no-order-effects",
                     "--json"};
  const auto with = [&](const char* most) {
    Words words = two;
    words.insert(words.end(), {"--max-flops", most});
    return parity(words);
  };
  EXPECT_EQ(parity(two).out.find("--max-flops"), std::string::npos);
  const ProgramRun one = with("16");  // 2 m n k operations: 16 and 32
  EXPECT_EQ(one.code, 0) << one.err;
  expect_holds(one.err, "--max-flops 16 leaves out 1 of 2 cases, among them gemm m=2 n=2 k=4");
  expect_holds(one.out, "gemm m=2 n=2 k=2 ");
  EXPECT_EQ(one.out.find("gemm m=2 n=2 k=4 "), std::string::npos);
  expect_holds(one.out, "--max-flops 16");  // the record says which cases were asked for
  EXPECT_EQ(with("1").code, 4);
  for (const char* none : {"-1", "0", "nan"}) {
    const ProgramRun refused = with(none);
    EXPECT_EQ(refused.code, 2) << none;
    expect_holds(refused.err, "--max-flops");
  }
}

TEST(Cli, TheReproLineGivesTheSameInputBits) {
  const auto hashes = [](const std::string& text) {
    return nlohmann::json::parse(
               parity({"run", "--device", "cpu", "--path", "sequential_f32", "--json", "--case", text}).out)
        .at("input_hashes");
  };
  const auto first = hashes("gemm n=4 m=5 k=3 seed=9");
  EXPECT_EQ(first, hashes("gemm m=5 n=4 k=3 in=f32 acc=f32 out=f32 fill=normal seed=9"));
  EXPECT_NE(first, hashes("gemm m=5 n=4 k=3 seed=10"));
}

TEST(Cli, JsonOfDevicesAndList) {
  const auto devices = nlohmann::json::parse(parity({"devices", "--json", "--device", "cpu"}).out);
  EXPECT_EQ(devices["devices"][0]["id"], "cpu:0");
  EXPECT_EQ(devices["devices"][0]["paths"][0]["legal"], true);
  const auto list = nlohmann::json::parse(parity({"list", "--json"}).out);
  EXPECT_EQ(list["rungs"][0]["stage"], "gemm");
  const auto smoke = std::find_if(list["suites"].begin(), list["suites"].end(),
                                  [](const auto& suite) { return suite["name"] == "smoke"; });
  ASSERT_NE(smoke, list["suites"].end());
  EXPECT_GT((*smoke)["cases"].size(), 50u);
}

TEST(Cli, ListNamesTheInputsThatCanBeBrought) {
  const std::string out = parity({"list", "linear"}).out;
  expect_holds(out, "--input    X, W, bias");
  expect_holds(parity({"list", "adamw"}).out, "--input    p, g, m, v, correction");
}

TEST(Cli, ASuiteFileAndItsErrors) {
  const ScratchDirectory scratch;
  std::ofstream(scratch.file("own.txt")) << "# mine\ngemm m={1,2} n=3 k=4 in=f32\n\n";
  const ProgramRun run =
      parity({"run", "--device", "cpu", "--suite", scratch.file("own.txt"), "--path", "pairwise_f32"});
  EXPECT_EQ(run.code, 0) << run.err;
  expect_holds(run.out, "passed: 2 pass");
  std::ofstream(scratch.file("bad.txt")) << "gemm m=1 n=1 k=1\ngemm m=1 q=2\n";
  const ProgramRun bad = parity({"run", "--suite", scratch.file("bad.txt")});
  EXPECT_EQ(bad.code, 2);
  expect_holds(bad.err, "bad.txt:2:");
}

TEST(Cli, AClosedPipeIsNoCrash) {
  ProgramOptions gone;
  gone.reader_gone = true;
  EXPECT_EQ(parity({"list"}, gone).code, 0);
  EXPECT_EQ(parity(quick(), gone).code, 0);
}

TEST(Cli, AFullDiskIsFive) {
  ProgramOptions full;
  full.stdout_file = "/dev/full";
  EXPECT_EQ(parity({"list"}, full).code, 5);
  // Here the write that fails is long past when the program ends.
  EXPECT_EQ(parity({"list", "--json"}, full).code, 5);
  EXPECT_EQ(parity(quick({"--json"}), full).code, 5);
}

TEST(Cli, AnUnknownCommandIsNamed) {
  const ProgramRun run = parity({"rnu"});
  EXPECT_EQ(run.code, 2);
  expect_holds(run.err, "no command is called 'rnu'");
}

TEST(Cli, ACaseThatDoesNotFitInMemoryIsUnsupported) {
  for (const char* text : {"gemm m=16777216 n=16777216 k=16777216", "gemm m=1048576 n=1048576 k=1",
                           "gemm m=1 n=1 k=16777216 batch=16777216"}) {
    const ProgramRun run = parity({"run", "--device", "cpu", "--path", "sequential_f32", "--case", text});
    EXPECT_EQ(run.code, 4) << run.out << run.err;
    expect_holds(run.out, "GiB of host memory");
    expect_holds(run.out, "1 unsupported");
  }
}

TEST(Cli, ACaseThatDoesNotFitTheDataLimitIsUnsupportedAndTheRunGoesOn) {
  if (address_sanitized) GTEST_SKIP() << "the sanitizer's own memory does not fit the limit";
  const ScratchDirectory scratch;
  ProgramOptions options;
  options.most_data_bytes = std::uint64_t{160} << 20;
  options.environment = {"OMP_NUM_THREADS=1"};
  const ProgramRun run =
      parity({"run", "--device", "cpu", "--path", "sequential_f32", "--out", scratch.file("r"), "--case",
              "gemm m=2000 n=2000 k=1 in=f32", "--case", "gemm m=5 n=4 k=3 in=f32"},
             options);
  EXPECT_EQ(run.code, 0) << run.err;
  expect_holds(run.out, "GiB of host memory");
  expect_holds(run.out, "1 pass, 1 unsupported");
  const auto logged = read_record_log(scratch.file("r/records.jsonl"));
  ASSERT_TRUE(logged) << logged.error().message;
  EXPECT_EQ(logged->records.size(), 2u);
  EXPECT_TRUE(logged->missing.empty());
}

TEST(Cli, BenchPassesArgumentsOrSaysThatItWasNotBuilt) {
  const ProgramRun run = parity({"bench", "harness", "--help"});
  const bool built =
      std::filesystem::exists(std::filesystem::path(PARITY_PROGRAM).parent_path() / "parity-bench");
  EXPECT_EQ(run.code, built ? 0 : 2) << run.err;
  if (!built) expect_holds(run.err, "was not built");
}

}  // namespace
}  // namespace parity
