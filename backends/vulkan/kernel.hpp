#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/vulkan/capabilities.hpp"
#include "backends/vulkan/shader_library.hpp"
#include "backends/vulkan/spirv_module.hpp"
#include "harness/ladder/backend.hpp"

namespace parity::vulkan {

struct SpecializationConstant {
  std::uint32_t id = 0, value = 0;
  friend bool operator==(const SpecializationConstant&, const SpecializationConstant&) = default;
};

/// Everything that makes a pipeline.
struct PipelineRequest {
  Shader shader{};
  FloatModes modes;
  bool bfloat16 = false;            ///< the module's bfloat16 twin (make_variant)
  std::uint32_t bindings = 0;       ///< storage buffers, set 0, bindings 0 ..
  std::uint32_t subgroup_size = 0;  ///< required subgroup size with full subgroups; 0: as the driver likes
  std::vector<SpecializationConstant> constants;
  friend bool operator==(const PipelineRequest&, const PipelineRequest&) = default;
};

/// Stands in Dispatch::buffers for the session's scratch memory: fp32, poisoned before a run, between guard
/// zones like a tensor; what one call leaves there is lost with the next.
inline constexpr TensorId scratch_buffer = -2;

/// One dispatch. Buffers are bound whole, guard zones included; a view from its first element minus a guard
/// zone on (see bound_range in session.cpp).
struct Dispatch {
  PipelineRequest pipeline;
  std::vector<TensorId> buffers;          ///< by binding
  std::int64_t scratch_floats = 0;        ///< scratch memory it needs
  std::vector<std::uint32_t> push_words;  ///< push constants
  std::uint32_t groups[3] = {1, 1, 1};
};

/// The kernel paths of an op family: what they are on a device, whether they are legal, and which dispatches
/// a call becomes. Stateless; knows no Vulkan object, so that it can be tested without a device.
class KernelFamily {
 public:
  virtual ~KernelFamily() = default;
  virtual std::vector<Implementation> implementations(const Capabilities& capabilities) const = 0;
  virtual Support supports(const Capabilities& capabilities, const Implementation& implementation) const = 0;
  /// Sizes, strides and limits of a call whose precision matches and whose path is legal.
  virtual Support supports(const Capabilities& capabilities, const Implementation& implementation,
                           const OpCall& call, const Program& program) const = 0;
  /// The dispatches of a supported call, to run in order with a barrier between them; none for an empty
  /// result.
  virtual Result<std::vector<Dispatch>> plan(const Capabilities& capabilities,
                                             const Implementation& implementation, const OpCall& call,
                                             const Program& program) const = 0;
};

/// Not done here, for this reason.
inline Support unsupported(std::string reason) {
  return {Support::Kind::unsupported, std::move(reason)};
}

/// A size that fits, as shaders take it.
inline std::uint32_t word(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

/// gemm and linear.
std::unique_ptr<const KernelFamily> make_gemm_family();

}  // namespace parity::vulkan
