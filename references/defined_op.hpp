#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ladder/gradient_builder.hpp"
#include "harness/ladder/op.hpp"

namespace parity {

/// Real attributes reach a device as fp32 numbers.
inline constexpr double largest_fp32 = 0x1.fffffep127;

/// An attribute an op takes: its fallback's alternative is its type. Without `required` the fallback stands
/// in.
struct AttributeRule {
  std::string_view name;
  AttributeValue fallback;
  bool required = false;
  double least = -largest_fp32, most = largest_fp32;  ///< of a number, inclusive; a NaN is refused
  std::vector<std::string_view> choices = {};         ///< of a text
};

/// Input shapes by port; an absent optional port is nullopt.
using PortShapes = std::span<const std::optional<Shape>>;

/// An op as data: what most ops need to say about themselves.
struct OpDefinition {
  std::string_view name;
  std::string_view summary;  ///< one line: the formula
  std::vector<Port> inputs, outputs;
  std::vector<AttributeRule> attributes;
  /// Shape rule; required ports are present, attributes checked. The error need not name the op.
  std::function<Result<std::vector<Shape>>(const Attributes&, PortShapes)> infer;
  /// The reference; an error only for what infer cannot see (an index out of range).
  std::function<Result<std::vector<Value>>(Arithmetic&, const Attributes&, const PortTensors&)> evaluate;
  /// Gradient rule; empty: the op cannot be differentiated.
  std::function<Result<void>(const OpCall&, GradientBuilder&)> gradient;
  /// Floating-point operations for each element of output 0.
  std::function<double(const OpCall&, const Program&)> flops_per_element;
  /// Length of the longest reduction behind an output element; empty: 1.
  std::function<std::int64_t(const OpCall&, const Program&)> reduction_length;
  /// Op::restrict_to; empty: the order experiments and the replay of a sample have nothing to take.
  std::function<std::optional<std::vector<Tensor>>(const Attributes&, const PortTensors&,
                                                   std::span<const std::int64_t> rows,
                                                   std::span<const std::int64_t> cols)>
      restrict_to = {};
  /// Op::symmetries; empty: the order experiments have nothing to permute.
  std::function<std::vector<Symmetry>(const Attributes&, PortShapes)> symmetries = {};
};

/// The op of a definition. Bytes are counted as each input read once and each output written once.
std::unique_ptr<const Op> make_op(OpDefinition definition);

/// Rows and columns of a rank-2 shape; the error names the port.
struct MatrixSize {
  std::int64_t rows = 0, cols = 0;
};
Result<MatrixSize> matrix_size(std::string_view port, const Shape& shape);
/// Error unless `shape` is `wanted`; names the port and what it must be.
Result<void> expect_shape(std::string_view port, const Shape& shape, const Shape& wanted);

/// Attributes with the rules' fallbacks filled in.
Attributes with_fallbacks(const Attributes& attributes, std::span<const AttributeRule> rules);

/// The integers of an i32 tensor of rank 1; an error when one lies outside [0, limit) (names the port, the
/// place).
Result<std::vector<std::int64_t>> indices_of(std::string_view port, const Tensor& tensor, std::int64_t limit);

}  // namespace parity
