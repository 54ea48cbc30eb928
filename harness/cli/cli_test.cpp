#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/sanitized.hpp"
#include "harness/cli/cli_testing.hpp"
#include "reports/record_log.hpp"

namespace parity {
namespace {

/// More than what stands in records.jsonl before its first record.
constexpr std::uintmax_t plan_bytes = 1000;

/// A quick case on the CPU.
Words quick(const Words& more = {}) {
  Words words = {"run", "--device", "cpu", "--path", "sequential_f32", "--case", "gemm m=5 n=4 k=3 in=f32"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

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
                                    {"devices", "--nosuch"}};
  for (const Words& words : wrong) {
    const ProgramRun run = parity(words);
    std::string line;
    for (const std::string& word : words) line += " " + word;
    EXPECT_EQ(run.code, 2) << "parity" << line << "\n" << run.out << run.err;
    EXPECT_TRUE(run.err.starts_with("parity: ")) << line << "\n" << run.err;
  }
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

TEST(Cli, OutHoldsRecordsJUnitAndSummary) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("deep/results");
  EXPECT_EQ(parity(quick({"--out", out})).code, 0);
  EXPECT_TRUE(std::filesystem::exists(out + "/junit.xml"));
  EXPECT_TRUE(std::filesystem::exists(out + "/summary.md"));
  auto logged = read_record_log(out + "/records.jsonl");
  ASSERT_TRUE(logged) << logged.error().message;
  EXPECT_EQ(logged->records.size(), 1u);

  const ProgramRun again = parity(quick({"--out", out}));
  EXPECT_EQ(again.code, 2);
  expect_holds(again.err, "--append");
  EXPECT_EQ(parity(quick({"--out", out, "--append", "--seed", "2"})).code, 0);
  EXPECT_EQ(read_record_log(out + "/records.jsonl")->records.size(), 2u);

  const ProgramRun report = parity({"report", out + "/records.jsonl", "--junit", "-"});
  EXPECT_EQ(report.code, 0);
  expect_holds(report.out, "tests=\"2\"");
}

TEST(Cli, AWholeRunAfterAnInterruptedOneOfTheSamePlanIsComplete) {
  const ScratchDirectory scratch;
  const std::string records = scratch.file("r/records.jsonl");
  const Words words = {
      "run", "--device", "cpu", "--path", "sequential_f32", "--case", "gemm m={1,2} n=3 k=4"};
  const auto again = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), {"--out", scratch.file("r")});
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(parity(all).code, 0);
    return parity({"report", records}).code;
  };
  ASSERT_EQ(again({}), 0);
  // As a kill leaves it: the second record and the end are not there.
  std::string kept, line;
  std::ifstream whole(records);
  for (int i = 0; i < 2 && std::getline(whole, line); ++i) kept += line + "\n";
  std::ofstream(records) << kept;
  EXPECT_EQ(parity({"report", records}).code, 5);
  EXPECT_EQ(again({"--append", "--seed", "2"}), 5);  // other cases
  EXPECT_EQ(again({"--append"}), 0);
}

TEST(Cli, ReportReadsTornLogsAndRefusesBrokenOnes) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("r");
  ASSERT_EQ(parity(quick({"--out", out})).code, 0);
  std::ofstream(out + "/records.jsonl", std::ios::app) << "{\"schema\":1,\"ca";
  const ProgramRun torn = parity({"report", out + "/records.jsonl"});
  EXPECT_EQ(torn.code, 5);
  expect_holds(torn.err, "torn");
  std::ofstream(out + "/records.jsonl", std::ios::app) << "\n";
  EXPECT_EQ(parity({"report", out + "/records.jsonl"}).code, 2);
  std::ofstream(scratch.file("empty.jsonl"));
  EXPECT_EQ(parity({"report", scratch.file("empty.jsonl")}).code, 4);
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

TEST(Cli, ClosedStreamsAreNotPrintedIntoTheRecords) {
  const ScratchDirectory scratch;
  ProgramOptions closed;
  closed.streams_closed = true;
  EXPECT_EQ(parity(quick({"--out", scratch.file("r")}), closed).code, 5);
  const auto logged = read_record_log(scratch.file("r/records.jsonl"));
  ASSERT_TRUE(logged) << logged.error().message;
  EXPECT_EQ(logged->records.size(), 1u);
  EXPECT_TRUE(logged->note.empty());
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

TEST(Cli, FilesThatCannotBeMadeAreTheUsersMistake) {
  const ScratchDirectory scratch;
  ASSERT_EQ(parity(quick({"--out", scratch.file("r")})).code, 0);
  const ProgramRun run = parity({"report", scratch.file("r/records.jsonl"), "--junit", "/nonexistent/x"});
  EXPECT_EQ(run.code, 2);
  expect_holds(run.err, "/nonexistent/x");
  std::filesystem::create_directories(scratch.file("s/records.jsonl"));
  const ProgramRun taken = parity(quick({"--out", scratch.file("s")}));
  EXPECT_EQ(taken.code, 2);
  EXPECT_EQ(taken.err.find("--append"), std::string::npos) << taken.err;
}

TEST(Cli, AnInterruptFinishesTheCaseAndWritesTheSummaries) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const ScratchDirectory scratch;
    ProgramOptions options;
    options.signal = signal;
    options.signal_when_exists = scratch.file("r/records.jsonl");
    options.signal_when_larger_than = plan_bytes;
    const ProgramRun run =
        parity({"run", "--device", "cpu", "--suite", "ladder", "--out", scratch.file("r")}, options);
    EXPECT_EQ(run.code, 128 + signal) << run.err;
    expect_holds(run.err, "interrupted after");
    EXPECT_TRUE(std::filesystem::exists(scratch.file("r/junit.xml")));
    const auto logged = read_record_log(scratch.file("r/records.jsonl"));
    ASSERT_TRUE(logged) << logged.error().message;
    EXPECT_TRUE(logged->note.empty());
    EXPECT_GE(logged->records.size(), 1u);
    ASSERT_EQ(logged->missing.size(), 1u);
    expect_holds(logged->missing[0], "recorded; the run was interrupted");
    expect_holds(run.out, "INCOMPLETE: ");
    EXPECT_EQ(parity({"report", scratch.file("r/records.jsonl")}).code, 5);
  }
}

TEST(Cli, TheReportOfAKilledRunIsNoPass) {
  const ScratchDirectory scratch;
  const std::string records = scratch.file("r/records.jsonl");
  ProgramOptions options;
  options.signal = SIGKILL;
  options.signal_when_exists = records;
  options.signal_when_larger_than = plan_bytes;
  const Words words = {"run", "--device", "cpu", "--suite", "ladder", "--out", scratch.file("r")};
  ASSERT_EQ(parity(words, options).code, 128 + SIGKILL);
  for (const Words& more : {Words{}, Words{"--junit", "-"}, Words{"--markdown", "-"}}) {
    Words report = {"report", records};
    report.insert(report.end(), more.begin(), more.end());
    const ProgramRun run = parity(report);
    EXPECT_EQ(run.code, 5) << run.err;
    expect_holds(run.out, "recorded; the run was interrupted");
    expect_holds(run.err, "recorded; the run was interrupted");
  }
  // The JUnit file that a later run of the same folder writes says it too.
  ASSERT_EQ(parity(quick({"--out", scratch.file("r"), "--append"})).code, 0);
  std::ifstream junit(scratch.file("r/junit.xml"));
  const std::string text{std::istreambuf_iterator<char>(junit), {}};
  expect_holds(text, "recorded; the run was interrupted");
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
