#pragma once
// What the stages of dense products share: settings read from a case, tensors with padded rows, fills.
#include <string>

#include "harness/ladder/stage.hpp"

namespace parity {

/// Largest m, n, k or batch a case may name.
inline constexpr double most_dimension = 1 << 24;

/// A number that multiplies exactly: zero or a power of two from 1/8 to 8, either sign.
bool exact_factor(double factor);

/// A matrix [rows, cols], or [batch, rows, cols] unless batch is 1, whose rows are `pad` elements longer than
/// their contents.
TensorSpec matrix_spec(std::string name, DType dtype, std::int64_t batch, std::int64_t rows,
                       std::int64_t cols, std::int64_t pad, TensorSpec::Role role);

/// Makes and fills the tensor of `spec`; `role` and `axis` (summed over, -1: none) as in FillRequest. Integer
/// factors are thinned for the case's k.
Result<Tensor> fill_matrix(const Case& c, const TensorSpec& spec, FillRole role, int axis,
                           std::uint32_t stream, bool holds_nan);

/// Rows and columns of a tensor the user brings as input `name`: rank 2, or 3 with `batch` set.
struct MatrixShape {
  std::int64_t batch = 1, rows = 0, cols = 0;
};
Result<MatrixShape> matrix_shape(const std::string& name, const Tensor& tensor);

/// Error unless every name in `inputs` is among `known`.
Result<void> check_names(const std::map<std::string, Tensor>& inputs,
                         const std::vector<std::string_view>& known);

std::unique_ptr<const Stage> make_gemm_stage(const OpTable& ops);
std::unique_ptr<const Stage> make_linear_stage(const OpTable& ops);

}  // namespace parity
