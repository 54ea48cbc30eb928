// What a user may do by mistake or on purpose: every answer is an exit code and a sentence, never a hang, a
// damaged file or a pass that proves nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/cli_testing.hpp"

namespace parity {
namespace {

namespace fs = std::filesystem;

Words quick_case(const std::string& text, const Words& more = {}) {
  Words words = {"run", "--device", "cpu", "--path", "sequential_f32", "--no-order-effects", "--case", text};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Records to make reports of.
std::string some_records(const ScratchDirectory& scratch) {
  EXPECT_EQ(parity(quick_case("gemm m=5 n=4 k=3 in=f32", {"--out", scratch.file("r")})).code, 0);
  return scratch.file("r/records.jsonl");
}

TEST(HostileInput, AReportFollowsALinkAndReplacesNoDevice) {
  const ScratchDirectory scratch;
  const std::string records = some_records(scratch);
  std::ofstream(scratch.file("there.xml")) << "old";
  fs::create_symlink("there.xml", scratch.file("link.xml"));
  EXPECT_EQ(parity({"report", records, "--junit", scratch.file("link.xml")}).code, 0);
  EXPECT_TRUE(fs::is_symlink(scratch.file("link.xml")));
  EXPECT_NE(contents(scratch.file("there.xml")).find("<testsuites"), std::string::npos);

  // A pipe of our own stands for every device: a test must not risk the machine's.
  const std::string pipe = scratch.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("pipe", scratch.file("link"));
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  for (const std::string& target : {pipe, scratch.file("link")}) {
    EXPECT_EQ(parity({"report", records, "--junit", target}).code, 0) << target;
    std::string text(65536, '\0');
    const ssize_t count = ::read(reader, text.data(), text.size());
    EXPECT_GT(count, 0) << target;
    EXPECT_NE(text.find("<testsuites"), std::string::npos) << target;
    EXPECT_TRUE(fs::is_fifo(pipe)) << target;
  }
  ::close(reader);
  EXPECT_TRUE(fs::is_symlink(scratch.file("link")));
  EXPECT_EQ(parity({"report", records, "--junit", scratch.path().string()}).code, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 5) << "a temporary file was left";
}

TEST(HostileInput, APipeIsNoPlaceForRecords) {
  const ScratchDirectory scratch;
  fs::create_directories(scratch.file("r"));
  ASSERT_EQ(::mkfifo(scratch.file("r/records.jsonl").c_str(), 0600), 0);
  const ProgramRun run = parity(quick_case("gemm m=5 n=4 k=3 in=f32", {"--out", scratch.file("r")}));
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("is a pipe"), std::string::npos) << run.err;
}

TEST(HostileInput, TensorFilesThatLieAreNamed) {
  const ScratchDirectory scratch;
  const auto npy = [](const std::string& shape, std::size_t bytes) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    header += std::string(117 - header.size(), ' ') + "\n";
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(bytes, '\x01');
  };
  const auto safetensors = [](const std::string& fields, std::size_t bytes) {
    const std::string header = "{\"A\":{" + fields + "}}";
    return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header +
           std::string(bytes, '\x01');
  };
  std::ofstream(scratch.file("b.npy")) << npy("(4, 4)", 64);
  const auto judged = [&](const std::string& input) {
    return parity(
        quick_case("gemm in=f32", {"--input", "A=" + input, "--input", "B=" + scratch.file("b.npy")}));
  };
  EXPECT_EQ(judged(scratch.file("b.npy")).code, 0);
  const std::map<std::string, std::string> files = {
      {"empty.npy", ""},
      {"short.npy", npy("(4, 5)", 64)},
      {"overflow.npy", npy("(4294967296, 4294967296, 4)", 64)},
      {"negative.npy", npy("(-4, -4)", 64)},
      {"huge_header.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14)},
      {"empty.safetensors", ""},
      {"fp8.safetensors", safetensors(R"("dtype":"F8_E4M3","shape":[4,4],"data_offsets":[0,16])", 16)},
      {"unknown.safetensors", safetensors(R"("dtype":"F7","shape":[4,4],"data_offsets":[0,16])", 16)},
      {"wrap.safetensors",
       safetensors(
           R"("dtype":"F32","shape":[4,4],"data_offsets":[18446744073709551552,18446744073709551615])", 64)},
      {"overflow.safetensors",
       safetensors(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,64])", 64)},
      {"huge_header.safetensors", std::string(8, '\xff') + "{}"},
  };
  for (const auto& [name, bytes] : files) {
    std::ofstream(scratch.file(name), std::ios::binary) << bytes;
    const ProgramRun run = judged(scratch.file(name) + (name.ends_with("npy") ? "" : ":A"));
    EXPECT_EQ(run.code, 2) << name << "\n" << run.out << run.err;
    EXPECT_NE(run.err.find(name), std::string::npos) << run.err;
  }
  fs::create_directory(scratch.file("folder.npy"));
  EXPECT_EQ(judged(scratch.file("folder.npy")).code, 2);
}

TEST(HostileInput, JsonStaysJsonWhateverTheTextsHold) {
  const ProgramRun run = parity(quick_case("gemm m={1,2} n=2 k=2 in=f32", {"--json"}));
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 2);
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  EXPECT_EQ(parity({"run", "--device", "cpu", "--json", "--", "\xff\xfe\xc3\xa9["}).code, 4);
  const ProgramRun list = parity({"list", "--json", "\xff"});
  EXPECT_EQ(list.code, 4);
  EXPECT_TRUE(nlohmann::json::accept(list.out));
}

TEST(HostileInput, TheTimeLimitEndsARunOnADevice) {
  const ProgramRun devices = parity({"devices", "--json"});
  const auto known = nlohmann::json::parse(devices.out);
  std::string device;
  for (const auto& one : known.at("devices"))
    if (one.at("backend") == "vulkan" && device.empty()) device = one.at("id");
  if (device.empty()) GTEST_SKIP() << "no Vulkan device here";
  const ProgramRun run =
      parity({"run", "--device", device, "--path", "tiled_f32", "--case", "gemm m=512 n=512 k=1024 in=f32",
              "--timeout", "0.001", "--repeats", "1", "--no-order-effects"});
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("1 timeout"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("did not finish within 0.001 s"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace parity
