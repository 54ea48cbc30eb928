// `parity bisect` as its users see it, with git too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/bisect/trace_writer.hpp"
#include "harness/cli/cli_testing.hpp"

namespace parity {
namespace {

const char* const overflowing = "linear m=5 n=7 k=64 in=f16 out=f16 fill=overflow";

ProgramRun bisect(Words arguments) {
  arguments.insert(arguments.begin(), "bisect");
  return parity(arguments, one_thread());
}

TEST(BisectCommand, NothingWrongIsZero) {
  const ProgramRun run =
      bisect({"gru_cell batch=3 inputs=4 hidden=5 variant=reset_before", "--device", "cpu"});
  EXPECT_EQ(run.code, 0) << run.err;
  expect_holds(run.out, "nothing is wrong");
  expect_holds(run.out, "2 runs");
}

TEST(BisectCommand, AnOverflowIsOneAndItsInputsAreKept) {
  const ScratchDirectory scratch;
  const ProgramRun run = bisect(
      {overflowing, "--device", "cpu", "--path", "sequential_f16_f32", "--out", scratch.file("found")});
  EXPECT_EQ(run.code, 1) << run.err;
  expect_holds(run.out, "overflow at the store");
  expect_holds(run.out, "the largest is 65504");
  std::ifstream file(scratch.file("found/bisect.json"));
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["result"], "not_finite");
  EXPECT_EQ(json["producer"]["op"], "linear");
  // The producer runs again on the inputs that were kept.
  const std::string kept = scratch.file("found/producer.safetensors:");
  const ProgramRun again =
      bisect({"linear in=f16 out=f16", "--input", "X=" + kept + "X", "--input", "W=" + kept + "W", "--input",
              "bias=" + kept + "bias", "--device", "cpu", "--path", "sequential_f16_f32", "--json"});
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out)["producer"]["index"], json["producer"]["index"]);
}

/// What the line after `title` says, as words without the first, the program's name.
Words command_after(const std::string& text, const std::string& title) {
  const std::size_t at = text.find(title);
  EXPECT_NE(at, std::string::npos) << text;
  if (at == std::string::npos) return {};
  std::istringstream line(text.substr(at + title.size(), text.find('\n', at) - at - title.size()));
  Words words;
  for (std::string word; line >> word;) words.push_back(word);
  EXPECT_EQ(words.at(0), "parity");
  words.erase(words.begin());
  return words;
}

// gru_gates has no rung of its own; the line that is printed runs it alone, faulty and healthy.
TEST(BisectCommand, TheProducerRunsAloneByThePrintedLine) {
  const ScratchDirectory scratch;
  const std::string found = scratch.file("found");
  const ProgramRun run = bisect({"gru_cell batch=3 inputs=17 hidden=33", "--device", "cpu", "--path",
                                 "sequential_f32", "--fault", "gru-cell-blend-swapped", "--out", found});
  ASSERT_EQ(run.code, 1) << run.out << run.err;
  expect_holds(run.out, "gru_gates on sequential_f32");
  const std::string where = run.out.substr(run.out.find("cause"), 80);
  Words again = command_after(run.out, "  again       ");
  const ProgramRun alone = parity(again, one_thread());
  EXPECT_EQ(alone.code, 1) << alone.out << alone.err;
  expect_holds(alone.out, where);
  expect_holds(alone.out, "1 calls x 1 steps");
  while (again.back() != "--fault") again.pop_back();
  again.pop_back();
  EXPECT_EQ(parity(again, one_thread()).code, 0);  // another build's kernel, say
  // Without a device the saved result is judged.
  EXPECT_EQ(bisect({found}).code, 1);
  EXPECT_EQ(bisect({found, "--device", "cpu", "--path", "sequential_f16_f32"}).code, 4);
  EXPECT_EQ(bisect({found, "--device", "cpu", "--input", "X=x.npy"}).code, 2);
}

// The device need not be here; where it is, a kernel made from a changed source is blamed by name.
TEST(BisectCommand, BlamesMutantsOnVulkan) {
  struct Planted {
    const char *fault, *text, *op, *path;
  };
  const Planted planted[] = {
      {"gemm-last-term-lost", "gemm m=33 n=47 k=65", "gemm", "tiled_f32"},
      {"gru-cell-gate-order", "gru_cell batch=3 inputs=17 hidden=33", "gru_gates", "direct_f32"},
      {"norm-no-weight", "rms_norm rows=3 cols=17", "rms_norm", "direct_f32"},
      {"rope-inverse", "qk_norm batch=3 seq=5 heads=3 head_dim=20 rotary=14", "rope", "direct_f32"},
      {"attention-mask-one-far", "attention batch=1 seq=7 heads=2 kv_heads=1 head_dim=17", "attention",
       "direct_f32"},
      {"adamw-decays-update", "adamw rows=3 cols=33", "adamw", "direct_f32"},
  };
  for (const Planted& p : planted) {
    const ProgramRun run = bisect(
        {p.text, "--device", "vulkan:0", "--path", p.path, "--fault", p.fault, "--repeats", "1", "--json"});
    if (run.code == 3) GTEST_SKIP() << run.err;
    ASSERT_EQ(run.code, 1) << p.fault << run.out << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out)["producer"]["op"], p.op) << p.fault << run.out;
  }
  // The other device is right, whatever its order of summation.
  const Words beside = {planted[1].text, "--device", "vulkan:0", "--against", "pairwise_f32@cpu", "--json"};
  EXPECT_EQ(nlohmann::json::parse(bisect(beside).out)["result"], "noise");
  Words faulty = beside;
  faulty.insert(faulty.end(), {"--fault", planted[1].fault});
  const auto json = nlohmann::json::parse(bisect(faulty).out);
  EXPECT_EQ(json["result"], "diverges");
  EXPECT_EQ(json["first_producer"]["op"], planted[1].op);
  EXPECT_FALSE(json.contains("second_producer"));
}

TEST(BisectCommand, WhatCannotBeJudged) {
  EXPECT_EQ(bisect({"gemm m=4 n=4 k=4"}).code, 2);
  EXPECT_EQ(bisect({"gemm", "--device", "cpu"}).code, 2);
  EXPECT_EQ(bisect({"gemm m=4 n=4 k=4", "--device", "nosuch"}).code, 3);
  EXPECT_EQ(bisect({"gemm m=4 n=4 k=4", "--device", "cpu", "--path", "sequential_f16_f32"}).code, 4);
  EXPECT_EQ(bisect({"gemm m=4 n=4 k=4", "--device", "nosuch", "--git"}).code, 125);
  EXPECT_EQ(bisect({overflowing, "--device", "cpu", "--path", "sequential_f16_f32", "--git"}).code, 1);
  EXPECT_EQ(parity({"run", "--case", "gemm m=4 n=4 k=4", "--device", "nosuch", "--git"}).code, 125);
  EXPECT_EQ(parity({"run", "nosuchcase", "--device", "cpu", "--git"}).code, 125);
  EXPECT_EQ(parity({"run", "--case", "gemm m=4 n=4 k=4", "--device", "cpu", "--git"}, one_thread()).code, 0);
}

TEST(BisectCommand, AgainstTellsNoiseFromADivergence) {
  const std::string attention = "attention batch=3 seq=7 heads=4 kv_heads=2 head_dim=17 mask=y";
  const Words sides = {attention, "--device", "cpu", "--path", "sequential_f32", "--against"};
  const auto with = [&](Words more) {
    Words words = sides;
    words.insert(words.end(), more.begin(), more.end());
    return bisect(words);
  };
  const ProgramRun noise = with({"pairwise_f32@cpu:0"});
  EXPECT_EQ(noise.code, 0) << noise.err;
  expect_holds(noise.out, "noise: bits differ");
  expect_holds(noise.out, "of what both contracts allow");
  expect_holds(with({"sequential_f32"}).out, "equal bits; both sides are the same kernels");
  const ScratchDirectory scratch;
  const ProgramRun wrong = with(
      {"pairwise_f32", "--fault", "attention-finite-sentinel", "--json", "--out", scratch.file("found")});
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  const auto json = nlohmann::json::parse(wrong.out);
  EXPECT_EQ(json["result"], "diverges");
  EXPECT_EQ(json["divergence"]["op"], "attention");
  EXPECT_EQ(json["first_producer"]["path"], "sequential_f32");
  EXPECT_FALSE(json.contains("second_producer"));
  EXPECT_TRUE(std::filesystem::exists(scratch.file("found/producer.safetensors")));
  EXPECT_EQ(with({"nosuch"}).code, 4);
  EXPECT_EQ(with({"nosuch", "--git"}).code, 125);
  EXPECT_EQ(with({"pairwise_f32@nosuch"}).code, 3);
  EXPECT_EQ(with({"pairwise_f32", "--scans-only"}).code, 2);
  EXPECT_EQ(with({"pairwise_f32", "--fault", "nosuch"}).code, 2);
  EXPECT_EQ(bisect({scratch.file("found"), "--against", "pairwise_f32"}).code, 2);
}

TEST(BisectCommand, WhatIsPlantedOrSetIsFound) {
  const ProgramRun planted =
      bisect({"gemm m=5 n=7 k=9", "--device", "cpu", "--plant", "D[4, 6] times nan", "--repeats", "1"});
  EXPECT_EQ(planted.code, 1) << planted.err;
  expect_holds(planted.out, "'D'[4, 6]");
  const ProgramRun set = bisect({"gemm m=5 n=7 k=9", "--device", "cpu", "--set", "A[1, *] = 1e30", "--set",
                                 "B[*, 2] = 1e9", "--repeats", "1"});
  EXPECT_EQ(set.code, 1) << set.err;
  expect_holds(set.out, "'D'[1, 2]");
  EXPECT_EQ(bisect({"gemm m=5 n=7 k=9", "--device", "cpu", "--set", "Z[0] = 1"}).code, 2);
  EXPECT_EQ(bisect({"gemm m=5 n=7 k=9", "--device", "cpu", "--plant", "Z unwritten"}).code, 2);
}

TEST(BisectCommand, AListOfScenarios) {
  const ScratchDirectory scratch;
  const std::string one =
      "scenario one\n what w\n case gemm m=5 n=7 k=9\n plant D[4, 6] times nan\n finds not_finite\n op gemm\n"
      " cause the kernel\n element 4, ";
  const auto run = [&](const std::string& text) {
    std::ofstream(scratch.file("list")) << text;
    return bisect({scratch.file("list"), "--device", "cpu", "--out", scratch.file("out")});
  };
  const ProgramRun right = run(one + "6\n");
  EXPECT_EQ(right.code, 0) << right.err;
  expect_holds(right.out, "1 scenarios, 1 right, 0 wrong");
  expect_holds(contents(scratch.file("out/bisect.md")), "| one | right | not");
  const ProgramRun wrong = run(one + "5\n");
  EXPECT_EQ(wrong.code, 1) << wrong.err;
  expect_holds(wrong.out, "the element is [4, 5]");
  EXPECT_EQ(run(one + "5\n missed cpu it is a test\n").code, 4);
  EXPECT_EQ(run(one + "6\n not cpu no such thing\n").code, 4);
  EXPECT_EQ(run(one + "x\n").code, 2);
  // Of a race much is right, but not another op.
  const std::string race =
      "scenario r\n what w\n fault attention-mask-one-far\n race 2\n cause wrong value\n";
  EXPECT_EQ(run(race + " finds varies | out_of_contract\n op gemm | attention\n").code, 0);
  const ProgramRun other = run(race + " finds out_of_contract\n op gemm | rope\n");
  EXPECT_EQ(other.code, 1) << other.err;
  expect_holds(other.out, "the op is gemm or rope");
  EXPECT_EQ(run(race + " finds not_finite | varies\n op attention\n").code, 1);
  // A change that does nothing is no scenario.
  const ProgramRun nothing =
      run("scenario a\n what w\n case gemm m=5 n=7 k=9\n plant D[4, 6] times 1\n finds healthy\n");
  EXPECT_EQ(nothing.code, 0) << nothing.out;
}

TEST(BisectCommand, ATraceNeedsNoDevice) {
  const ScratchDirectory scratch;
  parity_trace::Writer writer(scratch.path().string());
  const float x[4] = {1, 2, 3, 4}, y[4] = {5, 11, 11, 26};  // 26: 25 is right
  writer.op("linear", "",
            {{"X", writer.tensor("x", parity_trace::Type::f32, {2, 2}, x)},
             {"W", writer.tensor("w", parity_trace::Type::f32, {2, 2}, x)}},
            {{"Y", writer.tensor("y", parity_trace::Type::f32, {2, 2}, y)}}, "projection");
  const ProgramRun run = bisect({scratch.path().string()});
  EXPECT_EQ(run.code, 1) << run.err;
  expect_holds(run.out, "projection");
  expect_holds(run.out, "'y.npy'[1, 1]");
  const ProgramRun empty = bisect({scratch.path().parent_path().string()});
  EXPECT_EQ(empty.code, 2);
  expect_holds(empty.err, "manifest.json");
}

// The worked example of docs/bisect.md: a repository in which one commit makes a case overflow.
TEST(BisectCommand, GitBisectFindsTheCommit) {
  if (std::system("git --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "git is not here";
  const ScratchDirectory scratch;
  const std::string script = "cd '" + scratch.path().string() +
                             R"sh(' && exec > log 2>&1
git init -q . && git config user.email a@example.org && git config user.name a
for i in 1 2 3 4 5 6 7; do
  fill=normal; [ $i -lt 5 ] || fill=overflow
  echo "linear m=5 n=7 k=64 in=f16 out=f16 fill=$fill seed=$i" > case.txt
  [ $i -ne 3 ] || echo 'linear m=' > case.txt   # a commit that cannot be judged
  git add case.txt && git commit -qm "commit $i"
done
git bisect start HEAD HEAD~6
git bisect run sh -c ')sh" PARITY_PROGRAM
                             R"sh( bisect "$(cat case.txt)" --device cpu --path sequential_f16_f32 --git'
git show -s --format='first bad: %s' refs/bisect/bad)sh";
  ASSERT_EQ(std::system(script.c_str()), 0) << contents(scratch.path() / "log");
  expect_holds(contents(scratch.path() / "log"), "first bad: commit 5");
}

}  // namespace
}  // namespace parity
