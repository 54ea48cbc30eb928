#pragma once
#include <optional>

#include "harness/ladder/op.hpp"
#include "harness/numerics/product_form.hpp"

namespace parity {

/// What an op is besides an Op when its result is a matrix product plus an
/// addend: such a result can be judged without computing all of it
/// (sampled_judge.hpp).
class ProductOp {
 public:
  virtual ~ProductOp() = default;
  /// Whether it is one with these attributes (a layer with an activation is
  /// not).
  virtual bool is_product(const Attributes& attributes) const = 0;
  /// Entry `batch` of output 0 as a product of the inputs, which satisfy
  /// Op::infer.
  virtual ProductForm product_form(const Attributes& attributes, const PortTensors& inputs,
                                   std::int64_t batch) const = 0;
};

/// The op as a product; null when it is none with these attributes.
inline const ProductOp* as_product(const Op& op, const Attributes& attributes) {
  const auto* product = dynamic_cast<const ProductOp*>(&op);
  return product != nullptr && product->is_product(attributes) ? product : nullptr;
}

}  // namespace parity
