#include "backends/cuda/paths.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/arithmetic_of_device.hpp"
#include "backends/cuda/cuda_error.hpp"
#include "backends/cuda/test_programs.hpp"
#include "harness/numerics/arithmetic.hpp"

namespace parity::cuda {
namespace {

DeviceTraits device(int major, int minor) {
  DeviceTraits traits;
  traits.major = major;
  traits.minor = minor;
  traits.multiprocessors = 132;
  traits.cublas = std::make_shared<CublasLibrary>();  // there, never called
  return traits;
}

Support support_of(const DeviceTraits& traits, std::string_view path, std::string_view op = "gemm") {
  const auto paths = make_paths(traits);
  const Path* found = find_path(paths, path, op);
  return found != nullptr ? found->support : Support{Support::Kind::not_applicable, "no such path"};
}

TEST(Paths, AllAreLegalOnHopper) {
  const auto paths = make_paths(device(9, 0));
  EXPECT_EQ(std::ranges::count_if(paths, [](const Path& p) { return p.implementation.op == "gemm"; }), 12);
  for (const Path& path : paths) {
    EXPECT_TRUE(path.support.legal()) << path.implementation.path << ": " << path.support.reason;
    EXPECT_TRUE(path.fits && path.make) << path.implementation.op;
  }
}

TEST(Paths, ReasonsSayWhatIsMissing) {
  const Support bf16 = support_of(device(7, 5), "wmma_bf16_f32");
  EXPECT_EQ(bf16.kind, Support::Kind::unsupported);
  EXPECT_NE(bf16.reason.find("8.0"), std::string::npos) << bf16.reason;
  EXPECT_NE(bf16.reason.find("7.5"), std::string::npos) << bf16.reason;
  EXPECT_FALSE(support_of(device(7, 5), "cublas_tf32").legal());
  EXPECT_FALSE(support_of(device(7, 5), "cublas_bf16_f32").legal());
  EXPECT_FALSE(support_of(device(6, 1), "wmma_f16_f32").legal());
  EXPECT_TRUE(support_of(device(7, 5), "wmma_f16_f32").legal());
  EXPECT_TRUE(support_of(device(7, 5), "tiled_f32").legal());
  EXPECT_NE(support_of(device(7, 0), "wmma_i8_i32").reason.find("7.2"), std::string::npos);
  EXPECT_NE(support_of(device(6, 0), "tiled_i8_i32").reason.find("dp4a"), std::string::npos);

  DeviceTraits without = device(9, 0);
  without.cublas = nullptr;
  without.no_cublas = "libcublas.so.13: cannot open";
  EXPECT_EQ(support_of(without, "cublas_f32").reason, without.no_cublas);
  EXPECT_EQ(support_of(without, "cublas_i8_i32").reason, without.no_cublas);
  EXPECT_TRUE(support_of(without, "wmma_f16_f32").legal());

  DeviceTraits other_build = device(8, 6);
  other_build.no_image = "no code for 8.6";
  for (const Path& path : make_paths(other_build)) EXPECT_EQ(path.support.reason, other_build.no_image);

  DeviceTraits no_tf32 = device(9, 0);
  no_tf32.tf32_disabled = true;
  EXPECT_NE(support_of(no_tf32, "cublas_tf32").reason.find("NVIDIA_TF32_OVERRIDE"), std::string::npos);
  EXPECT_TRUE(support_of(no_tf32, "cublas_f32").legal());
}

TEST(Paths, EveryReplayIsDefinite) {
  for (const DeviceTraits& traits : {device(7, 0), device(7, 5), device(8, 0), device(9, 0), device(12, 0)}) {
    for (const Path& path : make_paths(traits)) {
      const Implementation& i = path.implementation;
      EXPECT_EQ(i.replays.empty(), i.knowledge == OrderKnowledge::unknown) << i.path << " of " << i.op;
      for (const ArithmeticModel& model : i.replays) {
        EXPECT_TRUE(make_emulated_arithmetic(model).has_value()) << i.path;
        EXPECT_EQ(model.precision.input, i.input);
        EXPECT_EQ(model.precision.multiply, i.multiply) << i.path;
        if (i.op == "linear") {
          EXPECT_FALSE(model.contract_epilogue) << i.path;
        }
      }
    }
  }
}

TEST(Paths, OwnKernelsDeclareTheirOrderAndVendorsDoNot) {
  for (const Path& path : make_paths(device(9, 0))) {
    const Implementation& i = path.implementation;
    if (i.input == DType::i32) {  // looks at results and adds nothing
      EXPECT_FALSE(i.contract.accumulation) << i.op;
      EXPECT_EQ(i.knowledge, OrderKnowledge::unknown) << i.op;
      EXPECT_EQ(i.accumulate, DType::i32) << i.op;
      continue;
    }
    // Sums of integers are exact in any order: so a vendor's are known too.
    const bool vendor = i.path.starts_with("cublas") && i.input != DType::i8,
               atomic = i.path.starts_with("atomic");
    EXPECT_EQ(i.knowledge, vendor   ? OrderKnowledge::candidates
                           : atomic ? OrderKnowledge::unknown
                                    : OrderKnowledge::declared)
        << i.path;
    EXPECT_EQ(i.contract.accumulation.has_value(), !vendor && !atomic) << i.path;
    if (i.path == "cublas_f32") {
      EXPECT_FALSE(i.contract.may_truncate);
    }
  }
}

TEST(Paths, TensorCoreAdderFollowsTheDevice) {
  const auto adder = [](const DeviceTraits& traits) {
    const auto paths = make_paths(traits);
    return find_path(paths, "wmma_f16_f32", "gemm")->implementation.replays.front().accumulation->adder;
  };
  EXPECT_EQ(adder(device(9, 0)), (MultiTermAdder{16, 25}));
  const auto hopper = make_paths(device(9, 0)), ampere = make_paths(device(8, 0));
  const Implementation& narrow = find_path(hopper, "wmma_f16_f16", "gemm")->implementation;
  ASSERT_EQ(narrow.replays.size(), 1u);
  EXPECT_EQ(narrow.replays.front().accumulation->adder, (MultiTermAdder{16, 25, Rounding::nearest_even}));
  // Not measured there: bounds for any order, and the kernel's first run says which adder it is.
  EXPECT_FALSE(find_path(ampere, "wmma_f16_f16", "gemm")->implementation.contract.accumulation);
  EXPECT_EQ(adder(device(8, 9)), (MultiTermAdder{8, 24}));
  EXPECT_EQ(adder(device(7, 0)), (MultiTermAdder{4, 23}));
  // Unknown hardware: nothing is declared.
  const auto paths = make_paths(device(13, 0));
  const Implementation& unknown = find_path(paths, "wmma_f16_f32", "gemm")->implementation;
  EXPECT_EQ(unknown.knowledge, OrderKnowledge::candidates);
  EXPECT_FALSE(unknown.contract.accumulation);
}

TEST(Paths, Fp16AccumulatorsAreRoundedToNearest) {
  const auto paths = make_paths(device(9, 0));
  for (const char* op : {"gemm", "linear"})
    for (const char* name : {"wmma_f16_f16", "cublas_f16_f16"}) {
      const Implementation& i = find_path(paths, name, op)->implementation;
      EXPECT_EQ(i.accumulate, DType::f16);
      EXPECT_EQ(i.stores, (std::vector{DType::f16, DType::f32}));
      EXPECT_EQ(i.contract.precision.accumulate, DType::f16);
      EXPECT_EQ(i.contract.precision.scratch, DType::f32);
      ASSERT_FALSE(i.replays.empty());
      EXPECT_EQ(i.replays.front().accumulation->adder, (MultiTermAdder{16, 25, Rounding::nearest_even}));
      for (const ArithmeticModel& model : i.replays) {
        // cuBLAS may add up in fp32 all the same.
        EXPECT_EQ(model.accumulation->adder.rounding,
                  model.precision.accumulate == DType::f16 ? Rounding::nearest_even : Rounding::toward_zero);
        EXPECT_FALSE(model.contract_epilogue);
        EXPECT_TRUE(make_emulated_arithmetic(model)) << to_string(model);
      }
    }
  const auto ampere = make_paths(device(8, 0));
  const Implementation& i = find_path(ampere, "wmma_f16_f16", "gemm")->implementation;
  EXPECT_EQ(i.replays.front().accumulation->adder, (MultiTermAdder{8, 24, Rounding::nearest_even}));
}

TEST(Paths, IntegersAreExactInAnyOrderAndOnlyProducts) {
  const auto paths = make_paths(device(9, 0));
  for (const char* name : {"tiled_i8_i32", "wmma_i8_i32", "cublas_i8_i32"}) {
    EXPECT_EQ(find_path(paths, name, "linear"), nullptr);
    const Implementation& i = find_path(paths, name, "gemm")->implementation;
    EXPECT_EQ(i.input, DType::i8);
    EXPECT_EQ(i.accumulate, DType::i32);
    EXPECT_EQ(i.stores, std::vector{DType::i32});
    EXPECT_EQ(i.multiply, format_of(DType::i8));
    EXPECT_TRUE(sums_integers(i.contract));
    ASSERT_EQ(i.replays.size(), 1u);
    EXPECT_TRUE(sums_integers(i.replays.front()));
  }
}

TEST(Paths, Tf32IsNamedAsWhatItIs) {
  const auto paths = make_paths(device(9, 0));
  const Implementation& i = find_path(paths, "cublas_tf32", "gemm")->implementation;
  EXPECT_EQ(i.multiply, tf32_format);
  EXPECT_EQ(i.contract.precision.multiply, tf32_format);
  EXPECT_EQ(i.contract.multiply_rounding, Rounding::toward_zero);
  bool nearest = false, truncating = false;
  for (const ArithmeticModel& model : i.replays) {
    nearest |= model.multiply_rounding == Rounding::nearest_even;
    truncating |= model.multiply_rounding == Rounding::toward_zero;
  }
  EXPECT_TRUE(nearest && truncating);
}

TEST(SupportsCall, PrecisionFirstThenTheDeviceThenTheCall) {
  const auto paths = make_paths(device(9, 0));
  const Path& tiled = *find_path(paths, "tiled_f32", "gemm");
  const Path& wmma = *find_path(paths, "wmma_f16_f32", "gemm");
  const Path& cublas = *find_path(paths, "cublas_f32", "gemm");
  const auto ask = [](const Path& path, const Program& program) {
    return supports_call(path, program.calls[0], program);
  };
  const Program f32 = gemm_program({}, DType::f32, DType::f32),
                f16 = gemm_program({}, DType::f16, DType::f16);
  EXPECT_TRUE(ask(tiled, f32).legal());
  EXPECT_TRUE(ask(wmma, f16).legal());
  EXPECT_EQ(ask(tiled, f16).kind, Support::Kind::not_applicable);
  EXPECT_EQ(ask(wmma, f32).kind, Support::Kind::not_applicable);
  EXPECT_EQ(ask(tiled, linear_program(2, 2, 2, DType::f32, DType::f32, true, "relu")).kind,
            Support::Kind::not_applicable);

  Program strided = f32;
  strided.tensors[1].strides = {10, 2};
  EXPECT_EQ(ask(tiled, strided).kind, Support::Kind::unsupported);
  GemmShape zero;
  zero.alpha = 0;
  EXPECT_TRUE(ask(tiled, gemm_program(zero, DType::f32, DType::f32)).legal());
  EXPECT_EQ(ask(cublas, gemm_program(zero, DType::f32, DType::f32)).kind, Support::Kind::unsupported);
}

TEST(SupportsCall, CastsAreToldApartByTheirInput) {
  const auto paths = make_paths(device(9, 0));
  Program program;
  program.tensors = {matrix("X", DType::bf16, 1, 3, 4, 0),
                     matrix("Y", DType::f32, 1, 3, 4, 0, TensorSpec::Role::output)};
  program.calls = {{"cast", {}, {0}, {1}}};
  const auto chosen = choose_path(paths, "direct_f32", program.calls[0], program);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ((*chosen)->implementation.input, DType::bf16);
  EXPECT_EQ(find_path(paths, (*chosen)->implementation), *chosen);

  program.tensors[0].dtype = DType::f64;
  const auto refused = choose_path(paths, "direct_f32", program.calls[0], program);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_NE(refused.error().message.find("f64"), std::string::npos) << refused.error().message;
  const auto unknown = choose_path(paths, "no_such_path", program.calls[0], program);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("no_such_path"), std::string::npos);
}

TEST(CudaError, SaysWhatToDo) {
  EXPECT_TRUE(is_sticky(cudaErrorIllegalAddress));
  EXPECT_FALSE(is_sticky(cudaErrorMemoryAllocation));
  EXPECT_NE(describe(cudaErrorIllegalAddress, "running").find("later sessions"), std::string::npos);
  EXPECT_NE(describe(cudaErrorInsufficientDriver, "x").find("driver"), std::string::npos);
  EXPECT_NE(describe(cudaErrorNoKernelImageForDevice, "x").find("PARITY_CUDA_ARCHITECTURES"),
            std::string::npos);
  EXPECT_EQ(check(cudaErrorMemoryAllocation, "x").error().kind, ErrorKind::unsupported);
  EXPECT_EQ(check(cudaErrorLaunchFailure, "x").error().kind, ErrorKind::device_failed);
  EXPECT_TRUE(check(cudaSuccess, "x").has_value());
}

}  // namespace
}  // namespace parity::cuda
