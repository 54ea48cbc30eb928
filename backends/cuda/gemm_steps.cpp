// Steps that run this project's own kernels.
#include "backends/cuda/gemm_steps.hpp"
#include "backends/cuda/kernel_step.hpp"

namespace parity::cuda {

namespace {

MatrixPointer pointer(const StepContext& context, const MatrixPort& port, bool transposed) {
  MatrixPointer p;
  p.data = context.address(port.id);
  p.row = transposed ? port.col_stride : port.row_stride;
  p.col = transposed ? port.row_stride : port.col_stride;
  p.batch = port.batch_stride;
  p.element = element_of(port.dtype).value_or(Element::f32);  // read_gemm has refused the others
  return p;
}

}  // namespace

GemmArguments gemm_arguments(const StepContext& context, const GemmProblem& problem) {
  GemmArguments p;
  p.m = static_cast<int>(problem.m);
  p.n = static_cast<int>(problem.n);
  p.k = static_cast<int>(problem.k);
  p.batch = static_cast<int>(problem.batch);
  p.a = pointer(context, problem.a, problem.trans_a);
  p.b = pointer(context, problem.b, problem.trans_b);
  Epilogue& e = p.epilogue;
  e.alpha = problem.alpha;
  e.beta = problem.beta;
  if (problem.c) e.c = pointer(context, *problem.c, false);
  if (problem.bias) {
    e.bias = context.address(*problem.bias);
    e.bias_stride = problem.bias_stride;
    e.bias_element = element_of(problem.bias_dtype).value_or(Element::f32);
  }
  e.activation = problem.activation;
  const MatrixPointer d = pointer(context, problem.d, false);
  e.d = context.address(problem.d.id);
  e.d_row = d.row;
  e.d_col = d.col;
  e.d_batch = d.batch;
  e.d_element = d.element;
  return p;
}

Result<std::unique_ptr<Step>> make_tiled_step(StepContext& context, const GemmProblem& problem) {
  return make_kernel_step(context, launch_tiled_f32, "launching tiled_f32", gemm_arguments(context, problem));
}

Result<std::unique_ptr<Step>> make_wmma_step(StepContext& context, const GemmProblem& problem) {
  return make_kernel_step(context, launch_wmma, "launching wmma", gemm_arguments(context, problem));
}

Result<std::unique_ptr<Step>> make_wmma_f16_step(StepContext& context, const GemmProblem& problem) {
  return make_kernel_step(context, launch_wmma_f16, "launching wmma with fp16 accumulators",
                          gemm_arguments(context, problem));
}

}  // namespace parity::cuda
