// A calibration that does not get to its end: said, and tried again.
#include "harness/ladder/confirmation.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "backends/cpu/cpu_backend.hpp"
#include "harness/ladder/restated_device.hpp"
#include "harness/ladder/runner.hpp"
#include "references/op_table.hpp"

namespace parity {
namespace {

/// The CPU device; its next `failures` loads end in `failure`.
class Failing final : public RestatedDevice {
 public:
  Failing(Device& device, std::function<Result<void>()> failure)
      : RestatedDevice(device), failure_(std::move(failure)) {}
  Result<std::unique_ptr<Session>> load(const Program& program,
                                        const std::vector<std::string>& paths) override {
    if (skipped > 0) {
      --skipped;
    } else if (failures > 0) {
      --failures;
      if (auto ok = failure_(); !ok) return tl::unexpected(ok.error());
    }
    return device().load(program, paths);
  }

  int skipped = 0, failures = 0;  ///< loads that succeed first, then loads that fail

 private:
  std::function<Result<void>()> failure_;
};

class Calibration : public ::testing::Test {
 protected:
  Record run(Device& device, Runner& runner) {
    const auto& paths = device.implementations();
    EXPECT_FALSE(paths.empty());
    return runner.run(*parse_case("gemm m=5 n=4 k=3 in=f32", stages), "sequential_f32");
  }

  OpTable ops = make_op_table();
  StageTable stages = make_stage_table(ops);
  std::vector<std::unique_ptr<Device>> devices = *make_cpu_backend(ops)->devices();
};

TEST_F(Calibration, ThatFailsIsTheCasesVerdictAndIsTriedAgain) {
  const std::vector<std::pair<std::function<Result<void>()>, Verdict>> failures{
      {[] { return Result<void>(fail(ErrorKind::device_failed, "the device is lost")); }, Verdict::crash},
      {[] { return Result<void>(fail(ErrorKind::timed_out, "too slow")); }, Verdict::timeout},
      {[]() -> Result<void> { throw std::bad_alloc(); }, Verdict::crash},
      {[]() -> Result<void> { throw std::length_error("vector::reserve"); }, Verdict::crash}};
  for (const auto& [failure, verdict] : failures) {
    Failing device(*devices.front(), failure);
    Runner runner(ops, stages, device, {.repeats = 1, .order_effects = false});
    device.skipped = 1;  // the case itself
    device.failures = 1;
    const Record first = run(device, runner);
    EXPECT_EQ(first.verdict, verdict);
    EXPECT_NE(first.reason.find("the calibration of sequential_f32 for gemm failed: "), std::string::npos)
        << first.reason;
    const Record second = run(device, runner);
    EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
    EXPECT_TRUE(second.outputs.at(0).judgement.replay.confirmed);
  }
}

TEST_F(Calibration, IsMadeOnce) {
  Failing device(*devices.front(), [] { return Result<void>(fail(ErrorKind::device_failed, "loaded")); });
  Runner runner(ops, stages, device, {.repeats = 1, .order_effects = false});
  EXPECT_EQ(run(device, runner).verdict, Verdict::pass);
  device.skipped = 1;
  device.failures = 1;
  const Record again = run(device, runner);
  EXPECT_EQ(again.verdict, Verdict::pass) << again.reason;
  EXPECT_EQ(device.failures, 1);
}

TEST(Confirmations, APathThatGivesNoBitsSaysSo) {
  const OpTable ops = make_op_table();
  const StageTable stages = make_stage_table(ops);
  const auto devices = *make_cpu_backend(ops)->devices();
  Implementation wrong;
  for (const Implementation& i : devices.front()->implementations())
    if (i.path == "pairwise_f32" && i.op == "gemm") wrong = i;
  wrong.replays.front().accumulation = Accumulation{};  // not its order
  Confirmations confirmations(ops, stages, *devices.front());
  const auto confirmed = confirmations.of(wrong);
  ASSERT_TRUE(confirmed.has_value()) << confirmed.error().message;
  EXPECT_TRUE((*confirmed)->models.empty());
  EXPECT_NE((*confirmed)->note.find("no declared arithmetic gives this path's bits"), std::string::npos);
}

}  // namespace
}  // namespace parity
