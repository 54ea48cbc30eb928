#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "reports/history/history.hpp"
#include "reports/history/history_testing.hpp"

namespace parity {
namespace {

using namespace history_testing;
using Mode = History::Mode;

class HistoryStore : public testing::Test {
 protected:
  HistoryStore() {
    if (!history_is_built_in()) return;
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
  }
  ~HistoryStore() override { std::filesystem::remove_all(directory); }
  void SetUp() override {
    if (!history_is_built_in()) GTEST_SKIP() << "this build has no SQLite";
  }

  HistoryAddition add(const std::vector<Record>& records) {
    auto history = History::open(file, Mode::add);
    EXPECT_TRUE(history) << history.error().message;
    const auto added = history->add(records);
    EXPECT_TRUE(added) << added.error().message;
    return added.value_or(HistoryAddition{});
  }
  std::vector<HistorySeries> all(const HistoryPart& part = {}) {
    std::vector<HistorySeries> series;
    auto history = History::open(file, Mode::ask);
    EXPECT_TRUE(history) << history.error().message;
    const auto read = history->each_series(part, [&](const HistorySeries& s) { series.push_back(s); });
    EXPECT_TRUE(read) << read.error().message;
    return series;
  }
  /// Why the file is refused.
  std::string refusal(Mode mode) {
    const auto history = History::open(file, mode);
    EXPECT_FALSE(history);
    if (history) return "";
    EXPECT_EQ(history.error().kind, ErrorKind::bad_input);
    return history.error().message;
  }
  /// Overwrites bytes of the file.
  void patch(std::streamoff at, const std::string& bytes) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    stream << bytes;
  }

  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / ("parity_history_" + std::to_string(::getpid()));
  const std::filesystem::path file = directory / "parity.db";
};

TEST_F(HistoryStore, ARecordIsThereOnceHoweverOftenItIsAdded) {
  const std::vector<Record> records = {recorded(0, 3), recorded(1, 3), recorded(1, 3, "gemm m=2")};
  EXPECT_EQ(add(records).fresh, 3);
  const HistoryAddition again = add(records);
  EXPECT_EQ(again.fresh, 0);
  EXPECT_EQ(again.known, 3);
  // The same case in the same run, with other times: another record.
  Record other = records[1];
  other.case_seconds = 9;
  EXPECT_EQ(add({records[0], other}).fresh, 1);
  const auto series = all();
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].points.size(), 3u);
  EXPECT_EQ(History::open(file, Mode::ask)->runs().size(), 2u);
}

TEST_F(HistoryStore, WhatIsKeptComesBack) {
  Record record = recorded(0, 3);
  OutputRecord& output = record.outputs.front();
  output.bits = 0xfedcba9876543210;
  output.judgement.statistics.max_abs = HUGE_VAL;
  output.judgement.statistics.relative_l2 = std::nan("");
  output.judgement.statistics.ulp_quantiles.back() = 4.9406564584124654e-324;
  add({record});
  const auto series = all();
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].path, "tiled_f32");
  const HistoryPoint& point = series[0].points.at(0);
  const BaselineCase kept = baseline_case(record);
  EXPECT_EQ(point.inputs, kept.inputs);
  EXPECT_TRUE(point.reproducible);
  EXPECT_EQ(point.seconds, 0.25);
  EXPECT_EQ(point.time_ratio, 0.5);
  const HistoryOutput& result = point.outputs.at(0);
  EXPECT_EQ(result.result.bits, output.bits);
  EXPECT_EQ(result.result.histogram, kept.outputs[0].histogram);
  EXPECT_EQ(result.result.first_bin, kept.outputs[0].first_bin);
  EXPECT_EQ(result.result.rms, kept.outputs[0].rms);
  EXPECT_EQ(result.result.mean_signed, kept.outputs[0].mean_signed);
  EXPECT_EQ(result.max_abs, HUGE_VAL);
  EXPECT_TRUE(std::isnan(result.relative_l2));
  EXPECT_EQ(result.max_ulp, 4.9406564584124654e-324);
}

/// What a path shows in one case holds in its others, in that run.
TEST_F(HistoryStore, APathThatGaveOtherBitsOnceIsReproducibleInNoCase) {
  std::vector<Record> records{recorded(0, 3), recorded(0, 3, "gemm m=2"), recorded(1, 3)};
  records[1].order.run_to_run->bit_equal = false;
  add(records);
  const auto series = all();
  ASSERT_EQ(series.size(), 2u);
  EXPECT_FALSE(series[0].points.at(0).reproducible);
  EXPECT_TRUE(series[0].points.at(1).reproducible);  // another run
}

TEST_F(HistoryStore, RunsComeByDateAndPartsByPattern) {
  add({recorded(5, 3), recorded(5, 3, "linear n=4")});
  Record elsewhere = recorded(3, 3);
  elsewhere.device.name = "Another device";
  add({recorded(2, 3), elsewhere});
  const auto series = all({.case_text = "gemm*", .path = "tiled*", .run = {}});
  ASSERT_EQ(series.size(), 2u);  // a device each
  EXPECT_EQ(series[0].points.size() + series[1].points.size(), 3u);
  for (const HistorySeries& one : series)
    EXPECT_TRUE(std::ranges::is_sorted(one.points, {}, &HistoryPoint::run));
  EXPECT_TRUE(all({.case_text = "gemm", .path = "", .run = {}}).empty());
  EXPECT_EQ(
      all({.case_text = "", .path = "", .run = [](const HistoryRun& r) { return r.commit == "commit3"; }})
          .size(),
      1u);
}

TEST_F(HistoryStore, OtherFilesAreRefusedAndLeftAlone) {
  EXPECT_NE(refusal(Mode::ask).find("is not there"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file));
  std::ofstream(file) << std::string(5000, 'x');
  EXPECT_NE(refusal(Mode::add).find("no SQLite database"), std::string::npos);
  std::filesystem::remove(file);

  add({recorded(0, 3)});
  patch(60, std::string("\0\0\0\2", 4));  // user_version, big-endian
  EXPECT_NE(refusal(Mode::add).find("version 2, and this program knows version 1"), std::string::npos);
  EXPECT_NE(refusal(Mode::ask).find("version 2"), std::string::npos);
  patch(68, "abcd");  // application_id
  EXPECT_NE(refusal(Mode::add).find("of something else"), std::string::npos);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_NE(refusal(Mode::add).find("is a directory"), std::string::npos);
}

TEST_F(HistoryStore, DamageIsSaid) {
  std::vector<Record> records;
  for (int i = 0; i < 60; ++i) records.push_back(recorded(0, 3, fmt::format("gemm m={}", i)));
  add(records);
  const auto size = std::filesystem::file_size(file);
  ASSERT_GT(size, 40000u);
  for (std::uintmax_t at = 4096; at < size; at += 4096)
    patch(static_cast<std::streamoff>(at), std::string(64, '\x7f'));
  const auto opened = History::open(file, Mode::ask);
  const auto read = opened ? opened->each_series({}, [](const HistorySeries&) {})
                           : Result<void>(tl::unexpected(opened.error()));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("is damaged"), std::string::npos) << read.error().message;
  EXPECT_EQ(read.error().kind, ErrorKind::bad_input);
  auto history = History::open(file, Mode::add);
  if (history) {
    const auto added = history->add(records);
    ASSERT_FALSE(added);
    EXPECT_NE(added.error().message.find("is damaged"), std::string::npos) << added.error().message;
  }
}

TEST_F(HistoryStore, AHistoryWithoutRecordsIsEmpty) {
  add({});
  EXPECT_TRUE(all().empty());
  std::ofstream(file, std::ios::trunc).close();  // as a killed first import may leave it
  EXPECT_TRUE(all().empty());
  EXPECT_EQ(add({recorded(0, 3)}).fresh, 1);
}

}  // namespace
}  // namespace parity
