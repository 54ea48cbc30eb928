#include "backends/cuda/problem.hpp"

#include <gtest/gtest.h>

#include "backends/cuda/cublas_call.hpp"
#include "backends/cuda/gemm_steps.hpp"
#include "backends/cuda/test_programs.hpp"

namespace parity::cuda {
namespace {

Result<GemmProblem> problem_of(const Program& program) {
  const OpCall& call = program.calls[0];
  return call.op == "gemm" ? read_gemm(call, program) : read_linear(call, program);
}

/// Elements 1, 2, 3, ... so that every index has a value of its own.
std::vector<double> counted(const TensorSpec& spec) {
  std::vector<double> values(static_cast<std::size_t>(*storage_extent(spec.dtype, spec.shape, spec.strides)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 23) - 11;
  return values;
}

/// What cublasGemmStridedBatchedEx documents, in its own column-major terms.
void column_major_gemm(const CublasCall& c, const double* first, const double* second, double* result) {
  for (int b = 0; b < c.batch; ++b)
    for (int i = 0; i < c.m; ++i)
      for (int j = 0; j < c.n; ++j) {
        double sum = 0;
        for (int l = 0; l < c.k; ++l) {
          const double x = first[b * c.stride_first + (c.op_first == cublas_op_n
                                                           ? i + static_cast<std::int64_t>(l) * c.ld_first
                                                           : l + static_cast<std::int64_t>(i) * c.ld_first)];
          const double y =
              second[b * c.stride_second + (c.op_second == cublas_op_n
                                                ? l + static_cast<std::int64_t>(j) * c.ld_second
                                                : j + static_cast<std::int64_t>(l) * c.ld_second)];
          sum += x * y;
        }
        result[b * c.stride_result + i + static_cast<std::int64_t>(j) * c.ld_result] = sum;
      }
}

/// The same product in the op's row-major terms.
std::vector<double> row_major_gemm(const Program& program, const GemmShape& s, const std::vector<double>& a,
                                   const std::vector<double>& b, std::size_t result_size) {
  const Strides& sa = program.tensors[0].strides;
  const Strides& sb = program.tensors[1].strides;
  const Strides& sd = program.tensors[2].strides;
  const auto at = [](const Strides& strides, std::int64_t batch, std::int64_t r, std::int64_t c) {
    const std::size_t rank = strides.size();
    return static_cast<std::size_t>((rank == 3 ? batch * strides[0] : 0) + r * strides[rank - 2] +
                                    c * strides[rank - 1]);
  };
  std::vector<double> d(result_size, -1e9);
  for (std::int64_t q = 0; q < s.batch; ++q)
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < s.k; ++l)
          sum += a[s.trans_a ? at(sa, q, l, i) : at(sa, q, i, l)] *
                 b[s.trans_b ? at(sb, q, j, l) : at(sb, q, l, j)];
        d[at(sd, q, i, j)] = sum;
      }
  return d;
}

TEST(CublasCall, ColumnMajorCallComputesTheRowMajorProduct) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const std::int64_t batch : {1, 3})
        for (const bool share : {false, true})
          for (const std::int64_t pad : {0, 3})
            for (const std::array<std::int64_t, 3> mnk :
                 {std::array<std::int64_t, 3>{4, 5, 6}, {1, 5, 6}, {4, 1, 6}, {4, 5, 1}, {1, 1, 1}}) {
              const GemmShape s{mnk[0], mnk[1], mnk[2], batch, ta, tb, share, pad};
              const Program program = gemm_program(s, DType::f32, DType::f32);
              const auto problem = problem_of(program);
              ASSERT_TRUE(problem) << problem.error().message;
              ASSERT_TRUE(fits_cublas(*problem).legal());
              const CublasCall call = cublas_call(*problem);
              // What the library demands of its arguments.
              EXPECT_GE(call.ld_first, std::max(1, call.op_first == cublas_op_n ? call.m : call.k));
              EXPECT_GE(call.ld_second, std::max(1, call.op_second == cublas_op_n ? call.k : call.n));
              EXPECT_GE(call.ld_result, std::max(1, call.m));
              const auto a = counted(program.tensors[0]), b = counted(program.tensors[1]);
              const std::size_t size = counted(program.tensors[2]).size();
              std::vector<double> got(size, -1e9);
              column_major_gemm(call, b.data(), a.data(), got.data());
              EXPECT_EQ(got, row_major_gemm(program, s, a, b, size));
            }
}

TEST(CublasCall, RefusesWhatTheLibraryWouldDoDifferently) {
  GemmShape s;
  s.alpha = 0;
  auto problem = problem_of(gemm_program(s, DType::f32, DType::f32));
  ASSERT_TRUE(problem);
  EXPECT_FALSE(fits_cublas(*problem).legal());
  EXPECT_NE(fits_cublas(*problem).reason.find("alpha"), std::string::npos);

  s.alpha = 1;
  s.beta = 1;
  s.with_c = true;
  Program program = gemm_program(s, DType::f16, DType::f16);
  EXPECT_TRUE(fits_cublas(*problem_of(program)).legal());
  program.tensors[3].dtype = DType::f32;
  EXPECT_EQ(fits_cublas(*problem_of(program)).kind, Support::Kind::unsupported);

  program = gemm_program({}, DType::f32, DType::f32);
  program.tensors[0].strides = {std::int64_t{1} << 31, 1};
  EXPECT_EQ(fits_cublas(*problem_of(program)).kind, Support::Kind::unsupported);
}

TEST(CublasCall, IntegersStartOnFourBytesAndHaveNoFactors) {
  const auto support = [](const GemmShape& s) {
    const Program program = gemm_program(s, DType::i8, DType::i32);
    const auto problem = read_integer_gemm(program.calls[0], program);
    EXPECT_TRUE(problem) << problem.error().message;
    return fits_cublas_i8(*problem);
  };
  EXPECT_TRUE(support({4, 8, 12}).legal());
  EXPECT_TRUE(support({5, 8, 12}).legal()) << "rows of A are counted by nobody";
  EXPECT_TRUE(support({5, 7, 11, 1, false, true, false, 1}).legal()) << "11 + 1 of A and of B";
  EXPECT_NE(support({4, 8, 10}).reason.find("of A is 10"), std::string::npos);
  EXPECT_NE(support({4, 6, 12}).reason.find("of B is 6"), std::string::npos);
  EXPECT_NE(support({6, 8, 3, 1, true}).reason.find("of A is 6"), std::string::npos);
  EXPECT_TRUE(support({8, 8, 3, 1, true}).legal()) << "any k, where rows are not along it";
  EXPECT_TRUE(support({8, 8, 131071, 1, true}).legal()) << "as long as no sum can leave int32";
  EXPECT_NE(support({8, 8, 131072, 1, true}).reason.find("131072 products may leave int32"),
            std::string::npos);
  EXPECT_TRUE(support({3, 8, 12, 2}).legal());
  EXPECT_TRUE(support({3, 8, 12, 2, false, false, false, 0, 1, 1, true}).legal());
  EXPECT_NE(support({3, 8, 12, 2, false, false, false, 0, 1, 2, true}).reason.find("1 and 2"),
            std::string::npos);
  EXPECT_FALSE(support({3, 8, 12, 2, false, false, false, 0, -1}).legal());
  Program program = gemm_program({3, 8, 12, 2}, DType::i8, DType::i32);
  program.tensors[0].strides[0] = 38;
  const auto problem = read_integer_gemm(program.calls[0], program);
  ASSERT_TRUE(problem);
  EXPECT_NE(fits_cublas_i8(*problem).reason.find("38 apart"), std::string::npos);
}

TEST(GemmProblem, IntegersAreReadByKernelsOfTheirOwn) {
  GemmShape s{3, 4, 5, 2, true, true, true, 2, 3, -2, true};
  const Program program = gemm_program(s, DType::i8, DType::i32);
  EXPECT_EQ(read_gemm(program.calls[0], program).error().kind, ErrorKind::unsupported);
  const auto problem = read_integer_gemm(program.calls[0], program);
  ASSERT_TRUE(problem) << problem.error().message;
  StepContext context;
  context.tensors.assign(program.tensors.size(), nullptr);
  const IntegerGemm p = integer_gemm(context, *problem);
  EXPECT_EQ(p.a.row, 1);  // A is stored [k, m]
  EXPECT_EQ(p.a.col, s.m + s.pad);
  EXPECT_EQ(p.b.row, 1);  // B is stored [n, k]
  EXPECT_EQ(p.b.batch, 0);
  EXPECT_EQ(p.c.row, s.n + s.pad);
  EXPECT_EQ(p.d.batch, s.m * (s.n + s.pad));
  EXPECT_EQ(p.alpha, 3);
  EXPECT_EQ(p.beta, -2);

  s.alpha = 0.5;
  const Program half = gemm_program(s, DType::i8, DType::i32);
  EXPECT_NE(read_integer_gemm(half.calls[0], half).error().message.find("0.5"), std::string::npos);
  const Program wide = gemm_program({}, DType::i8, DType::f32);
  EXPECT_NE(read_integer_gemm(wide.calls[0], wide).error().message.find("take i32"), std::string::npos);
  const Program floats = gemm_program({}, DType::f16, DType::i32);
  EXPECT_NE(read_integer_gemm(floats.calls[0], floats).error().message.find("take i8"), std::string::npos);
}

TEST(GemmProblem, ReadsEveryTransposition) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const auto p = problem_of(gemm_program({7, 9, 11, 1, ta, tb}, DType::f16, DType::f32));
      ASSERT_TRUE(p) << p.error().message;
      EXPECT_EQ(p->m, 7);
      EXPECT_EQ(p->n, 9);
      EXPECT_EQ(p->k, 11);
      EXPECT_EQ(p->trans_a, ta);
      EXPECT_EQ(p->trans_b, tb);
    }
}

TEST(GemmProblem, KernelStridesAddressTheStoredElements) {
  const GemmShape s{3, 4, 5, 2, true, true, true, 2};
  const Program program = gemm_program(s, DType::f32, DType::f32);
  const auto problem = problem_of(program);
  ASSERT_TRUE(problem);
  StepContext context;
  context.tensors.assign(program.tensors.size(), nullptr);
  const GemmArguments arguments = gemm_arguments(context, *problem);
  EXPECT_EQ(arguments.a.row, 1);  // A is stored [k, m]: m is the fast axis
  EXPECT_EQ(arguments.a.col, s.m + s.pad);
  EXPECT_EQ(arguments.a.batch, s.k * (s.m + s.pad));
  EXPECT_EQ(arguments.b.row, 1);  // B is stored [n, k]
  EXPECT_EQ(arguments.b.col, s.k + s.pad);
  EXPECT_EQ(arguments.b.batch, 0);  // shared
  EXPECT_EQ(arguments.epilogue.d_row, s.n + s.pad);
}

TEST(GemmProblem, CIsTakenOnlyWhenBetaIsNotZero) {
  GemmShape s;
  s.with_c = true;
  EXPECT_FALSE(problem_of(gemm_program(s, DType::f32, DType::f32))->c);
  s.beta = -0.5;
  const auto with = problem_of(gemm_program(s, DType::f32, DType::f32));
  ASSERT_TRUE(with->c);
  EXPECT_EQ(with->c->id, 3);
}

TEST(GemmProblem, LinearTransposesItsWeightsAndReadsItsActivation) {
  const auto p = problem_of(linear_program(3, 8, 5, DType::bf16, DType::f32, true, "leaky_relu_squared"));
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->n, 8);
  EXPECT_EQ(p->k, 5);
  EXPECT_TRUE(p->trans_b);
  EXPECT_EQ(p->bias, 3);
  EXPECT_EQ(p->activation, Activation::leaky_relu_squared);
  const auto bad = problem_of(linear_program(3, 8, 5, DType::f32, DType::f32, false, "swish"));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("swish"), std::string::npos);
}

TEST(GemmProblem, RefusalsNameTheTensor) {
  const auto refused = [](Program program, std::string_view word) {
    const auto p = problem_of(program);
    ASSERT_FALSE(p) << word;
    EXPECT_EQ(p.error().kind, ErrorKind::unsupported) << p.error().message;
    EXPECT_NE(p.error().message.find("'A'"), std::string::npos) << p.error().message;
    EXPECT_NE(p.error().message.find(word), std::string::npos) << p.error().message;
  };
  Program program = gemm_program({}, DType::f32, DType::f32);
  program.tensors[0].strides = {12, 2};
  refused(program, "stride 2");
  program = gemm_program({}, DType::f64, DType::f64);
  refused(program, "f64");
  program = gemm_program({}, DType::f32, DType::f32);
  program.tensors[0].strides = {3, 1};
  refused(program, "overlap");
  program = gemm_program({}, DType::f32, DType::f32);
  program.tensors[0].shape = {4, std::int64_t{1} << 31};
  refused(program, "2^31");
  program = gemm_program({}, DType::f32, DType::f32);
  program.tensors[0].shape = {24};
  program.tensors[0].strides = {1};
  refused(program, "[rows, cols]");
}

}  // namespace
}  // namespace parity::cuda
