// The gemm and linear paths: what they are, what they need, and what their arithmetic is.
#include <fmt/format.h>

#include <array>

#include "backends/vulkan/gemm.hpp"

namespace parity::vulkan {

namespace {

constexpr std::array<GemmPath, 5> paths{{
    {"naive_f32", GemmKernel::naive, DType::f32, "one output a thread, fp32, k in order"},
    {"tiled_f32", GemmKernel::tiled, DType::f32, "64x64 or 128x128 tiles in shared memory, fp32, k in order"},
    {"tiled_f16_f32", GemmKernel::tiled, DType::f16,
     "tiles in shared memory, fp16 widened to fp32, k in order"},
    {"coopmat_f16_f32", GemmKernel::cooperative, DType::f16, "cooperative matrices, fp16 x fp16 -> fp32"},
    {"coopmat_bf16_f32", GemmKernel::cooperative, DType::bf16, "cooperative matrices, bf16 x bf16 -> fp32"},
}};

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

ArithmeticModel base_model(const Capabilities& capabilities, DType input) {
  ArithmeticModel model;
  model.precision.input = input;
  model.precision.multiply = format_of(input);
  model.precision.accumulate = DType::f32;
  model.precision.scratch = DType::f32;
  model.sigmoid = sigmoid_accuracy;
  model.tanh = tanh_accuracy;
  model.exp = exp_accuracy;
  // Stores are rounded in integer arithmetic (convert.glsl), alpha, beta and bias without contraction.
  model.store_rounding = Rounding::nearest_even;
  model.store_rounding_known = true;
  model.contract_epilogue = false;
  const FloatModes modes = choose_float_modes(capabilities, false);
  model.denormals = (modes.denorm_preserve & FloatModes::width32) ? Denormals::preserve : Denormals::either;
  return model;
}

/// Software devices flush in practice, GPUs keep: only the order of trial.
std::vector<Denormals> likely_denormals(const Capabilities& capabilities, const ArithmeticModel& model) {
  if (model.denormals != Denormals::either) return {model.denormals};
  if (capabilities.type == VK_PHYSICAL_DEVICE_TYPE_CPU) return {Denormals::flush, Denormals::preserve};
  return {Denormals::preserve, Denormals::flush};
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

/// A chain of fp32 operations in k order. fma() in SPIR-V may be one rounding or two, as the driver likes.
void set_chain(const Capabilities& capabilities, Implementation& implementation) {
  const Accumulation fused{{SummationOrder::Kind::sequential}, MultiplyAdd::fused, {}};
  const Accumulation separate{{SummationOrder::Kind::sequential}, MultiplyAdd::separate, {}};
  implementation.contract.accumulation = separate;  // the wider of the two bounds
  add_replays(capabilities, {fused, separate}, implementation);
}

/// Inside a cooperative matrix the order and the adder are the device's own. Known ones are tried: the tensor
/// cores of Hopper (16 terms, 25 bits), Ampere and Ada (8, 24), Turing (4, 24), Volta (4, 23), and what a
/// software driver makes of it: chains over k, straight on or per matrix step.
void set_cooperative(const Capabilities& capabilities, VkComponentTypeKHR factor,
                     Implementation& implementation) {
  using Kind = SummationOrder::Kind;
  implementation.contract.accumulation.reset();
  implementation.contract.may_truncate = true;
  implementation.contract.adder_terms = 4;
  const auto shape = choose_shape(capabilities, factor, VK_COMPONENT_TYPE_FLOAT32_KHR);
  const std::int64_t step = shape ? shape->k : 16;
  std::vector<Accumulation> adders, chains;
  for (const auto& [terms, bits] : {std::pair{16, 25}, {8, 24}, {4, 24}, {4, 23}})
    adders.push_back({{Kind::sequential}, MultiplyAdd::multi_term, {terms, bits}});
  chains = {{{Kind::sequential}, MultiplyAdd::fused, {}},
            {{Kind::sequential}, MultiplyAdd::separate, {}},
            {{Kind::blocked, step}, MultiplyAdd::fused, {}},
            {{Kind::blocked, step}, MultiplyAdd::separate, {}}};
  const bool software = capabilities.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  std::vector<Accumulation> all = software ? chains : adders;
  const std::vector<Accumulation>& rest = software ? adders : chains;
  all.insert(all.end(), rest.begin(), rest.end());
  add_replays(capabilities, all, implementation);
}

Support unsupported(std::string reason) {
  return {Support::Kind::unsupported, std::move(reason)};
}

std::string offered_shapes(const Capabilities& capabilities) {
  std::string text;
  for (const CooperativeShape& shape : capabilities.shapes) {
    if (shape.scope != VK_SCOPE_SUBGROUP_KHR) continue;
    text += (text.empty() ? "" : "; ") + to_string(shape);
    if (text.size() > 200) return text + "; ...";
  }
  return text.empty() ? "none" : text;
}

Support supports_cooperative(const Capabilities& c, const GemmPath& path) {
  const bool bf16 = path.input == DType::bf16;
  const char* format = bf16 ? "bf16" : "f16";
  const std::string need =
      fmt::format("VK_KHR_cooperative_matrix with {0} x {0} -> f32 at subgroup scope", format);
  if (!c.matrix_extension)
    return unsupported(fmt::format("needs {}; the driver does not have the extension", need));
  if (!c.matrix_feature)
    return unsupported(
        fmt::format("needs {}; the driver has the extension, but not the feature cooperativeMatrix", need));
  if (bf16 && !(c.bfloat16_type && c.bfloat16_matrix))
    return unsupported(
        "needs VK_KHR_shader_bfloat16 with shaderBFloat16CooperativeMatrix; the device does not offer it");
  const auto shape = choose_shape(c, bf16 ? VK_COMPONENT_TYPE_BFLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT16_KHR,
                                  VK_COMPONENT_TYPE_FLOAT32_KHR);
  if (!shape)
    return unsupported(fmt::format("needs {} and sizes that are multiples of 8; this device offers: {}", need,
                                   offered_shapes(c)));
  if (!c.storage16) return unsupported("needs storageBuffer16BitAccess, which the device does not offer");
  if (!bf16 && !c.float16) return unsupported("needs shaderFloat16, which the device does not offer");
  if (!c.memory_model) return unsupported("needs vulkanMemoryModel, which the device does not offer");
  if (!c.subgroup_basic) return unsupported("needs basic subgroup operations in compute shaders");
  if (!choose_tiling(c, *shape, 1, 1))
    return unsupported(fmt::format("shape {} does not fit {} invocations and {} bytes of shared memory",
                                   to_string(*shape), c.invocations, c.shared_bytes));
  return {};
}

}  // namespace

bool preserves_float16_denormals(const Capabilities& capabilities) {
  return (choose_float_modes(capabilities, true).denorm_preserve & FloatModes::width16) != 0;
}

const GemmPath* find_gemm_path(std::string_view name) {
  for (const GemmPath& path : paths)
    if (name == path.name) return &path;
  return nullptr;
}

std::vector<Implementation> gemm_implementations(const Capabilities& capabilities) {
  std::vector<Implementation> list;
  for (const char* op : {"gemm", "linear"}) {
    for (const GemmPath& path : paths) {
      Implementation implementation;
      implementation.path = path.name;
      implementation.op = op;
      implementation.summary = path.summary;
      implementation.input = path.input;
      implementation.accumulate = DType::f32;
      implementation.multiply = format_of(path.input);
      implementation.stores = path.input == DType::bf16 ? std::vector{DType::bf16, DType::f32}
                                                        : std::vector{DType::f32, DType::f16};
      implementation.knowledge = OrderKnowledge::declared;
      implementation.contract = base_model(capabilities, path.input);
      if (path.kernel == GemmKernel::cooperative)
        set_cooperative(
            capabilities,
            path.input == DType::bf16 ? VK_COMPONENT_TYPE_BFLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT16_KHR,
            implementation);
      else
        set_chain(capabilities, implementation);
      list.push_back(std::move(implementation));
    }
  }
  return list;
}

Support gemm_supports(const Capabilities& c, const GemmPath& path) {
  if (c.api_version < VK_API_VERSION_1_2)
    return unsupported(fmt::format("needs Vulkan 1.2; the device offers {}.{}",
                                   VK_API_VERSION_MAJOR(c.api_version), VK_API_VERSION_MINOR(c.api_version)));
  if (!c.compute_queue) return unsupported("needs a compute queue; the device has none");
  if (c.invocations < 256)
    return unsupported(fmt::format("needs 256 invocations a workgroup; the device allows {}", c.invocations));
  if (path.kernel == GemmKernel::cooperative) return supports_cooperative(c, path);
  if (path.input == DType::f16 && !c.storage16)
    return unsupported("needs storageBuffer16BitAccess for fp16 buffers; the device does not offer it");
  return {};
}

}  // namespace parity::vulkan
