#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/commands.hpp"
#include "harness/cli/user_inputs.hpp"
#include "harness/ladder/kernel_claim.hpp"
#include "harness/ladder/record.hpp"

namespace parity::cli {

/// Judges `got` as the result of an op whose inputs are known: the full contract, as `parity run` derives it.
/// `case_text` is a stage with its settings ("gemm tb=t"); with a definite model the bits are replayed too.
Result<OutputRecord> judge_with_inputs(const Tensor& got, const std::string& case_text,
                                       const UserInputs& inputs, const KernelClaim& claim,
                                       const Context& context);

/// Judges `got` against the true result `want` of sums of `k` products none of which exceeds
/// `largest_product` in magnitude: sum |ab| <= k P and sum (ab)^2 <= k P^2 are certain, so the contract is,
/// if wider than with inputs.
Result<OutputRecord> judge_with_products(const Tensor& got, const Tensor& want, std::int64_t k,
                                         double largest_product, const KernelClaim& claim, DType input);

/// `got` must be `want` rounded once to its dtype, bit for bit.
Result<OutputRecord> judge_copy(const Tensor& got, const Tensor& want);

/// Statistics only: without inputs and without a bound on the products no contract follows. The verdict is
/// untrusted, or fail where it is certain: a NaN or Inf where `want` is finite and far from overflow.
Result<OutputRecord> measure_only(const Tensor& got, const Tensor& want);

}  // namespace parity::cli
