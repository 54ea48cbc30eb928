#pragma once
#include <string>
#include <vector>

#include "harness/ladder/replay.hpp"
#include "harness/numerics/arithmetic_model.hpp"

namespace parity {

/// What is known of the kernel that made a tensor elsewhere.
struct KernelClaim {
  DType accumulate = DType::f32;
  std::string model = "unknown";  ///< one of claim_models()
};
/// "unknown", "fma", "separate", "pairwise", "tensor-core".
const std::vector<std::string>& claim_models();

/// The arithmetic a claim stands for. Unknown: any order, and for 16-bit inputs a tensor core's truncating
/// adder too. Functions as the CUDA C++ Programming Guide bounds them: exp and tanh 2 ULP; sigmoid as 1 / (1
/// + exp(-x)), exp with 2, an addition and a division with half an ULP each: 3. Added in i32, as int8 is:
/// exact modulo 2^32, whatever the model.
ArithmeticModel claimed_model(const KernelClaim& claim, DType input, DType store);

/// The judgement of one output of a call that ran elsewhere, under a claim's arithmetic: bounds, and the bits
/// where it is definite, for whoever claims it says that the kernel computes this way.
struct ClaimedJudgement {
  Contract contract;
  Judgement judgement;
};
Result<ClaimedJudgement> judge_claimed(const CallResult& call, const ArithmeticModel& model);

}  // namespace parity
