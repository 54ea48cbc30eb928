// On a device: results against exact expectations. Without one these tests are skipped, with the reason.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/problem.hpp"
#include "backends/cuda/test_programs.hpp"
#include "harness/tensor/convert.hpp"
#include "harness/tensor/fill.hpp"
#include "harness/tensor/poison.hpp"

namespace parity::cuda {
namespace {

TEST(CudaBackend, SaysWhyThereIsNoDevice) {
  const auto devices = make_cuda_backend({})->devices();
  if (devices) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(devices.error().kind, ErrorKind::missing_device);
  EXPECT_GT(devices.error().message.size(), 20U);
}

class CudaDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { open({}); }
  void open(const BackendOptions& options) {
    auto devices = make_cuda_backend(options)->devices();
    if (!devices) GTEST_SKIP() << devices.error().message;
    device_ = std::move(devices->front());
  }

  struct Outcome {
    Tensor result;
    std::vector<Tensor> inputs;
    std::string refused;  ///< what the vendor's library says it has no kernel for
  };

  /// Integers, or normal numbers, in every input; NaN in every pad, the output poisoned. Fails the test
  /// on damaged guards and pads and on elements that were never written.
  Outcome run(const Program& program, const std::string& path, bool integers, std::uint64_t seed = 1) {
    Outcome outcome;
    auto session = device_->load(program, {path});
    EXPECT_TRUE(session) << (session ? "" : session.error().message);
    if (!session) return outcome;
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
      const TensorSpec& spec = program.tensors[t];
      Tensor tensor = *Tensor::create(spec.dtype, spec.shape, spec.strides);
      if (spec.role == TensorSpec::Role::output) {
        poison_all(tensor, Poison::unwritten);
      } else {
        fill(tensor, integers, seed, static_cast<std::uint32_t>(t));
      }
      poison_pads(tensor, Poison::guard);
      const auto written = (*session)->write(static_cast<TensorId>(t), tensor);
      EXPECT_TRUE(written) << (written ? "" : written.error().message);
      outcome.inputs.push_back(std::move(tensor));
    }
    const auto timing = (*session)->run();
    if (!timing && timing.error().kind == ErrorKind::unsupported && path == "cublas_i8_i32") {
      outcome.refused = timing.error().message;
      return outcome;
    }
    EXPECT_TRUE(timing) << (timing ? "" : timing.error().message);
    const auto damage = (*session)->check_guards();
    EXPECT_TRUE(damage && damage->empty()) << "guard zones";
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
      auto tensor = (*session)->read(static_cast<TensorId>(t));
      EXPECT_TRUE(tensor) << (tensor ? "" : tensor.error().message);
      if (!tensor) continue;
      EXPECT_TRUE(damaged_pads(*tensor).empty()) << program.tensors[t].name;
      if (t == 2) outcome.result = *std::move(tensor);
    }
    return outcome;
  }

  static void fill(Tensor& tensor, bool integers, std::uint64_t seed, std::uint32_t stream) {
    if (!integers) {
      FillRequest request;
      request.seed = seed;
      request.stream = stream;
      return fill_tensor(tensor, request);
    }
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const std::uint32_t word = philox(seed, static_cast<std::uint64_t>(i), stream).word[0];
      const bool byte = tensor.dtype() == DType::i8;  // all of them are exact
      tensor.set_value(i, byte ? static_cast<double>(word % 256) - 128 : static_cast<double>(word % 7) - 3);
    }
  }

  /// alpha op(A) op(B) + beta C in fp64, exact for integers.
  static std::vector<double> expected(const GemmShape& s, const std::vector<Tensor>& inputs) {
    const std::vector<double> a = to_doubles(inputs[0]), b = to_doubles(inputs[1]);
    const std::vector<double> c = s.with_c && s.beta != 0 ? to_doubles(inputs[3]) : std::vector<double>{};
    std::vector<double> d;
    for (std::int64_t q = 0; q < s.batch; ++q)
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
          double sum = 0;
          const std::int64_t qb = s.share_b ? 0 : q;
          for (std::int64_t l = 0; l < s.k; ++l) {
            const std::int64_t ia = s.trans_a ? (q * s.k + l) * s.m + i : (q * s.m + i) * s.k + l;
            const std::int64_t ib = s.trans_b ? (qb * s.n + j) * s.k + l : (qb * s.k + l) * s.n + j;
            sum += a[static_cast<std::size_t>(ia)] * b[static_cast<std::size_t>(ib)];
          }
          sum *= s.alpha;
          if (!c.empty()) sum += s.beta * c[d.size()];
          d.push_back(sum);
        }
    return d;
  }

  /// Every path for `op`, with each of its stores, that is legal for the program it makes.
  template <class MakeProgram, class Check>
  void for_paths(const std::string& op, const MakeProgram& make_program, const Check& check_path) {
    for (const Implementation& i : device_->implementations()) {
      if (i.op != op) continue;
      for (const DType store : i.stores) {
        Program program = make_program(i.input, store);
        program.accumulate = i.accumulate;
        if (!device_->supports(i, program.calls[0], program).legal()) continue;
        SCOPED_TRACE(i.path + " -> " + std::string(name_of(store)));
        check_path(program, i, store);
      }
    }
  }

  void expect_exact(const GemmShape& s) {
    SCOPED_TRACE("m " + std::to_string(s.m) + " n " + std::to_string(s.n) + " k " + std::to_string(s.k) +
                 " batch " + std::to_string(s.batch) + (s.trans_a ? " ta" : "") + (s.trans_b ? " tb" : "") +
                 " pad " + std::to_string(s.pad));
    for_paths(
        "gemm", [&](DType input, DType store) { return gemm_program(s, input, store); },
        [&](const Program& program, const Implementation& i, DType store) {
          const Outcome outcome = run(program, i.path, true);
          if (!outcome.refused.empty()) return note(outcome.refused);
          Tensor want = *Tensor::create(store, program.tensors[2].shape);
          narrow(expected(s, outcome.inputs), want);
          expect_equal(outcome.result, want);
        });
  }

  /// Shows in the test's output; no failure.
  static void note(const std::string& text) { std::printf("[   NOTE   ] %s\n", text.c_str()); }

  static void expect_equal(const Tensor& got, const Tensor& want) {
    ASSERT_EQ(got.elements(), want.elements());
    std::int64_t wrong = 0, first = -1;
    for (std::int64_t i = 0; i < want.elements(); ++i) {
      // -0 and +0 are one value: which of them a library returns for an exact zero is not its contract.
      if (got.bits(i) == want.bits(i) || (got.value(i) == 0 && want.value(i) == 0)) continue;
      if (wrong++ == 0) first = i;
    }
    EXPECT_EQ(wrong, 0) << "first at " << first << ": " << (first < 0 ? 0 : got.value(first)) << ", not "
                        << (first < 0 ? 0 : want.value(first));
  }

  std::unique_ptr<Device> device_;
};

TEST_F(CudaDeviceTest, GemmIsExactOnIntegersOverTails) {
  for (const std::int64_t k : {1, 7, 16, 33, 588}) {
    expect_exact({1, 1, k});
    expect_exact({17, 31, k, 1, false, false, false, 3});
    expect_exact({65, 63, k});
    expect_exact({130, 129, k, 1, false, true, false, 4});
  }
  expect_exact({1, 257, 64});
  expect_exact({257, 1, 64});
}

TEST_F(CudaDeviceTest, GemmIsExactOverTranspositionsStridesAndBatches) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const std::int64_t pad : {0, 1, 8}) {
        expect_exact({64, 64, 64, 1, ta, tb, false, pad});
        expect_exact({33, 70, 41, 3, ta, tb, false, pad, 0.5, -2, true});
        expect_exact({40, 24, 16, 2, ta, tb, true, pad, -1, 1, true});
      }
}

TEST_F(CudaDeviceTest, LargeTilesAreExactToo) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) expect_exact({140, 150, 37, 40, ta, tb, true, ta ? 8 : 1});
}

TEST_F(CudaDeviceTest, EmptyDimensions) {
  expect_exact({0, 5, 6});
  expect_exact({5, 0, 6});
  expect_exact({5, 6, 4, 0});
  expect_exact({5, 6, 0});
  expect_exact({5, 6, 0, 2, false, true, false, 2, 1, -2, true});
}

TEST_F(CudaDeviceTest, IntegerSumsWrap) {
  // -128 everywhere: k products of 2^14, over 2^31 from k = 2^17 on. And 3 times that, and C.
  for (const std::int64_t k : {(1 << 17) - 4, 1 << 17, (1 << 17) + 4})
    for (const bool scaled : {false, true})
      for (const bool tb : {false, true}) {
        GemmShape s{65, 68, k, 1, false, tb};
        s.with_c = scaled;
        s.alpha = scaled ? 3 : 1;
        s.beta = scaled ? -2 : 0;
        Program program = gemm_program(s, DType::i8, DType::i32);
        program.accumulate = DType::i32;
        for (const char* path : {"tiled_i8_i32", "wmma_i8_i32", "cublas_i8_i32"}) {
          // cuBLAS promises nothing of sums that leave int32: refused by its plan, see problem_test.cpp.
          if (std::string_view(path).starts_with("cublas") && (scaled || k >= 1 << 17)) continue;
          SCOPED_TRACE(std::string(path) + " k " + std::to_string(k) + (tb ? " tb" : "") +
                       (scaled ? " scaled" : ""));
          auto session = device_->load(program, {path});
          ASSERT_TRUE(session) << session.error().message;
          for (const TensorSpec& spec : program.tensors) {
            if (spec.role != TensorSpec::Role::input) continue;
            Tensor tensor = *Tensor::create(spec.dtype, spec.shape, spec.strides);
            for (std::int64_t e = 0; e < tensor.elements(); ++e)
              tensor.set_value(e, spec.dtype == DType::i8 ? -128 : 2147483647);
            ASSERT_TRUE((*session)->write(static_cast<TensorId>(&spec - program.tensors.data()), tensor));
          }
          const auto timing = (*session)->run();
          if (!timing && timing.error().kind == ErrorKind::unsupported) {
            note(timing.error().message);
            continue;
          }
          ASSERT_TRUE(timing) << timing.error().message;
          const auto d = (*session)->read(2);
          ASSERT_TRUE(d);
          const std::int64_t sum = scaled ? 3 * k * 16384 - 2 * std::int64_t{2147483647} : k * 16384;
          for (std::int64_t e = 0; e < d->elements(); ++e)
            ASSERT_EQ(d->value(e), static_cast<double>(static_cast<std::int32_t>(sum))) << e;
        }
      }
}

TEST_F(CudaDeviceTest, BetaZeroDoesNotReadC) {
  GemmShape s{33, 17, 20};
  s.with_c = true;
  for_paths(
      "gemm", [&](DType input, DType store) { return gemm_program(s, input, store); },
      [&](const Program& program, const Implementation& i, DType) {
        auto session = device_->load(program, {i.path});
        ASSERT_TRUE(session) << session.error().message;
        for (const TensorId t : {0, 1, 3}) {
          const TensorSpec& spec = program.spec(t);
          Tensor tensor = *Tensor::create(spec.dtype, spec.shape, spec.strides);
          if (t == 3) poison_all(tensor, Poison::guard);
          ASSERT_TRUE((*session)->write(t, tensor));
        }
        const auto timing = (*session)->run();
        if (!timing && timing.error().kind == ErrorKind::unsupported) return note(timing.error().message);
        ASSERT_TRUE(timing) << timing.error().message;
        const auto d = (*session)->read(2);
        ASSERT_TRUE(d);
        for (std::int64_t e = 0; e < d->elements(); ++e) ASSERT_EQ(d->value(e), 0.0);
      });
}

TEST_F(CudaDeviceTest, TiledIsOneFmaChainToTheBit) {
  for (const std::array<std::int64_t, 4>& size :
       {std::array<std::int64_t, 4>{33, 47, 85, 1}, {70, 65, 588, 1}, {130, 129, 19, 70}}) {
    const GemmShape s{size[0], size[1], size[2], size[3]};
    const Outcome outcome = run(gemm_program(s, DType::f32, DType::f32), "tiled_f32", false);
    std::int64_t wrong = 0, e = 0;
    for (std::int64_t q = 0; q < s.batch; ++q)
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j, ++e) {
          float acc = 0;
          for (std::int64_t l = 0; l < s.k; ++l)
            acc = std::fma(static_cast<float>(outcome.inputs[0].value((q * s.m + i) * s.k + l)),
                           static_cast<float>(outcome.inputs[1].value((q * s.k + l) * s.n + j)), acc);
          wrong += std::bit_cast<std::uint32_t>(acc) != outcome.result.bits(e);
        }
    EXPECT_EQ(wrong, 0) << "k " << s.k;
  }
}

TEST_F(CudaDeviceTest, LinearIsExactOnIntegers) {
  for (const char* activation : {"identity", "relu", "leaky_relu_squared"})
    for (const bool bias : {false, true})
      for (const std::int64_t k : {0, 5, 33})
        for_paths(
            "linear",
            [&](DType input, DType store) {
              return linear_program(37, 70, k, input, store, bias, activation, 3);
            },
            [&](const Program& program, const Implementation& i, DType store) {
              const Outcome outcome = run(program, i.path, true);
              std::vector<double> y = expected({37, 70, k, 1, false, true}, outcome.inputs);
              for (std::size_t e = 0; e < y.size(); ++e) {
                if (bias) y[e] += outcome.inputs[3].value(static_cast<std::int64_t>(e % 70));
                const std::string_view name = activation;
                if (name == "relu") y[e] = y[e] < 0 ? 0 : y[e];
                if (name == "leaky_relu_squared") y[e] = y[e] > 0 ? y[e] * y[e] : y[e] * y[e] / 4;
              }
              Tensor want = *Tensor::create(store, {37, 70});
              narrow(y, want);
              expect_equal(outcome.result, want);
            });
}

TEST_F(CudaDeviceTest, FunctionsKeepTheirDeclaredAccuracy) {
  // W = 1, K = 1, no bias: Y = f(X), over the whole range and its subnormals.
  constexpr std::int64_t count = 4096;
  for (const std::string name : {"sigmoid", "tanh", "exp"}) {
    const Program program = linear_program(count, 1, 1, DType::f32, DType::f32, false, name);
    for (const Implementation& i : device_->implementations()) {
      if (i.op != "linear" || i.path != "tiled_f32") continue;
      const FunctionAccuracy accuracy =
          name == "sigmoid" ? i.contract.sigmoid : (name == "tanh" ? i.contract.tanh : i.contract.exp);
      auto session = device_->load(program, {i.path});
      ASSERT_TRUE(session) << session.error().message;
      Tensor x = *Tensor::create(DType::f32, {count, 1}), w = *Tensor::create(DType::f32, {1, 1});
      for (std::int64_t e = 0; e < count; ++e) {
        const double span = e % 2 == 0 ? 104.0 : 1e-3;
        x.set_value(e, span * (2.0 * static_cast<double>(e) / (count - 1) - 1.0));
      }
      x.set_value(0, std::numeric_limits<double>::quiet_NaN());
      w.set_value(0, 1);
      ASSERT_TRUE((*session)->write(0, x));
      ASSERT_TRUE((*session)->write(1, w));
      ASSERT_TRUE((*session)->run());
      const auto y = (*session)->read(2);
      ASSERT_TRUE(y);
      EXPECT_TRUE(std::isnan(y->value(0))) << "a NaN passes through " << name;
      for (std::int64_t e = 1; e < count; ++e) {
        const double v = x.value(e);
        const double want =
            name == "sigmoid" ? 1 / (1 + std::exp(-v)) : (name == "tanh" ? std::tanh(v) : std::exp(v));
        if (want > largest_finite(format_of(DType::f32))) continue;
        const double bound = 2 * accuracy.base_ulp * 0x1p-24 * std::abs(want) + accuracy.absolute;
        ASSERT_LE(std::abs(y->value(e) - want), bound * 1.0000001) << name << "(" << v << ")";
      }
    }
  }
}

TEST_F(CudaDeviceTest, ANaNReachesExactlyItsRow) {
  const GemmShape s{65, 66, 70};
  for_paths(
      "gemm", [&](DType input, DType store) { return gemm_program(s, input, store); },
      [&](const Program& program, const Implementation& i, DType) {
        if (!is_float(i.input)) return;
        auto session = device_->load(program, {i.path});
        ASSERT_TRUE(session) << session.error().message;
        for (const TensorId t : {0, 1}) {
          Tensor tensor =
              *Tensor::create(program.spec(t).dtype, program.spec(t).shape, program.spec(t).strides);
          fill(tensor, true, 3, static_cast<std::uint32_t>(t));
          if (t == 0) tensor.set_value(64 * s.k + 69, std::numeric_limits<double>::quiet_NaN());
          ASSERT_TRUE((*session)->write(t, tensor));
        }
        ASSERT_TRUE((*session)->run());
        const auto d = (*session)->read(2);
        ASSERT_TRUE(d);
        for (std::int64_t e = 0; e < d->elements(); ++e)
          ASSERT_EQ(std::isnan(d->value(e)), e / s.n == 64) << e;
      });
}

TEST_F(CudaDeviceTest, TimeLimitEndsTheSessionNotTheProcess) {
  const GemmShape s{2048, 2048, 2048};
  {
    BackendOptions hasty;
    hasty.timeout_seconds = 1e-9;
    open(hasty);
    auto session = device_->load(gemm_program(s, DType::f32, DType::f32), {"tiled_f32"});
    ASSERT_TRUE(session) << session.error().message;
    const auto timing = (*session)->run();
    ASSERT_FALSE(timing);
    EXPECT_EQ(timing.error().kind, ErrorKind::timed_out);
    EXPECT_FALSE((*session)->read(2)) << "a dead session stays dead";
  }
  open({});
  expect_exact({16, 16, 16});
}

TEST_F(CudaDeviceTest, TooLargeForTheDeviceIsAClearError) {
  const GemmShape s{1 << 18, 1 << 19, 1};  // D alone: 512 GiB
  const auto session = device_->load(gemm_program(s, DType::f32, DType::f32), {"tiled_f32"});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::unsupported) << session.error().message;
  EXPECT_NE(session.error().message.find("'D'"), std::string::npos) << session.error().message;
  expect_exact({16, 16, 16});  // and it leaves no error behind
}

}  // namespace
}  // namespace parity::cuda
