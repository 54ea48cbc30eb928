// The seed corpus through the fuzz targets, with any compiler.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/targets.hpp"

namespace parity::fuzz {
namespace {

void expect_all_hold(std::string (*target)(std::span<const std::byte>),
                     const std::vector<std::string>& folders, const std::string& extension) {
  std::size_t files = 0;
  for (const std::string& folder : folders) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (!file.is_regular_file() || file.path().extension() != extension) continue;
      ++files;
      std::ifstream stream(file.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      // The file, each of its prefixes, and the file with one byte changed at every place.
      EXPECT_EQ(target(std::as_bytes(std::span(bytes))), "") << file.path();
      for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 700); ++i) {
        EXPECT_EQ(target(std::as_bytes(std::span(bytes).first(i))), "") << file.path() << " cut at " << i;
        std::string changed = bytes;
        changed[i] = static_cast<char>(changed[i] ^ static_cast<char>(1 << (i % 8)));
        EXPECT_EQ(target(std::as_bytes(std::span(changed))), "") << file.path() << " changed at " << i;
      }
    }
  }
  EXPECT_GT(files, 5U);
}

TEST(CorpusTest, Npy) {
  expect_all_hold(npy, {PARITY_FUZZ_CORPUS "/npy", PARITY_TENSOR_TESTDATA}, ".npy");
}
TEST(CorpusTest, Safetensors) {
  expect_all_hold(safetensors, {PARITY_FUZZ_CORPUS "/safetensors", PARITY_TENSOR_TESTDATA}, ".safetensors");
}
TEST(CorpusTest, CaseText) {
  expect_all_hold(case_text, {PARITY_FUZZ_CORPUS "/case"}, ".case");
}

}  // namespace
}  // namespace parity::fuzz
