#include "backends/cuda/cublas_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace parity::cuda {

namespace {

/// The interface wants ld >= max(1, row length), even where a single row makes it meaningless.
std::int64_t leading_dimension(const MatrixPort& port) {
  return std::max<std::int64_t>({port.row_stride, port.cols, 1});
}

}  // namespace

Support fits_cublas(const GemmProblem& problem) {
  using Kind = Support::Kind;
  for (const MatrixPort* port : {&problem.a, &problem.b, &problem.d}) {
    const std::int64_t ld = leading_dimension(*port);
    if (ld > std::numeric_limits<int>::max()) {
      return {Kind::unsupported, fmt::format("cuBLAS takes leading dimensions up to 2^31 - 1, not {}", ld)};
    }
  }
  if (problem.c && problem.c->dtype != problem.d.dtype) {
    return {Kind::unsupported,
            fmt::format("cuBLAS adds to its result in place: C ({}) must have D's dtype ({})",
                        name_of(problem.c->dtype), name_of(problem.d.dtype))};
  }
  if (problem.alpha == 0) {
    return {Kind::unsupported,
            "cuBLAS does not read A and B when alpha is 0, so their NaN and Inf would not show"};
  }
  return {};
}

/// The most products of int8, each at most 2^14, whose sum is below 2^31.
constexpr std::int64_t longest_int8_sum = (std::int64_t{1} << 17) - 1;

Support fits_cublas_i8(const GemmProblem& problem) {
  // The manual of cublasGemmEx: compute type 32I wants A and B on four bytes, lda and ldb in multiples of
  // four, and alpha and beta of 0 or 1. A tensor starts on a guard zone, whose size is one; an entry of a
  // batch must do so too.
  struct Factor {
    const char* name;
    const MatrixPort& port;
  };
  for (const Factor& factor : {Factor{"A", problem.a}, Factor{"B", problem.b}}) {
    const std::int64_t ld = leading_dimension(factor.port);
    if (ld % 4 != 0) {
      return {
          Support::Kind::unsupported,
          fmt::format("cuBLAS multiplies int8 matrices whose leading dimension is a multiple of 4; that of "
                      "{} is {}",
                      factor.name, ld)};
    }
    if (factor.port.batch_stride % 4 != 0) {
      return {Support::Kind::unsupported,
              fmt::format("cuBLAS multiplies int8 matrices that start on 4 bytes; those of {} are {} apart",
                          factor.name, factor.port.batch_stride)};
    }
  }
  if (problem.k > longest_int8_sum) {
    return {
        Support::Kind::unsupported,
        fmt::format("sums of {} products may leave int32, and cuBLAS does not say what they become: on an "
                    "H200 some of its kernels wrap around and others saturate; up to k = {} none can",
                    problem.k, longest_int8_sum)};
  }
  if (problem.alpha != 1 || (problem.c && problem.beta != 1)) {
    return {Support::Kind::unsupported,
            fmt::format("cuBLAS multiplies int8 matrices with alpha and beta of 0 or 1, not {} and {}",
                        problem.alpha, problem.beta)};
  }
  return fits_cublas(problem);
}

CublasCall cublas_call(const GemmProblem& problem) {
  CublasCall call;
  call.op_first = problem.trans_b ? cublas_op_t : cublas_op_n;
  call.op_second = problem.trans_a ? cublas_op_t : cublas_op_n;
  call.m = static_cast<int>(problem.n);
  call.n = static_cast<int>(problem.m);
  call.k = static_cast<int>(problem.k);
  call.ld_first = static_cast<int>(leading_dimension(problem.b));
  call.ld_second = static_cast<int>(leading_dimension(problem.a));
  call.ld_result = static_cast<int>(leading_dimension(problem.d));
  call.stride_first = problem.b.batch_stride;
  call.stride_second = problem.a.batch_stride;
  call.stride_result = problem.d.batch_stride;
  call.batch = static_cast<int>(problem.batch);
  return call;
}

}  // namespace parity::cuda
