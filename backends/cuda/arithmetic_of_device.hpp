#pragma once
#include <optional>
#include <vector>

#include "backends/cuda/device_traits.hpp"
#include "harness/numerics/arithmetic_model.hpp"

namespace parity::cuda {

// What each path computes with, as far as it is known: docs/numerics.md, section 2, and the CUDA C++
// Programming Guide, "Mathematical Functions". Plain functions of the compute capability.

/// A tensor core's adder by compute capability, for products of `input` (f16, bf16, or f32 meaning TF32).
struct TensorCore {
  std::vector<MultiTermAdder> adders;  ///< most likely first
  bool certain = false;                ///< published and measured: exactly one adder
};
TensorCore tensor_core_of(const DeviceTraits& traits, DType input);
/// The same with an fp16 accumulator, for products of fp16: its sums are rounded to nearest even.
TensorCore tensor_core_f16(const DeviceTraits& traits);

/// The functions of our own kernels: what the CUDA C++ Programming Guide promises of expf, tanhf and logf,
/// and what follows for epilogue.cuh's sigmoid and rows.cu's 1 / sqrt(x), with the derivations.
void set_function_accuracy(ArithmeticModel& model);

/// tiled_f32: one fp32 fma chain in k order.
ArithmeticModel tiled_model();
/// wmma: the tensor core in steps along k; the first adder of the device's tensor core.
ArithmeticModel wmma_model(DType input, DType accumulate, const MultiTermAdder& adder);

// The ops around the products (direct_f32). All in fp32; every operation that is not part of a reduction is
// rounded on its own, subnormals are kept.
/// No reduction.
ArithmeticModel elementwise_model();
/// row_loop.cuh over a row or a group of its columns, and over a whole tensor: strided lanes, each a chain of
/// fma.
ArithmeticModel row_model();
ArithmeticModel whole_model();
/// One chain of fma in sequence: column reductions, and every sum of attention.cu.
ArithmeticModel chain_model();
/// atomicAdd: in no order that could be named, and it may flush subnormals.
ArithmeticModel atomic_model();

/// A vendor's path: order unknown, bounds that cover what it may legally do.
ArithmeticModel vendor_contract(DType input, const FloatFormat& multiply, bool tensor_core);
/// The same with an fp16 accumulator. Whatever the steps, a sum is rounded to nearest at most once a term.
ArithmeticModel f16_contract();
/// Arithmetics that a vendor's path may follow, most likely first. `gemm`: alpha and beta are applied inside
/// the library, with or without contraction.
std::vector<ArithmeticModel> vendor_candidates(const ArithmeticModel& contract,
                                               const std::vector<MultiTermAdder>& adders, bool gemm);

}  // namespace parity::cuda
