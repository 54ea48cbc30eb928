// The gemm and linear paths: what they are, what they need, and what their arithmetic is.
#include <fmt/format.h>

#include <array>

#include "backends/vulkan/gemm.hpp"
#include "backends/vulkan/path_models.hpp"

namespace parity::vulkan {

namespace {

constexpr std::array<GemmPath, 8> paths{{
    {"naive_f32", GemmKernel::naive, DType::f32, "one output a thread, fp32, k in order"},
    {"tiled_f32", GemmKernel::tiled, DType::f32, "64x64 or 128x128 tiles in shared memory, fp32, k in order"},
    {"tiled_f16_f32", GemmKernel::tiled, DType::f16,
     "tiles in shared memory, fp16 widened to fp32, k in order"},
    {"coopmat_f16_f32", GemmKernel::cooperative, DType::f16, "cooperative matrices, fp16 x fp16 -> fp32"},
    {"coopmat_bf16_f32", GemmKernel::cooperative, DType::bf16, "cooperative matrices, bf16 x bf16 -> fp32"},
    {"coopmat_f16_f16", GemmKernel::cooperative, DType::f16, "cooperative matrices, fp16 x fp16 -> fp16",
     DType::f16},
    {"tiled_i8_i32", GemmKernel::tiled, DType::i8, "tiles in shared memory, int8 widened to 32 bits, wraps",
     DType::i32},
    {"coopmat_i8_i32", GemmKernel::cooperative, DType::i8,
     "cooperative matrices, int8 x int8 -> int32, wraps", DType::i32},
}};

VkComponentTypeKHR component(DType dtype) {
  return dtype == DType::bf16  ? VK_COMPONENT_TYPE_BFLOAT16_KHR
         : dtype == DType::f16 ? VK_COMPONENT_TYPE_FLOAT16_KHR
         : dtype == DType::i8  ? VK_COMPONENT_TYPE_SINT8_KHR
         : dtype == DType::i32 ? VK_COMPONENT_TYPE_SINT32_KHR
                               : VK_COMPONENT_TYPE_FLOAT32_KHR;
}

/// Inside a cooperative matrix the order and the adder are the device's own. Known ones are tried: the tensor
/// cores of Hopper (16 terms, 25 bits), Ampere and Ada (8, 24), Turing (4, 24), Volta (4, 23), and what a
/// software driver makes of it: chains over k, straight on or per matrix step. The tensor cores cut their
/// sums to fp32 and round them to fp16.
void set_cooperative(const Capabilities& capabilities, const GemmPath& path, Implementation& implementation) {
  using Kind = SummationOrder::Kind;
  implementation.contract.accumulation.reset();
  implementation.contract.may_truncate = true;
  implementation.contract.adder_terms = 4;
  const bool narrow = path.accumulate == DType::f16;
  if (narrow) {
    implementation.contract.precision.accumulate = path.accumulate;
    implementation.contract.denormals =
        preserves_float16_denormals(capabilities) ? Denormals::preserve : Denormals::either;
  }
  const Rounding rounding = narrow ? Rounding::nearest_even : Rounding::toward_zero;
  const auto shape = shape_of(capabilities, path);
  const std::int64_t step = shape ? shape->k : 16;
  std::vector<Accumulation> adders, chains;
  for (const auto& [terms, bits] : {std::pair{16, 25}, {8, 24}, {4, 24}, {4, 23}})
    adders.push_back({{Kind::sequential}, MultiplyAdd::multi_term, {terms, bits, rounding}});
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
  const std::string need = fmt::format("VK_KHR_cooperative_matrix with {0} x {0} -> {1} at subgroup scope",
                                       name_of(path.input), name_of(path.accumulate));
  if (!c.matrix_extension)
    return unsupported(fmt::format("needs {}; the driver does not have the extension", need));
  if (!c.matrix_feature)
    return unsupported(
        fmt::format("needs {}; the driver has the extension, but not the feature cooperativeMatrix", need));
  if (bf16 && !(c.bfloat16_type && c.bfloat16_matrix))
    return unsupported(
        "needs VK_KHR_shader_bfloat16 with shaderBFloat16CooperativeMatrix; the device does not offer it");
  const auto shape = shape_of(c, path);
  if (!shape)
    return unsupported(fmt::format("needs {} and sizes that are multiples of 8; this device offers: {}", need,
                                   offered_shapes(c)));
  const bool integer = path.input == DType::i8;
  if (integer && !c.int8) return unsupported("needs shaderInt8, which the device does not offer");
  if (!integer && !c.storage16)
    return unsupported("needs storageBuffer16BitAccess, which the device does not offer");
  if (path.input == DType::f16 && !c.float16)
    return unsupported("needs shaderFloat16, which the device does not offer");
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

std::optional<CooperativeShape> shape_of(const Capabilities& capabilities, const GemmPath& path) {
  return choose_shape(capabilities, component(path.input), component(path.accumulate));
}

std::uint32_t vector_bytes(const CooperativeShape& shape) {
  const std::uint32_t factor = shape.a == VK_COMPONENT_TYPE_SINT8_KHR ? 1 : 2;
  return (shape.m | shape.n | shape.k) * factor % 16 == 0 ? 16 : 8;
}

const GemmPath* find_gemm_path(std::string_view name) {
  for (const GemmPath& path : paths)
    if (name == path.name) return &path;
  return nullptr;
}

namespace {

std::vector<DType> stores_of(const GemmPath& path) {
  if (path.input == DType::i8) return {DType::i32};
  if (path.input == DType::bf16) return {DType::bf16, DType::f32};
  return {DType::f32, DType::f16};
}

}  // namespace

std::vector<Implementation> gemm_implementations(const Capabilities& capabilities) {
  std::vector<Implementation> list;
  for (const std::string_view op : {"gemm", "linear"}) {
    for (const GemmPath& path : paths) {
      const bool integer = path.input == DType::i8;
      if (integer && op != "gemm") continue;
      Implementation implementation;
      implementation.path = path.name;
      implementation.op = op;
      implementation.summary = path.summary;
      implementation.input = path.input;
      implementation.accumulate = path.accumulate;
      implementation.multiply = format_of(path.input);
      implementation.stores = stores_of(path);
      implementation.knowledge = OrderKnowledge::declared;
      implementation.contract = base_model(capabilities, path.input);
      if (integer)
        set_integer(implementation);
      else if (path.kernel == GemmKernel::cooperative)
        set_cooperative(capabilities, path, implementation);
      else
        set_order(capabilities, {SummationOrder::Kind::sequential}, implementation);
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
