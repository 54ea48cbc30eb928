// `parity probe` as its users see it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/cli/cli_testing.hpp"

namespace parity {
namespace {

ProgramRun probe(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "probe");
  return parity(arguments, one_thread());
}

TEST(ProbeCommand, RevealsNamesDrawsAndReplays) {
  const ScratchDirectory scratch;
  const ProgramRun run = probe({"--device", "cpu", "--op", "gemm", "--path", "tensor_core_f16_f32", "-k",
                                "64", "--out", scratch.file("trees")});
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  for (const char* part :
       {"sequential, fused 16+1 (as declared)", "+ 3 x 16 terms fused with the sum: 16..63",
        "2048 of 2048 elements bit-equal", "0 not as declared"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  std::ifstream file(scratch.file("trees/probe.jsonl"));
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["kind"], "probe");
  EXPECT_EQ(json["finding"], false);
  const auto& reduction = json["reductions"].at(0);
  EXPECT_EQ(reduction["fan_in"], 17);
  EXPECT_EQ(reduction["agrees"], true);
  EXPECT_EQ(reduction["hash"].get<std::string>().size(), 16u);
  EXPECT_TRUE(reduction["tree"].get<std::string>().starts_with("((((0 1 2 3"));
  EXPECT_EQ(json["replay"]["equal"], json["replay"]["compared"]);
  int drawings = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.file("trees")))
    drawings += entry.path().extension() == ".svg";
  EXPECT_EQ(drawings, 1);
}

TEST(ProbeCommand, JsonIsAlone) {
  const ProgramRun run =
      probe({"--device", "cpu", "--op", "attention", "--path", "strided_f32", "-k", "12", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["reductions"].size(), 3u);
  EXPECT_TRUE(json["replay"].contains("note"));
}

TEST(ProbeCommand, ProfilesADevice) {
  const ScratchDirectory scratch;
  const ProgramRun run =
      probe({"--device", "cpu", "--only", "profile", "--sample", "16", "--out", scratch.file("profile")});
  if (run.err.find("libmpfr-dev") != std::string::npos) {
    EXPECT_EQ(run.code, 4);  // nothing was judged, and it says what is missing
    return;
  }
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("no promise is broken"), std::string::npos) << run.out;
  std::ifstream file(scratch.file("profile/profile.json"));
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["kind"], "device_profile");
  EXPECT_EQ(json["device"]["id"], "cpu:0");
  EXPECT_TRUE(json["provenance"].contains("commit"));
  EXPECT_EQ(json["functions"].size(), 27u);
  // What was sampled tightens nothing, and the run says so.
  const ProgramRun used =
      parity({"run", "--device", "cpu", "--case", "gru_gate batch=3 hidden=5", "--path", "sequential_f32",
              "--profile", scratch.file("profile/profile.json"), "--json"},
             one_thread());
  EXPECT_EQ(used.code, 0) << used.err;
  EXPECT_NE(used.err.find("inconclusive: exp: measured over"), std::string::npos) << used.err;
  EXPECT_NE(nlohmann::json::parse(used.out)["provenance"]["profile"].get<std::string>().find("Inconclusive"),
            std::string::npos);
  // Of another driver: refused by name.
  std::stringstream whole;
  whole << std::ifstream(scratch.file("profile/profile.json")).rdbuf();
  std::string text = whole.str();
  const std::size_t at = text.find("\"built in\"");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(scratch.file("other.json")) << text.substr(0, at) << "\"built out\"" << text.substr(at + 10);
  const ProgramRun other = parity({"run", "--device", "cpu", "--profile", scratch.file("other.json")});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("driver 'built out', cpu:0 has 'built in'"), std::string::npos) << other.err;
  EXPECT_TRUE(json["findings"].empty());
}

TEST(ProbeCommand, ExitCodesSayWhatWasWrong) {
  EXPECT_EQ(probe({"--op", "conv"}).code, 2);
  EXPECT_EQ(probe({"--device", "cpu", "-k", "0"}).code, 2);
  EXPECT_EQ(probe({"--only", "everything"}).code, 2);
  EXPECT_EQ(probe({"--exhaustive", "--sampled"}).code, 2);
  EXPECT_EQ(probe({"--device", "cpu:7"}).code, 3);
  EXPECT_EQ(probe({"--device", "cpu", "--path", "nothing_like_it"}).code, 4);
}

}  // namespace
}  // namespace parity
