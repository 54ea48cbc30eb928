#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/vulkan/kernel.hpp"

namespace parity::vulkan {

/// What is known of the order of a kernel's reductions.
enum class KernelOrder : std::uint8_t {
  elementwise,  ///< none
  row,          ///< 64 lanes, strided
  whole,        ///< as many lanes as whole_lanes() says, strided
  sequential,   ///< one chain
  any,          ///< atomic additions
};
/// Lanes of the one workgroup that goes through a whole tensor.
std::uint32_t whole_lanes(const Capabilities& capabilities);

/// A tensor at a port as shaders see it: rows of neighbouring elements. A vector is one row.
struct PortView {
  TensorId tensor = no_tensor;  ///< no_tensor: an optional port left empty
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t stride = 0;  ///< elements from one row to the next
  std::int64_t step = 1;    ///< elements from one column to the next; 1 but for strided vectors
};

struct CallView {
  const Capabilities& capabilities;
  const Attributes& attributes;
  std::vector<PortView> inputs, outputs;
};

/// One dispatch of an op's shader, before it is laid out.
struct Launch {
  enum class Grid : std::uint8_t {
    elements,
    groups
  };  ///< an invocation an element; a workgroup a piece of work
  Grid grid = Grid::elements;
  std::int64_t rows = 0, cols = 0;
  std::vector<std::int64_t> n;           ///< push.n
  std::vector<double> x;                 ///< push.x, rounded to fp32
  std::uint32_t operation = 0;           ///< OPERATION
  std::vector<std::uint32_t> constants;  ///< from constant 3 on
  std::int64_t scratch_floats = 0;       ///< bound behind the last output
};

/// An op as data: which shader computes it, how its ports are bound, and what to dispatch.
struct OpKernel {
  std::string op, summary;
  Shader shader{};
  std::uint32_t first_output = 0;  ///< binding of output 0; inputs take the bindings from 0 on
  std::uint32_t bindings = 0;
  KernelOrder order = KernelOrder::elementwise;
  /// The dispatches of a call whose outputs are not all empty. Errors of kind unsupported say why the call
  /// cannot be taken.
  std::function<Result<std::vector<Launch>>(const CallView&)> launch;
  std::uint32_t index_inputs = 0;    ///< bit i: input i holds i32 indices
  std::uint32_t strided_inputs = 0;  ///< bit i: input i may be a vector with gaps
  std::uint32_t lanes = 64;          ///< of a workgroup; KernelOrder::whole sets its own
  std::string path = "direct_f32";
  bool atomic_add = false;       ///< needs fp32 atomic addition on storage buffers
  bool computes_in_f16 = false;  ///< needs shaderFloat16
  DType input = DType::f32;      ///< unless given, every port but indices is fp32
  std::vector<DType> stores = {DType::f32};
};

/// The kernels of a table as a family.
std::unique_ptr<const KernelFamily> make_table_family(std::vector<OpKernel> kernels);

/// The launch of a kernel whose grid is output 0, an invocation an element.
Launch over_output(const CallView& call, std::uint32_t operation);

// The families, one file each (*_plan.cpp).
std::unique_ptr<const KernelFamily> make_elementwise_family();
std::unique_ptr<const KernelFamily> make_recurrent_family();
std::unique_ptr<const KernelFamily> make_row_family();
std::unique_ptr<const KernelFamily> make_attention_family();
std::unique_ptr<const KernelFamily> make_loss_family();
std::unique_ptr<const KernelFamily> make_embedding_family();
std::unique_ptr<const KernelFamily> make_reduction_family();
std::unique_ptr<const KernelFamily> make_optimizer_family();
std::unique_ptr<const KernelFamily> make_device_function_family();
std::unique_ptr<const KernelFamily> make_trace_family();

}  // namespace parity::vulkan
