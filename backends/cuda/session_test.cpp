// On a device: views, carried tensors, times of calls. Skipped without one, with the reason.
#include "backends/cuda/session.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/test_programs.hpp"

namespace parity::cuda {
namespace {

using Role = TensorSpec::Role;

class CudaSessionTest : public ::testing::Test {
 protected:
  // Opened once: loading the vendor's library takes longer than most tests.
  static void SetUpTestSuite() {
    auto devices = make_cuda_backend({})->devices();
    if (devices) {
      device_ = std::move(devices->front());
    } else {
      absent_ = devices.error().message;
    }
  }
  static void TearDownTestSuite() { device_.reset(); }
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << absent_;
  }

  std::unique_ptr<Session> load(const Program& program) {
    auto session = device_->load(program, std::vector<std::string>(program.calls.size(), "direct_f32"));
    EXPECT_TRUE(session) << (session ? "" : session.error().message);
    return session ? *std::move(session) : nullptr;
  }

  static Tensor counted(const TensorSpec& spec, double first) {
    Tensor tensor = *Tensor::create(spec.dtype, spec.shape, spec.strides);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_value(i, first + static_cast<double>(i));
    return tensor;
  }

  static void expect_counted(Session& session, TensorId id, double first, double step = 1) {
    const auto tensor = session.read(id);
    ASSERT_TRUE(tensor) << tensor.error().message;
    for (std::int64_t i = 0; i < tensor->elements(); ++i)
      ASSERT_EQ(tensor->value(i), first + step * static_cast<double>(i)) << "tensor " << id << ", " << i;
  }

  inline static std::unique_ptr<Device> device_;
  inline static std::string absent_;
};

/// W_next = W + G, carried to W; two columns of a wide tensor as views.
Program step_program() {
  Program program;
  program.tensors = {matrix("W", DType::f32, 1, 3, 5, 2, Role::state), matrix("G", DType::f32, 1, 3, 5, 0),
                     matrix("W_next", DType::f32, 1, 3, 5, 1, Role::output)};
  program.calls = {{"axpby", {}, {0, 1}, {2}}};
  program.carries = {{2, 0}};
  return program;
}

TEST_F(CudaSessionTest, AdvanceCarriesWhatARunMade) {
  const Program program = step_program();
  const auto session = load(program);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->write(0, counted(program.tensors[0], 10)));
  ASSERT_TRUE(session->write(1, counted(program.tensors[1], 0)));
  for (int step = 1; step <= 3; ++step) {
    ASSERT_TRUE(session->run());
    expect_counted(*session, 2, 10, 1 + step);
    ASSERT_TRUE(session->advance());
    expect_counted(*session, 0, 10, 1 + step);
  }
  const auto damage = session->check_guards();
  EXPECT_TRUE(damage && damage->empty());
}

TEST_F(CudaSessionTest, ACarryThatCannotBeIsRefused) {
  Program program = step_program();
  program.carries = {{2, 7}};
  EXPECT_FALSE(device_->load(program, {"direct_f32"}));
  program.carries = {{2, 0}, {0, 1}};  // the second would carry what the first has overwritten
  EXPECT_FALSE(device_->load(program, {"direct_f32"}));
  program.carries = {{2, 0}};
  program.tensors[0].shape = {5, 3};
  program.tensors[0].strides = {3, 1};
  EXPECT_FALSE(device_->load(program, {"direct_f32"}));
}

/// Two blocks of 64 columns side by side in one tensor of 128: right = left * left.
Program view_program() {
  Program program;
  program.tensors = {matrix("all", DType::f32, 1, 6, 128, 0, Role::intermediate)};
  for (const std::int64_t offset : {0, 64}) {
    TensorSpec view = matrix(offset == 0 ? "left" : "right", DType::f32, 1, 6, 64, 64, Role::intermediate);
    view.view_of = 0;
    view.view_offset = offset;
    program.tensors.push_back(view);
  }
  program.calls = {{"axpby", {{"alpha", 2.0}, {"beta", 0.5}}, {1, 1}, {2}}};
  return program;
}

TEST_F(CudaSessionTest, ViewsShareTheirRootsMemory) {
  const Program program = view_program();
  const auto session = load(program);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->write(0, counted(program.tensors[0], 0)));
  ASSERT_TRUE(session->write(1, counted(program.tensors[1], 1000)));
  const auto whole = session->read(0);
  ASSERT_TRUE(whole);
  for (std::int64_t i = 0; i < whole->elements(); ++i) {
    const std::int64_t row = i / 128, col = i % 128;
    const double want = col < 64 ? static_cast<double>(1000 + row * 64 + col) : static_cast<double>(i);
    ASSERT_EQ(whole->value(i), want) << "writing a view must leave its neighbour alone";
  }
  ASSERT_TRUE(session->run());
  expect_counted(*session, 1, 1000);
  expect_counted(*session, 2, 2500, 2.5);
  const auto damage = session->check_guards();
  EXPECT_TRUE(damage && damage->empty());
}

TEST_F(CudaSessionTest, AViewThatDoesNotFitIsRefused) {
  const auto refused = [&](TensorId root, std::int64_t offset, DType dtype) {
    Program program = view_program();
    program.tensors[2].view_of = root;
    program.tensors[2].view_offset = offset;
    program.tensors[2].dtype = dtype;
    program.calls.clear();
    const auto session = device_->load(program, {});
    return session ? std::string() : session.error().message;
  };
  EXPECT_EQ(refused(0, 64, DType::f32), "");
  EXPECT_NE(refused(0, 65, DType::f32).find("multiple of 256"), std::string::npos);
  EXPECT_NE(refused(0, 128, DType::f32).find("beyond the end"), std::string::npos);
  EXPECT_NE(refused(1, 0, DType::f32).find("view itself"), std::string::npos);
  EXPECT_NE(refused(9, 0, DType::f32).find("does not exist"), std::string::npos);
  EXPECT_NE(refused(0, 64, DType::i32).find("dtype"), std::string::npos);
}

TEST_F(CudaSessionTest, EveryCallIsTimed) {
  Program program = step_program();
  for (int i = 0; i < 4; ++i) program.calls.push_back(program.calls.front());
  const auto session = load(program);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->write(0, counted(program.tensors[0], 0)));
  ASSERT_TRUE(session->write(1, counted(program.tensors[1], 0)));
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto timing = session->run();
    ASSERT_TRUE(timing);
    ASSERT_EQ(timing->call_seconds.size(), 5U);
    ASSERT_TRUE(timing->device_seconds.has_value());
    double sum = 0;
    for (const double seconds : timing->call_seconds) {
      EXPECT_GE(seconds, 0);
      sum += seconds;
    }
    // The marks of a call and of the whole run are the same; each difference is rounded to 0.5 us.
    EXPECT_NEAR(sum, *timing->device_seconds, 5e-6);
  }
}

TEST_F(CudaSessionTest, AProgramWithoutCallsRuns) {
  Program program = step_program();
  program.calls.clear();
  program.carries = {{1, 0}};
  const auto session = load(program);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->write(1, counted(program.tensors[1], 3)));
  const auto timing = session->run();
  ASSERT_TRUE(timing);
  EXPECT_TRUE(timing->call_seconds.empty());
  ASSERT_TRUE(session->advance());
  expect_counted(*session, 0, 3);
}

}  // namespace
}  // namespace parity::cuda
