#pragma once
#include <optional>

#include "backends/vulkan/kernel.hpp"

namespace parity::vulkan {

/// What a gemm path is made of.
enum class GemmKernel : std::uint8_t { naive, tiled, cooperative };
struct GemmPath {
  const char* name;
  GemmKernel kernel;
  DType input;
  const char* summary;
  DType accumulate = DType::f32;
};
/// The cooperative matrix shape that the path works with; nothing where the device offers none.
std::optional<CooperativeShape> shape_of(const Capabilities& capabilities, const GemmPath& path);
/// Bytes of the vectors that its tiles move in: 16, or 8 where rows of that shape are no multiples of 16.
std::uint32_t vector_bytes(const CooperativeShape& shape);
/// The path of an implementation, or null.
const GemmPath* find_gemm_path(std::string_view name);
std::vector<Implementation> gemm_implementations(const Capabilities& capabilities);
Support gemm_supports(const Capabilities& capabilities, const GemmPath& path);

/// Whether fp16 subnormals survive the device's own fp16 -> fp32 conversion under the modes we declare.
bool preserves_float16_denormals(const Capabilities& capabilities);

/// A matrix operand as the shaders see it; strides in elements. A batch of 1 has batch stride 0.
struct MatrixView {
  TensorId tensor = no_tensor;
  DType dtype = DType::f32;
  std::int64_t batch = 1, rows = 0, cols = 0;
  std::int64_t batch_stride = 0, row_stride = 0, col_stride = 0;
};

/// y = activation(alpha a b + beta c), all views in the order of the product (transposition is in the
/// strides).
struct GemmCall {
  MatrixView a, b, y;
  std::optional<MatrixView> c;  ///< absent when it must not be read
  float alpha = 1, beta = 0;
  Function activation = Function::identity;
};
/// Error for ranks, activations or dtypes the shaders do not take.
Result<GemmCall> parse_gemm_call(const OpCall& call, const Program& program);

/// How a cooperative-matrix kernel is cut (the constants of coopmat.comp).
struct CooperativeTiling {
  std::uint32_t tm = 1, tn = 1, sx = 1, sy = 1, ks = 1;
  std::uint32_t rows(const CooperativeShape& s) const { return sy * tm * s.m; }
  std::uint32_t cols(const CooperativeShape& s) const { return sx * tn * s.n; }
};
/// The largest tiling that the limits allow and that still fills the device; nothing if none fits.
std::optional<CooperativeTiling> choose_tiling(const Capabilities& capabilities,
                                               const CooperativeShape& shape, std::int64_t rows,
                                               std::int64_t cols);

Support gemm_supports_call(const Capabilities& capabilities, const GemmPath& path, const GemmCall& call,
                           const Program& program);
Result<std::vector<Dispatch>> plan_gemm(const Capabilities& capabilities, const GemmPath& path,
                                        const GemmCall& call);

}  // namespace parity::vulkan
