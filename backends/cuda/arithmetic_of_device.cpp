#include "backends/cuda/arithmetic_of_device.hpp"

#include "backends/cuda/tensor_view.hpp"

namespace parity::cuda {

TensorCore tensor_core_of(const DeviceTraits& traits, DType input) {
  const bool tf32 = input == DType::f32;
  switch (traits.major) {
    case 7:
      // Volta adds 4 products to the accumulator and keeps 23 bits. Of Turing only the 24 bits are settled.
      if (traits.minor < 5) return {{{4, 23}}, true};
      return {{{4, 24}, {8, 24}}, false};
    case 8:
      if (tf32) return {{{4, 24}}, false};
      return {{{8, 24}}, true};
    case 9:
      // One K of the instruction, measured on an H200, bit for bit: 16 for the 16-bit formats, 8 for TF32.
      if (tf32) return {{{8, 25}}, true};
      return {{{16, 25}}, true};
    case 10:
    case 12:
      if (tf32) return {{{8, 25}, {4, 25}}, false};
      return {{{16, 25}}, true};
    default:
      break;
  }
  return {{{16, 25}, {8, 25}, {8, 24}}, false};
}

TensorCore tensor_core_f16(const DeviceTraits& traits) {
  // Published (MMA-Sim): terms and fraction bits as with an fp32 accumulator, the exact sum rounded to
  // nearest. Measured on an H200, bit for bit.
  TensorCore core = tensor_core_of(traits, DType::f16);
  for (MultiTermAdder& adder : core.adders) adder.rounding = Rounding::nearest_even;
  core.certain = traits.major == 9;
  return core;
}

void set_function_accuracy(ArithmeticModel& model) {
  constexpr double eta = 0x1p-149;  // spacing of fp32 subnormals, where an ULP is no longer relative
  // CUDA C++ Programming Guide, "Mathematical Functions", maximal errors of the single-precision functions:
  // expf and tanhf 2 ULP, logf 1 ULP over the full range, subnormal results included.
  model.exp = {2, 0, 2 * eta};
  model.tanh = {2, 0, 2 * eta};
  model.log = {1, 0, eta};
  // The same table: x / y and sqrtf are correctly rounded (__fdiv_rn, __fsqrt_rn whatever the flags), and so
  // is
  // __frcp_rn.
  model.divide = {};
  model.sqrt = {};
  // 1 / sqrt(x) = (1 / (sqrt(x) (1 + d))) (1 + d'), |d|, |d'| <= u: 2u relative, that is 1 ULP, and terms
  // below 2 u^2. Neither the root nor its reciprocal is ever subnormal.
  model.inverse_sqrt = {1.00001, 0, 0};
  // sigmoid(x) = s/(1+e) with e = exp(-|x|) <= 1 and s = 1 or e. Let e carry a relative error d, |d| <= 4u (2
  // ULP).
  //   s = 1: the quotient moves by -e/(1+e) d, at most d/2:   2u
  //   s = e: the quotient moves by 1/(1+e) d, at most d:      4u
  // The sum rounds once (u) and the division is correctly rounded (u): at most 6u relative, that is 3 ULP;
  // the second-order terms, below 20 u^2, are covered by the last digit. For subnormal e the error is 2 eta
  // and the quotient's rounding eta/2, absolute.
  model.sigmoid = {3.00001, 0, 3 * eta};
}

namespace {

ArithmeticModel fp32_accumulation(DType input, const FloatFormat& multiply) {
  ArithmeticModel model;
  model.precision = {input, multiply, DType::f32, DType::f32, DType::f32};
  model.denormals = Denormals::preserve;  // nothing is built with -ftz
  set_function_accuracy(model);
  return model;
}

}  // namespace

ArithmeticModel tiled_model() {
  ArithmeticModel model = fp32_accumulation(DType::f32, format_of(DType::f32));
  model.accumulation = Accumulation{{SummationOrder::Kind::sequential, 0, 0}, MultiplyAdd::fused, {}};
  return model;
}

ArithmeticModel wmma_model(DType input, DType accumulate, const MultiTermAdder& adder) {
  ArithmeticModel model = fp32_accumulation(input, format_of(input));
  model.precision.accumulate = accumulate;
  model.accumulation = Accumulation{{SummationOrder::Kind::sequential, 0, 0}, MultiplyAdd::multi_term, adder};
  model.may_truncate = accumulate == DType::f32;
  model.adder_terms = adder.terms;
  return model;
}

namespace {

ArithmeticModel kernel_model(const SummationOrder& order, MultiplyAdd multiply_add) {
  ArithmeticModel model = fp32_accumulation(DType::f32, format_of(DType::f32));
  model.accumulation = Accumulation{order, multiply_add, {}};
  return model;
}

}  // namespace

ArithmeticModel elementwise_model() {
  return kernel_model({SummationOrder::Kind::sequential, 0, 0}, MultiplyAdd::separate);
}

ArithmeticModel row_model() {
  return kernel_model({SummationOrder::Kind::strided, row_lanes, 0}, MultiplyAdd::fused);
}

ArithmeticModel whole_model() {
  return kernel_model({SummationOrder::Kind::strided, whole_lanes, 0}, MultiplyAdd::fused);
}

ArithmeticModel chain_model() {
  return kernel_model({SummationOrder::Kind::sequential, 0, 0}, MultiplyAdd::fused);
}

ArithmeticModel atomic_model() {
  ArithmeticModel model = fp32_accumulation(DType::f32, format_of(DType::f32));
  // PTX ISA, "atom": atom.add.f32 on global memory flushes subnormal inputs and results to zero in current
  // implementations.
  model.denormals = Denormals::either;
  return model;
}

ArithmeticModel vendor_contract(DType input, const FloatFormat& multiply, bool tensor_core) {
  ArithmeticModel model = fp32_accumulation(input, multiply);
  model.may_truncate = tensor_core;
  model.denormals = Denormals::either;  // the library's manual does not say
  // A conversion to TF32 by the hardware drops bits; a kernel may round first. Truncation covers both.
  if (multiply != format_of(input)) model.multiply_rounding = Rounding::toward_zero;
  return model;
}

ArithmeticModel f16_contract() {
  ArithmeticModel model = fp32_accumulation(DType::f16, format_of(DType::f16));
  model.precision.accumulate = DType::f16;
  return model;
}

std::vector<ArithmeticModel> vendor_candidates(const ArithmeticModel& contract,
                                               const std::vector<MultiTermAdder>& adders, bool gemm) {
  using Kind = SummationOrder::Kind;
  std::vector<Accumulation> accumulations;
  const auto add_orders = [&](MultiplyAdd multiply_add, const MultiTermAdder& adder) {
    accumulations.push_back({{Kind::sequential, 0, 0}, multiply_add, adder});
    for (const std::int64_t parts : {2, 3, 4, 8, 16}) {
      accumulations.push_back({{Kind::split_k, parts, 0}, multiply_add, adder});
    }
    // parity probe on an H200: fp32 and TF32 add blocks of 32 at K = 128.
    accumulations.push_back({{Kind::blocked, 32, 0}, multiply_add, adder});
  };
  for (const MultiTermAdder& adder : adders) add_orders(MultiplyAdd::multi_term, adder);
  if (adders.empty()) add_orders(MultiplyAdd::fused, {});

  std::vector<Rounding> conversions{Rounding::nearest_even};
  if (contract.precision.multiply != format_of(contract.precision.input)) {
    conversions = {Rounding::toward_zero, Rounding::nearest_even};
  }
  std::vector<ArithmeticModel> models;
  for (const Accumulation& accumulation : accumulations) {
    for (const Rounding conversion : conversions) {
      for (const bool contracted : {false, true}) {
        if (contracted && !gemm) continue;  // linear's epilogue is our own
        ArithmeticModel model = contract;
        model.accumulation = accumulation;
        model.denormals = Denormals::preserve;
        model.multiply_rounding = conversion;
        model.contract_epilogue = contracted;
        models.push_back(std::move(model));
      }
    }
  }
  return models;
}

}  // namespace parity::cuda
