#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/ladder/op.hpp"

namespace parity::cuda {

/// What an input of a test case holds.
enum class Content : std::uint8_t {
  normal,    ///< N(0, 1)
  positive,  ///< |N(0, 1)|
  unit,      ///< uniform in (0, 1)
  indices,   ///< i32 in [0, limit)
  mask,      ///< i32, 0 or 1: a third are 0, among them the first `limit`
};

struct PortCase {
  Shape shape;
  Content content = Content::normal;
  std::int64_t limit = 0;
  DType dtype = DType::f32;
};

/// One call of one op on small, odd sizes.
struct OpCase {
  std::string name, op;
  Attributes attributes;
  std::vector<std::optional<PortCase>> inputs;
  DType store = DType::f32;
};

/// Every op that is not a product, with the sizes and attributes that its kernels branch on.
std::vector<OpCase> op_cases();

/// How a case's tensors lie in memory.
struct Placement {
  std::int64_t pad = 0;  ///< elements behind every row; vectors get a stride of 1 + pad
  bool views = false;    ///< every tensor a view into a larger one
};

struct BuiltCase {
  Program program;  ///< one call; views follow their roots
  std::map<TensorId, Tensor> inputs;
};
/// Infers the output shapes and fills the inputs from `seed`.
Result<BuiltCase> build(const OpCase& c, const Op& op, const Placement& placement, std::uint64_t seed);

}  // namespace parity::cuda
