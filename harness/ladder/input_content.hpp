#pragma once
#include "harness/ladder/case.hpp"
#include "harness/ladder/program.hpp"

namespace parity {

/// Makes an input of a composed program as its Content says: bits depend on the case, the tensor's shape and
/// `stream` (the input's number) only. `holds_nan`: this is the input that gets the NaN of a nan_cone fill.
Result<Tensor> make_content(const Case& c, const TensorSpec& spec, std::uint32_t stream, bool holds_nan);

}  // namespace parity
