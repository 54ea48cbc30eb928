#include "harness/cli/guarded_run.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "reports/record_sample.hpp"

namespace parity::cli {
namespace {

Record blank() {
  Record record;
  record.case_text = "gemm m=1";
  record.repro = "parity run";
  return record;
}

TEST(GuardedRun, GivesTheRecordOfARun) {
  const Record record = guarded_run([] { return sample_record(Verdict::suspect); }, blank());
  EXPECT_EQ(record.verdict, Verdict::suspect);
  EXPECT_EQ(record.case_text, sample_record().case_text);
}

TEST(GuardedRun, AnExceptionIsACrashOfThatCase) {
  const auto throwing = [](auto what) { return guarded_run([&]() -> Record { throw what; }, blank()); };
  const Record memory = throwing(std::bad_alloc());
  EXPECT_EQ(memory.verdict, Verdict::crash);
  EXPECT_EQ(memory.reason, "the harness failed: out of host memory; try a smaller case");
  EXPECT_EQ(memory.case_text, "gemm m=1");
  EXPECT_EQ(memory.repro, "parity run");
  EXPECT_EQ(throwing(std::length_error("vector::reserve")).reason, "the harness failed: vector::reserve");
  EXPECT_EQ(throwing(3).verdict, Verdict::crash);
}

}  // namespace
}  // namespace parity::cli
