// `parity run` on a backend whose driver crashes, hangs and lies; and runs that were killed, and resumed.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <random>

#include "harness/base/sanitized.hpp"
#include "harness/cli/record_testing.hpp"

namespace parity {
namespace {

const std::filesystem::path crashing_module = PARITY_CRASHING_BACKEND;

/// The options that put the crashing backend in the place of the CUDA one.
ProgramOptions crashing() {
  ProgramOptions options = one_thread();
  options.environment.push_back("PARITY_BACKEND_DIR=" + crashing_module.parent_path().string());
  return options;
}

/// A run of one small gemm a fault.
Words faults(const std::string& k, const Words& more = {}) {
  Words words = {"run", "--device",           "cuda:0", "--repeats",
                 "1",   "--no-order-effects", "--case", "gemm m=3 n=4 k=" + k};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(WorkerRun, EveryFaultIsARowAndTheRunGoesOn) {
  const ScratchDirectory scratch;
  const ProgramRun run =
      parity(faults("{101..110}", {"--case-timeout", "2", "--out", scratch.file("r")}), crashing());
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  expect_holds(run.err, "driver: page fault");
  expect_holds(run.err, "driver: hello");
  const std::vector<Record> records = records_in(scratch.file("r"));
  ASSERT_EQ(records.size(), 10u);
  const std::map<int, std::pair<Verdict, std::string>> expected = {
      {102, {Verdict::crash, "was killed by SIGSEGV"}},
      {103, {Verdict::crash, "was killed by SIGABRT"}},
      {104, {Verdict::timeout, "did not finish within 2 s"}},
      {105, {Verdict::crash, "exited with code 0 without a result"}},
      {106, {Verdict::crash, "wrote what is no message, '?garbage'"}},
      {107, {Verdict::crash, "as the kernel does when memory runs out"}},
      {108, {Verdict::crash, "the device was lost (planted)"}},
  };
  for (int k = 101; k <= 110; ++k) {
    const Record& record = records[static_cast<std::size_t>(k) - 101];
    const auto found = expected.find(k);
    EXPECT_EQ(record.verdict, found == expected.end() ? Verdict::pass : found->second.first)
        << record.case_text << ": " << record.reason;
    if (found != expected.end()) expect_holds(record.reason, found->second.second);
    expect_holds(record.repro, record.case_text);
    EXPECT_EQ(record.device.id, "cuda:0");
  }
  EXPECT_EQ(records[1].last_words, std::vector<std::string>{"driver: page fault"});
}

TEST(WorkerRun, MemoryThatRunsOutIsARowAndTheRunGoesOn) {
  if (address_sanitized) GTEST_SKIP() << "the sanitizer's own memory does not fit the limit";
  const ScratchDirectory scratch;
  ProgramOptions options = crashing();
  options.most_data_bytes = std::uint64_t{256} << 20;
  const ProgramRun run = parity(faults("{101,113,110}", {"--out", scratch.file("r")}), options);
  EXPECT_EQ(run.code, 1) << run.err;
  const std::vector<Record> records = records_in(scratch.file("r"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].verdict, Verdict::pass);
  EXPECT_EQ(records[1].verdict, Verdict::crash);
  expect_holds(records[1].reason, "out of host memory");
  expect_holds(records[1].repro, records[1].case_text);
  EXPECT_EQ(records[2].verdict, Verdict::pass);
}

TEST(WorkerRun, ChatterOnStandardOutputIsKeptApart) {
  const ProgramRun run = parity(faults("109", {"--json"}), crashing());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(parse_record_json(run.out.substr(0, run.out.find('\n')))) << run.out;
  expect_holds(run.err, "driver: hello");
}

TEST(WorkerRun, AFailureThatPassesWhenRunAgainIsFlakyAndStaysAFailure) {
  const ScratchDirectory scratch;
  ProgramOptions options = crashing();
  options.environment.push_back("PARITY_TEST_MARK=" + scratch.file("mark"));
  const ProgramRun run =
      parity(faults("{101,102,111,112}", {"--rerun", "2", "--out", scratch.file("r")}), options);
  EXPECT_EQ(run.code, 1) << run.err;
  expect_holds(run.out, "FAILED: 1 pass, 1 fail, 2 crash (2 of the failures flaky)");
  const std::vector<Record> records = records_in(scratch.file("r"));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_TRUE(records[0].reruns.empty());
  // One that fails each time is no flaky one.
  ASSERT_EQ(records[1].reruns.size(), 2u);
  EXPECT_EQ(records[1].reruns[1].verdict, Verdict::crash);
  expect_holds(records[1].reruns[1].reason, "SIGSEGV");
  EXPECT_FALSE(is_flaky(records[1]));
  EXPECT_EQ(records[1].reason.find("flaky"), std::string::npos);
  for (const std::size_t i : {2, 3}) {
    ASSERT_EQ(records[i].reruns.size(), 1u);
    EXPECT_EQ(records[i].reruns[0].verdict, Verdict::pass);
    EXPECT_TRUE(is_flaky(records[i]));
    expect_holds(records[i].reason, "flaky, for run 2 of it passed; the first: ");
  }
  EXPECT_EQ(records[2].verdict, Verdict::crash);
  EXPECT_EQ(records[3].verdict, Verdict::fail);
  EXPECT_GT(records[3].outputs.at(0).judgement.statistics.max_bound_ratio, 1);
  EXPECT_LT(records[3].reruns[0].max_bound_ratio, 1);
  expect_holds(run.out, "run again: pass");

  const auto code = [](const Words& more) { return parity(faults("{101,112}", more), crashing()).code; };
  EXPECT_EQ(code({"--rerun", "1", "--in-process"}), 1);
  EXPECT_EQ(code({"--rerun", "1", "--allow-flaky"}), 0);
  EXPECT_EQ(parity(faults("102", {"--rerun", "1", "--allow-flaky"}), crashing()).code, 1);
}

TEST(WorkerRun, WorkersRecordWhatTheProcessItselfWould) {
  const ScratchDirectory scratch;
  // Order experiments are made once for each shape: a fresh worker has to know of those before it.
  const Words words = {"run",
                       "--device",
                       "cuda:0",
                       "--case",
                       "gemm m=3 n=4 k=1 fill={normal,positive}",
                       "--case",
                       "gemm m=3 n=4 k={10,11} fill={normal,positive,cancelling}"};
  const auto with = [&](const char* directory, Words more, bool here) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--out", scratch.file(directory)});
    if (here) all.emplace_back("--in-process");
    return parity(all, crashing()).code;
  };
  EXPECT_EQ(with("here", {}, true), 0);
  EXPECT_EQ(with("workers", {}, false), 0);
  // k=102 comes in between in the plan of this one; its worker is lost.
  EXPECT_EQ(with("crash", {"--case", "gemm m=3 n=4 k=102", "--case", "gemm m=3 n=4 k=10 seed=9"}, false), 1);
  EXPECT_EQ(with("last", {"--case", "gemm m=3 n=4 k=10 seed=9"}, true), 0);
  const auto here = timeless(records_in(scratch.file("here")));
  EXPECT_EQ(here.size(), 8u);
  EXPECT_TRUE(here == timeless(records_in(scratch.file("workers"))));
  std::vector<Record> crash = records_in(scratch.file("crash"));
  ASSERT_EQ(crash.size(), 10u);
  EXPECT_EQ(crash[8].verdict, Verdict::crash);
  crash.erase(crash.begin() + 8);
  EXPECT_TRUE(timeless(records_in(scratch.file("last"))) == timeless(crash));
}

TEST(WorkerRun, ADriverThatCannotBeOpenedIsFive) {
  const ScratchDirectory scratch;
  std::filesystem::copy_file(crashing_module, scratch.path() / crashing_module.filename());
  std::ofstream(scratch.file("broken")) << "yes";
  ProgramOptions options = crashing();
  options.environment.back() = "PARITY_BACKEND_DIR=" + scratch.path().string();
  const ProgramRun run = parity(faults("1", {"--out", scratch.file("r")}), options);
  EXPECT_EQ(run.code, 5);
  for (const char* part : {"given up", "3 workers in a row", "SIGSEGV"}) expect_holds(run.err, part);
}

TEST(WorkerRun, DevicesWorkSideBySideIntoOneRecord) {
  const ScratchDirectory scratch;
  const ProgramRun run = parity({"run", "--device", "cuda:0", "--device", "cuda:1", "--repeats", "1",
                                 "--case", "gemm m=3 n=4 k={1,102,10}", "--out", scratch.file("r")},
                                crashing());
  EXPECT_EQ(run.code, 1) << run.err;
  std::map<std::string, int> passes, crashes;
  for (const Record& record : records_in(scratch.file("r")))
    ++(record.verdict == Verdict::pass ? passes : crashes)[record.device.id];
  EXPECT_EQ(passes, (std::map<std::string, int>{{"cuda:0", 2}, {"cuda:1", 2}}));
  EXPECT_EQ(crashes, (std::map<std::string, int>{{"cuda:0", 1}, {"cuda:1", 1}}));
}

// PARITY_TEST_KILLS=100: so many moments in place of four.
TEST(Resume, KilledAtAnyMomentItGoesOnAndNothingIsLostOrDoneTwice) {
  const ScratchDirectory scratch;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(parity(with(twelve(), {"--out", scratch.file("whole")}), one_thread()).code, 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto whole = timeless(records_in(scratch.file("whole")));
  ASSERT_EQ(whole.size(), 12u);
  const char* asked = std::getenv("PARITY_TEST_KILLS");
  const int kills = asked ? std::atoi(asked) : 4;
  std::mt19937 moments(std::random_device{}());
  int nowhere = 0, between = 0, ended = 0;
  for (int i = 0; i < kills; ++i) {
    const std::string directory = scratch.file("killed" + std::to_string(i));
    const std::string records = directory + "/records.jsonl";
    ProgramOptions options = one_thread();
    options.signal = SIGKILL;
    options.signal_after = std::uniform_real_distribution<>(0, took.count())(moments);
    const int code = parity(with(twelve(), {"--out", directory}), options).code;
    ASSERT_TRUE(code == 128 + SIGKILL || code == 0) << code;
    LoggedRecords before;
    if (std::filesystem::exists(records)) {
      auto logged = read_record_log(records);
      ASSERT_TRUE(logged) << logged.error().message;
      before = *std::move(logged);
    }
    const std::size_t recorded = before.records.size();
    ++(recorded == 0 ? nowhere : recorded == 12 ? ended : between);
    // As docs/device_tester.md has it: where nothing was begun there is nothing to resume.
    const bool begun = std::filesystem::exists(records) && std::filesystem::file_size(records) > 0;
    const ProgramRun resumed =
        parity(with(twelve(), {begun ? "--resume" : "--out", directory}), one_thread());
    ASSERT_EQ(resumed.code, 0) << "killed after " << options.signal_after << " s: " << resumed.err;
    if (begun) expect_holds(resumed.err, std::to_string(recorded) + " of 12 cases are recorded");
    const auto after = read_record_log(records);
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_TRUE(after->missing.empty()) << after->missing.front();
    EXPECT_TRUE(timeless(after->records) == whole);
    // What was there is there still, in its place.
    for (std::size_t n = 0; n < recorded; ++n)
      EXPECT_EQ(to_json_line(before.records[n]), to_json_line(after->records[n]));
    EXPECT_EQ(parity({"report", records}).code, 0);
  }
  std::printf("%d kills: %d before the first record, %d between records, %d behind the last\n", kills,
              nowhere, between, ended);
}

TEST(Resume, ATornLastLineIsCutOffAndSaid) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("r"), records = out + "/records.jsonl";
  ASSERT_EQ(parity(with(twelve(), {"--out", out}), one_thread()).code, 0);
  const std::string text = contents(records);
  std::ofstream(records, std::ios::trunc) << text.substr(0, text.size() / 2);
  const ProgramRun resumed = parity(with(twelve(), {"--resume", out}), one_thread());
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_holds(resumed.err, "the last line was torn");
  EXPECT_EQ(records_in(out).size(), 12u);
  // Once more: there is nothing left to do, and the verdict is that of all cases.
  const ProgramRun again = parity(with(twelve(), {"--resume", out}), one_thread());
  EXPECT_EQ(again.code, 0) << again.err;
  expect_holds(again.err, "12 of 12 cases are recorded");
  expect_holds(again.out, "passed: 12 pass");
}

TEST(Resume, AnotherRunIsRefusedAndTheDifferenceNamed) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("r");
  ASSERT_EQ(parity(with(twelve(), {"--out", out}), one_thread()).code, 0);
  const std::string before = contents(out + "/records.jsonl");
  const std::vector<std::pair<Words, std::string>> others = {
      {with(twelve(), {"--repeats", "2"}), "the options: --repeats 3 --no-order-effects then, --repeats 2 "},
      {with(twelve(), {"k=30"}), "the filter: none then, k=30 now"},
      {with(twelve(), {"--seed", "5"}), "is recorded and not planned"},
      {with(twelve(), {"--case", "gemm m=9 n=9 k=9"}), "the cases: 12 then, 13 now"},
      {{"run", "--device", "cpu"}, "the suite: none then, smoke now"},
  };
  for (const auto& [words, part] : others) {
    const ProgramRun run = parity(with(words, {"--resume", out}), one_thread());
    EXPECT_EQ(run.code, 2) << run.err;
    expect_holds(run.err, part);
  }
  EXPECT_EQ(contents(out + "/records.jsonl"), before);
  const ProgramRun none = parity(with(twelve(), {"--resume", scratch.file("nothing")}));
  EXPECT_EQ(none.code, 2);
  expect_holds(none.err, "there is no run to resume");
}

TEST(Resume, TwoRunsOnOneFolderAreOneTooMany) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("r");
  ASSERT_EQ(parity(with(twelve(), {"--out", out}), one_thread()).code, 0);
  const auto log = RecordLog::open(out + "/records.jsonl", RecordLog::Mode::append);
  ASSERT_TRUE(log);
  for (const char* how : {"--out", "--resume"}) {
    const ProgramRun run = parity(with(twelve(), {how, out}), one_thread());
    EXPECT_EQ(run.code, 2);
    expect_holds(run.err, "another run is writing this file");
  }
}

TEST(Resume, ADiskThatFillsUpIsSaidAndWhatIsRecordedStays) {
  const ScratchDirectory scratch;
  const std::string out = scratch.file("r"), records = out + "/records.jsonl";
  ProgramOptions small = one_thread();
  small.most_file_bytes = 20000;
  const ProgramRun full = parity(with(twelve(), {"--out", out}), small);
  EXPECT_EQ(full.code, 5) << full.err;
  expect_holds(full.err, records + ": a record could not be written");
  const auto before = read_record_log(records);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->note, "");
  EXPECT_GT(before->records.size(), 0u);
  EXPECT_LT(before->records.size(), 12u);
  EXPECT_EQ(parity(with(twelve(), {"--resume", out}), one_thread()).code, 0);
  EXPECT_EQ(records_in(out).size(), 12u);
}

/// A disk of its own, as the user of a namespace may mount one; `script` finds it as $disk, the program as
/// $parity and the options of twelve() as "$@".
std::optional<ProgramRun> on_a_small_disk(const ScratchDirectory& scratch, const std::string& script) {
  std::filesystem::create_directory(scratch.file("disk"));
  const auto shell = [&](const std::string& text) {
    Words words = {"-rm", "sh", "-c", "mount -t tmpfs -o size=24k none \"$disk\" || exit 77\n" + text, "sh"};
    ProgramOptions options = one_thread();
    options.environment.push_back("disk=" + scratch.file("disk"));
    options.environment.push_back(std::string("parity=") + PARITY_PROGRAM);
    return run_program("/usr/bin/unshare", with(words, twelve()), options);
  };
  if (shell("true").code != 0) return std::nullopt;
  return shell(script);
}

TEST(Resume, AFullDiskIsSaidAndTheRunGoesOnWhenThereIsRoom) {
  const ScratchDirectory scratch;
  const auto run = on_a_small_disk(scratch, R"("$parity" "$@" --out "$disk/r"; echo "full: $?"
cp "$disk/r/records.jsonl" "$disk/../full.jsonl"
mount -o remount,size=4m "$disk"
"$parity" "$@" --resume "$disk/r"; echo "room: $?"
cp "$disk/r/records.jsonl" "$disk/../room.jsonl"
)");
  if (!run) GTEST_SKIP() << "no disk can be mounted here: the full disk was not tested";
  expect_holds(run->out, "full: 5");
  expect_holds(run->err, "records.jsonl: a record could not be written: No space left on device");
  expect_holds(run->out, "room: 0");
  const auto full = read_record_log(scratch.file("full.jsonl")),
             room = read_record_log(scratch.file("room.jsonl"));
  ASSERT_TRUE(full) << full.error().message;
  ASSERT_TRUE(room) << room.error().message;
  EXPECT_EQ(full->note, "");
  ASSERT_GT(full->records.size(), 0u);
  ASSERT_LT(full->records.size(), 12u);
  ASSERT_EQ(room->records.size(), 12u);
  for (std::size_t n = 0; n < full->records.size(); ++n)
    EXPECT_EQ(to_json_line(full->records[n]), to_json_line(room->records[n]));
}

TEST(Resume, AReadOnlyFolderIsNamedAndStaysAsItWas) {
  const ScratchDirectory scratch;
  const auto run = on_a_small_disk(scratch, R"(mount -o remount,size=4m "$disk"
"$parity" "$@" --out "$disk/r" || exit 1
cp "$disk/r/records.jsonl" "$disk/../before"
mount -o remount,ro "$disk"
for how in "--out $disk/r" "--resume $disk/r" "--out $disk/new" "--out $disk/r --append"; do
  "$parity" "$@" $how; echo "$how: $?" >&2
done
cmp "$disk/r/records.jsonl" "$disk/../before" && echo same
"$parity" report "$disk/r/records.jsonl" && echo readable
)");
  if (!run) GTEST_SKIP() << "no disk can be mounted here: the read-only folder was not tested";
  for (const char* how : {"r: 2", "--resume", "new: 2", "--append: 2", "Read-only file system"})
    expect_holds(run->err, how);
  EXPECT_EQ(run->err.find(": 0"), std::string::npos) << run->err;
  expect_holds(run->out, "same\n");
  expect_holds(run->out, "readable\n");
}

TEST(Resume, AFolderThatCannotBeWrittenIsNamed) {
  // Root may write anywhere but there.
  const ProgramRun run = parity(with(twelve(), {"--out", "/proc/self/parity"}));
  EXPECT_EQ(run.code, 2);
  expect_holds(run.err, "/proc/self/parity");
}

}  // namespace
}  // namespace parity
