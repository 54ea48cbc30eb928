#include "reports/probe_lines.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "reports/page_data.hpp"
#include "reports/record_json.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

std::string probe_line(const std::string& path, const std::string& reduction) {
  return R"({"schema":1,"kind":"probe","op":"gemm","path":")" + path +
         R"(","input":"f16","accumulate":"f32","store":"f32","reductions":[{"name":"sum over k","terms":4,)" +
         reduction +
         R"(}],"device":{"id":"cuda:0","backend":"cuda","name":"A device","driver":"d 1"}})"
         "\n";
}
const std::string revealed =
    R"json("outcome":"revealed","why":"","order":"pairwise","tree":"((0 1) (2 3))","declared":["pairwise"],"agrees":true,"contradiction":"")json";
const std::string none =
    R"json("outcome":"not_reproducible","why":"two answers","declared":[],"agrees":null,"contradiction":"")json";

class ProbeLines : public testing::Test {
 protected:
  ~ProbeLines() override { std::filesystem::remove(file); }
  void write(const std::string& text) { std::ofstream(file) << text; }
  std::string refusal(const std::string& text) {
    write(text);
    const auto read = read_probe_file(file);
    EXPECT_FALSE(read);
    return read ? "" : read.error().message;
  }
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("parity_probe_" + std::to_string(::getpid()));
};

TEST_F(ProbeLines, AreToldFromRecordsAndRead) {
  write(to_json_line(sample_record()) + "\n");
  EXPECT_FALSE(is_probe_file(file));
  EXPECT_FALSE(is_probe_file("no such file"));
  write(probe_line("a", revealed) + probe_line("b", none));
  EXPECT_TRUE(is_probe_file(file));
  const auto trees = read_probe_file(file);
  ASSERT_TRUE(trees) << trees.error().message;
  ASSERT_EQ(trees->size(), 2u);
  const ProbedTree& a = trees->front();
  EXPECT_EQ(a.order + ", " + a.formats + ", " + a.device.name, "pairwise, f16 -> f32 -> f32, A device");
  EXPECT_EQ(a.tree->depth(), 2);
  EXPECT_EQ(a.agrees, true);
  EXPECT_FALSE(trees->back().tree);
  EXPECT_EQ(trees->back().why, "not_reproducible: two answers");
}

TEST_F(ProbeLines, WhatIsNoProbeIsNamed) {
  EXPECT_NE(refusal(probe_line("a", revealed) + "{}\n").find(":2: this is no probe"), std::string::npos);
  std::string newer = probe_line("a", revealed);
  newer.replace(newer.find("\"schema\":1"), 10, "\"schema\":2");
  EXPECT_NE(refusal(newer).find("its schema is 2"), std::string::npos);
  std::string torn = probe_line("a", revealed);
  torn.replace(torn.find("(2 3)"), 5, "(2 2)");
  EXPECT_NE(refusal(torn).find(":1: "), std::string::npos);
}

TEST_F(ProbeLines, APageHasEachDrawingOnce) {
  write(probe_line("a", revealed) + probe_line("b", revealed) + probe_line("c", none));
  const auto trees = read_probe_file(file);
  ASSERT_TRUE(trees);
  const std::string json = page_trees(*trees);
  const auto count = [&](const std::string& part) {
    int n = 0;
    for (std::size_t at = json.find(part); at != json.npos; at = json.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("\"drawing\":0"), 2);
  EXPECT_EQ(count("pairwise, 4 terms"), 2);  // the title of one drawing, in two places
  EXPECT_EQ(count("two answers"), 1);
  EXPECT_EQ(json.find('<'), json.npos);  // it stands in a script element
  EXPECT_NE(page_index({}, *trees).find("\"probed\":{\"trees\":[{"), std::string::npos);
}

}  // namespace
}  // namespace parity
