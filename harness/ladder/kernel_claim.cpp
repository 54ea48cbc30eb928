#include "harness/ladder/kernel_claim.hpp"

namespace parity {

const std::vector<std::string>& claim_models() {
  static const std::vector<std::string> models = {"unknown", "fma", "separate", "pairwise", "tensor-core"};
  return models;
}

ArithmeticModel claimed_model(const KernelClaim& claim, DType input, DType store) {
  using Kind = SummationOrder::Kind;
  ArithmeticModel model;
  model.precision = {input, format_of(input), claim.accumulate, claim.accumulate, store};
  model.exp = model.tanh = {2, 0, 0};
  model.sigmoid = {3, 0, 0};
  model.denormals = Denormals::preserve;
  if (claim.model == "unknown") {
    model.may_truncate = input == DType::f16 || input == DType::bf16;
    model.denormals = Denormals::either;
    return model;
  }
  Accumulation accumulation;
  if (claim.model == "separate") accumulation.multiply_add = MultiplyAdd::separate;
  if (claim.model == "pairwise") accumulation.order.kind = Kind::pairwise;
  if (claim.model == "tensor-core") accumulation.multiply_add = MultiplyAdd::multi_term;
  model.accumulation = accumulation;
  return model;
}

}  // namespace parity
