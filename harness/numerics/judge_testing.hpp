#pragma once
// For tests only: healthy GEMM results made by the emulated arithmetic, judged against the tracked one.
#include <cstdint>
#include <string>
#include <vector>

#include "harness/numerics/judge.hpp"
#include "harness/tensor/fill.hpp"

namespace parity::judge_testing {

struct Problem {
  std::int64_t m = 64, n = 64, k = 256;
  DType input = DType::f16, accumulate = DType::f32, store = DType::f16;
  Accumulation accumulation{};  ///< what the emulated device does
  bool order_known = true;      ///< whether the contract knows it
  Rounding store_rounding = Rounding::nearest_even;
  bool store_rounding_known = true;
  Fill fill = Fill::normal;
  std::uint64_t seed = 1;
  double bias = 0;  ///< added to every element of column 3 (a bias vector with one entry)
};

struct Inputs {
  Tensor a, b;
};
Inputs inputs_of(const Problem& p);
/// The emulated device's result for these inputs (already stored in p.store).
Tensor run(const Problem& p, const Inputs& inputs);
Value reference(const Problem& p, const Inputs& inputs);
Contract contract_of(const Problem& p);

struct Healthy {
  Problem problem;
  Inputs inputs;
  Tensor got;
  Value want;
  Contract contract;
  Judgement judgement() const { return judge(got, want, contract, {}); }
};
Healthy healthy(const Problem& p);

std::string reasons(const Judgement& j);

}  // namespace parity::judge_testing
