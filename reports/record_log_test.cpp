#include "reports/record_log.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "reports/record_json.hpp"
#include "reports/record_sample.hpp"

namespace parity {
namespace {

namespace fs = std::filesystem;

class RecordLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "record_log_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    file_ = directory_ / "records.jsonl";
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string text() const {
    std::ifstream stream(file_);
    std::ostringstream out;
    out << stream.rdbuf();
    return out.str();
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  fs::path directory_, file_;
};

Record numbered(int number) {
  Record record = sample_record(Verdict::pass);
  record.case_text = "case " + std::to_string(number);
  return record;
}

TEST_F(RecordLogTest, AppendsAndReadsBack) {
  {
    auto log = RecordLog::open(file_, RecordLog::Mode::create);
    ASSERT_TRUE(log) << log.error().message;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(log->append(numbered(i)));
  }
  const auto logged = read_record_log(file_);
  ASSERT_TRUE(logged) << logged.error().message;
  EXPECT_TRUE(logged->note.empty());
  ASSERT_EQ(logged->records.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(to_json_line(logged->records[static_cast<std::size_t>(i)]), to_json_line(numbered(i)));
}

TEST_F(RecordLogTest, MarksStandAroundTheRecordsOfEachRun) {
  RunMark mark;
  mark.cases = 2;
  for (int run = 0; run < 2; ++run) {
    auto log = RecordLog::open(file_, run == 0 ? RecordLog::Mode::create : RecordLog::Mode::append);
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE(log->begin(mark));
    EXPECT_EQ(read_record_log(file_)->missing.size(), 1u);
    ASSERT_TRUE(log->append(numbered(0)));
    ASSERT_TRUE(log->append(numbered(1)));
    ASSERT_TRUE(log->end(true));
  }
  const auto logged = read_record_log(file_);
  ASSERT_TRUE(logged) << logged.error().message;
  EXPECT_EQ(logged->records.size(), 4u);
  EXPECT_TRUE(logged->missing.empty());
  EXPECT_TRUE(text().starts_with("{\"plan\":{\"cases\":2,")) << text().substr(0, 60);
  EXPECT_NE(text().find("{\"end\":{\"outcome\":\"complete\",\"recorded\":2}}\n{\"plan\""), std::string::npos);
}

TEST_F(RecordLogTest, FactsOfADeviceStandOnce) {
  auto log = RecordLog::open(file_, RecordLog::Mode::create);
  ASSERT_TRUE(log);
  Record other = numbered(1);
  other.device.id = "cpu:0";
  for (const Record& record : {numbered(0), other, numbered(2)}) ASSERT_TRUE(log->append(record));
  std::size_t count = 0;
  const std::string all = text();
  for (std::size_t at = all.find("32 KiB"); at != std::string::npos; at = all.find("32 KiB", at + 1)) ++count;
  EXPECT_EQ(count, 2u);
  const auto logged = read_record_log(file_);
  ASSERT_TRUE(logged);
  EXPECT_EQ(logged->records.at(2).device.facts.size(), 2u);
}

TEST_F(RecordLogTest, TornLastLineIsLeftOutAndSaid) {
  const std::string whole = to_json_line(numbered(0)) + "\n";
  const std::string next = to_json_line(numbered(1));
  for (const std::size_t kept : {std::size_t{1}, next.size() / 2, next.size() - 1}) {
    write(whole + next.substr(0, kept));
    const auto logged = read_record_log(file_);
    ASSERT_TRUE(logged) << logged.error().message;
    EXPECT_EQ(logged->records.size(), 1u);
    EXPECT_NE(logged->note.find(":2: the last line is torn"), std::string::npos) << logged->note;
  }
}

TEST_F(RecordLogTest, BrokenLineInTheMiddleIsAnError) {
  write(to_json_line(numbered(0)) + "\n{\"schema\":1,\n" + to_json_line(numbered(1)) + "\n");
  const auto logged = read_record_log(file_);
  ASSERT_FALSE(logged);
  EXPECT_EQ(logged.error().kind, ErrorKind::bad_input);
  EXPECT_NE(logged.error().message.find("records.jsonl:2:"), std::string::npos) << logged.error().message;
  // A broken last line that is complete was not torn by a kill.
  write(to_json_line(numbered(0)) + "\nnonsense\n");
  EXPECT_FALSE(read_record_log(file_));
}

TEST_F(RecordLogTest, CreateRefusesEarlierRecordsAndAppendCutsATornLine) {
  const std::string whole = to_json_line(numbered(0)) + "\n";
  write(whole + whole.substr(0, 30));
  const auto refused = RecordLog::open(file_, RecordLog::Mode::create);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
  {
    auto log = RecordLog::open(file_, RecordLog::Mode::append);
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE(log->append(numbered(7)));
  }
  const auto logged = read_record_log(file_);
  ASSERT_TRUE(logged) << logged.error().message;
  ASSERT_EQ(logged->records.size(), 2u);
  EXPECT_EQ(logged->records[1].case_text, "case 7");
}

TEST_F(RecordLogTest, SecondWriterIsRefused) {
  auto first = RecordLog::open(file_, RecordLog::Mode::create);
  ASSERT_TRUE(first);
  EXPECT_FALSE(RecordLog::open(file_, RecordLog::Mode::append));
}

TEST_F(RecordLogTest, FullDiskIsReportedAndNothingIsDamaged) {
  auto log = RecordLog::open(file_, RecordLog::Mode::create);
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->append(numbered(0)));
  const std::string before = text();

  // A limit on the file's size gives what a disk that fills up gives: a short write.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{before.size() + 100, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto failed = log->append(numbered(1));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::internal);
  EXPECT_EQ(text(), before);
  // With room again the log goes on.
  ASSERT_TRUE(log->append(numbered(2)));
  EXPECT_EQ(read_record_log(file_)->records.size(), 2u);
}

TEST(RecordLog, WhatIsNoRecordIsSaidToBeNone) {
  const std::string record = to_json_line(sample_record(Verdict::pass)) + "\n";
  const auto message = [&](const std::string& line) {
    const auto read = parse_record_log(record + line + "\n", "log");
    return read ? std::string("no error") : read.error().message;
  };
  EXPECT_NE(message("[1]").find("log:2: the line is [1] and should be an object"), std::string::npos);
  EXPECT_NE(message("{\"baseline\":1}").find("log:2: this is no record"), std::string::npos);
}

TEST(RecordLog, AByteOrderMarkIsNoPartOfARecord) {
  const std::string text = "{\"plan\":{\"cases\":1}}\n" + to_json_line(sample_record(Verdict::pass)) + "\n";
  const auto read = parse_record_log("\xef\xbb\xbf" + text, "log");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->runs.size(), 1u);
  EXPECT_EQ(read->records.size(), 1u);
}

TEST(RecordLog, FullDeviceIsReported) {
  auto log = RecordLog::open("/dev/full", RecordLog::Mode::create);
  ASSERT_TRUE(log) << log.error().message;
  const auto failed = log->append(numbered(0));
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("No space left"), std::string::npos) << failed.error().message;
}

TEST(RecordLog, MissingFileAndDirectoryAreBadInput) {
  for (const char* file : {"/nonexistent/records.jsonl", "/tmp"}) {
    const auto logged = read_record_log(file);
    ASSERT_FALSE(logged);
    EXPECT_EQ(logged.error().kind, ErrorKind::bad_input);
    EXPECT_NE(logged.error().message.find(file), std::string::npos);
  }
}

}  // namespace
}  // namespace parity
