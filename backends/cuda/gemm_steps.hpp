#pragma once
#include "backends/cuda/integer_gemm.hpp"
#include "backends/cuda/problem.hpp"
#include "backends/cuda/step.hpp"

namespace parity::cuda {

/// Makes the step of one kernel for a problem that fits it.
using MakeGemmStep = Result<std::unique_ptr<Step>> (*)(StepContext& context, const GemmProblem& problem);

Result<std::unique_ptr<Step>> make_tiled_step(StepContext& context, const GemmProblem& problem);
Result<std::unique_ptr<Step>> make_wmma_step(StepContext& context, const GemmProblem& problem);
Result<std::unique_ptr<Step>> make_wmma_f16_step(StepContext& context, const GemmProblem& problem);
/// 8-bit integers with 32-bit sums that wrap.
Result<std::unique_ptr<Step>> make_tiled_i8_step(StepContext& context, const GemmProblem& problem);
Result<std::unique_ptr<Step>> make_wmma_i8_step(StepContext& context, const GemmProblem& problem);
/// What the library says it does not support when it is called ends the run as unsupported, with its word for
/// it.
Result<std::unique_ptr<Step>> make_cublas_i8_step(StepContext& context, const GemmProblem& problem);
/// Plain fp32, pedantic: no TF32 and no emulation whatever the environment says.
Result<std::unique_ptr<Step>> make_cublas_f32_step(StepContext& context, const GemmProblem& problem);
Result<std::unique_ptr<Step>> make_cublas_tf32_step(StepContext& context, const GemmProblem& problem);
/// fp16 or bf16 inputs, FP32 accumulation.
Result<std::unique_ptr<Step>> make_cublas_narrow_step(StepContext& context, const GemmProblem& problem);
/// fp16 throughout: an fp16 product, which our own epilogue finishes where alpha, C, a bias, an activation or
/// an fp32 result asks for more.
Result<std::unique_ptr<Step>> make_cublas_f16_step(StepContext& context, const GemmProblem& problem);

/// The vendor's library for the session's steps, made by the first that asks; unsupported, with the reason,
/// where there is none.
Result<const CublasContext*> cublas_of(StepContext& context);

/// Addresses and strides for the kernels; transpositions become swapped strides.
GemmArguments gemm_arguments(const StepContext& context, const GemmProblem& problem);
/// The same for a problem of integers.
IntegerGemm integer_gemm(const StepContext& context, const GemmProblem& problem);

}  // namespace parity::cuda
