#include "backends/vulkan/path_models.hpp"

#include "backends/vulkan/spirv_module.hpp"

namespace parity::vulkan {

namespace {

/// Accuracy of sigmoid and tanh in activation.glsl, from what Vulkan promises of fp32 (u = 2^-24, 1 ULP <=
/// 2u): exp(x): 3 + 2|x| ULP; x / y: 2.5 ULP for y in [2^-126, 2^126]; + and *: correctly rounded.
///
/// sigmoid, e = exp(-|x|), result 1/(1+e) or e/(1+e): the relative error of e is (6 + 4|x|)u and enters with
/// a factor below 1; the sum adds u, the division 5u: (12 + 4|x|)u = (6 + 2|x|) ULP. Products of errors are
/// below 0.01 ULP; 6.5 covers them.
///
/// tanh, |x| < 0.625: x N/D with N = 945 + s(105 + s), D = 945 + s(420 + 15s), s = x^2 <= 0.391. N: u for the
/// last sum and 0.045 * 4u below it; D: u + 0.16 * 5u; division 5u, product u, truncation 0.02u: 9u = 4.5
/// ULP. |x| >= 0.625: e = exp(-2|x|) has error (6 + 8|x|)u, which enters (1-e)/(1+e) with 2e/(1-e^2): at
/// most 6.9u, at 0.625; 1-e, 1+e and the division add 7u: 14u = 7 ULP. 7.5 covers products of errors.
///
/// A result in the subnormal range may be flushed: 2^-126 absolute.
constexpr double flushed = 0x1p-126;
constexpr FunctionAccuracy sigmoid_accuracy{6.5, 2, flushed};
constexpr FunctionAccuracy tanh_accuracy{7.5, 0, flushed};
constexpr FunctionAccuracy exp_accuracy{3, 2, flushed};
/// log(x): 3 ULP, but 2^-21 absolute in [0.5, 2].
constexpr FunctionAccuracy log_accuracy{3, 0, 0x1p-21};
/// x / y: 2.5 ULP; a divisor outside [2^-126, 2^126] is not promised anything.
constexpr FunctionAccuracy divide_accuracy{2.5, 0, flushed};
/// inversesqrt(x): 2 ULP = 4u. sqrt(x) is as good as 1 / inversesqrt(x): 4u + 5u = 4.5 ULP; 4.75 covers
/// products.
constexpr FunctionAccuracy inverse_sqrt_accuracy{2, 0, 0};
constexpr FunctionAccuracy sqrt_accuracy{4.75, 0, flushed};

/// Software devices flush in practice, GPUs keep: only the order of trial.
std::vector<Denormals> likely_denormals(const Capabilities& capabilities, const ArithmeticModel& model) {
  if (model.denormals != Denormals::either) return {model.denormals};
  if (capabilities.type == VK_PHYSICAL_DEVICE_TYPE_CPU) return {Denormals::flush, Denormals::preserve};
  return {Denormals::preserve, Denormals::flush};
}

}  // namespace

ArithmeticModel base_model(const Capabilities& capabilities, DType input) {
  ArithmeticModel model;
  model.precision.input = input;
  model.precision.multiply = format_of(input);
  model.precision.accumulate = DType::f32;
  model.precision.scratch = DType::f32;
  model.sigmoid = sigmoid_accuracy;
  model.tanh = tanh_accuracy;
  model.exp = exp_accuracy;
  model.log = log_accuracy;
  model.sqrt = sqrt_accuracy;
  model.inverse_sqrt = inverse_sqrt_accuracy;
  model.divide = divide_accuracy;
  // Stores are rounded in integer arithmetic (convert.glsl), alpha, beta and bias without contraction.
  model.store_rounding = Rounding::nearest_even;
  model.store_rounding_known = true;
  model.contract_epilogue = false;
  const FloatModes modes = choose_float_modes(capabilities, false);
  model.denormals = (modes.denorm_preserve & FloatModes::width32) ? Denormals::preserve : Denormals::either;
  return model;
}

void add_replays(const Capabilities& capabilities, const std::vector<Accumulation>& accumulations,
                 Implementation& implementation) {
  for (const Accumulation& accumulation : accumulations) {
    for (const Denormals denormals : likely_denormals(capabilities, implementation.contract)) {
      ArithmeticModel model = implementation.contract;
      model.may_truncate = false;
      model.accumulation = accumulation;
      model.denormals = denormals;
      implementation.replays.push_back(model);
    }
  }
}

void set_order(const Capabilities& capabilities, const SummationOrder& order,
               Implementation& implementation) {
  const Accumulation fused{order, MultiplyAdd::fused, {}}, separate{order, MultiplyAdd::separate, {}};
  implementation.contract.accumulation = separate;
  add_replays(capabilities, {fused, separate}, implementation);
}

void set_integer(Implementation& implementation) {
  implementation.contract = integer_model();
  implementation.replays = {implementation.contract};
}

}  // namespace parity::vulkan
